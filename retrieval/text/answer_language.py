"""The language to answer in: the question's; Traditional Chinese stays Traditional."""

from __future__ import annotations

from typing import Literal

from retrieval.text.language import chinese_variant, converted, detect_language

Language = Literal["en", "zh-hans", "zh-hant", "other"]

NAMES: dict[Language, str] = {
    "en": "English",
    "zh-hans": "简体中文",
    "zh-hant": "繁體中文（用繁體字書寫）",
    "other": "the language of the question",
}
_CONFIGS = {"zh-hans": "t2s", "zh-hant": "s2t"}


def answer_language(question: str) -> Language:
    """Languages that we have no phrases in are "other": the prompt then says "the language of the question"."""
    match detect_language(question):
        case "en" | "und":
            return "en"
        case "zh-hans":
            return "zh-hans"
        case "zh-hant":
            return "zh-hant"
    return "other"


def in_script_of(text: str, language: Language) -> str:
    """A quoted Chinese sentence in the script of the question, Simplified or Traditional."""
    if language not in _CONFIGS or detect_language(text) not in _CONFIGS or chinese_variant(text) == language:
        return text
    return converted(text, _CONFIGS[language])
