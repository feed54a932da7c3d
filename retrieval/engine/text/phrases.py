"""What the site itself says in an answer, and the Chinese script of all of it.

An answer is in the language of its question, and in its script: Traditional stays Traditional, Simplified Simplified.
Small models fall back to the script that they have seen most. Text is converted clause by clause, as it streams: a
character's form depends on its neighbours (头发 頭髮, 发生 發生). `phrases.json` has the site's sentences; one that
leads into what follows ends in a colon: it states nothing that passages would have to support.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal

from retrieval.engine.text.languages import (
    HAN,
    KANA,
    KANA_CHARACTER,
    SAMPLE_CHARS,
    chinese_variant,
    converted,
    detect_language,
    to_simplified,
)

Language = Literal["en", "zh-hans", "zh-hant", "other"]

# Traditional as Taiwan's standard has it: without it (`s2t`) 核准 becomes 覈准, 吃 喫 and 群 羣, which nobody writes.
_CONFIGS = {"zh-hans": "t2s", "zh-hant": "s2tw"}
# Simplified forms that are words of their own in Traditional text: no sign of the other script.
_BOTH = frozenset(
    "后里台干面系只余于谷征制准范丑卜仆冲出叶斗曲朴松板沈洒淀胡症致舍须郁钟才几了云吁回"
)
_OPEN_CLAUSE = re.compile(rf"(?<![{HAN}{KANA}])[{HAN}{KANA}]+\Z")
PHRASES = Path(__file__).with_name("phrases.json")
MAX_HELD = 24  # characters of a clause that is waited for


def answer_language(question: str, *, earlier: Iterable[str] = (), reader: str = "") -> Language:
    """Languages that we have no phrases in are "other". It chooses our own words and the Chinese script; a model is
    asked for the language of the question.

    A question whose characters are those of both Chinese scripts (押金是多少) is in that of the questions before it
    (`earlier`, the newest first), or else in that of its reader's pages (`reader`, e.g. "zh-hant").
    """
    match detect_language(question):
        case "en" | "und":
            return "en"
        case "zh-hans" | "zh-hant":
            shown = (_script_shown(text[:SAMPLE_CHARS]) for text in chain((question,), earlier))
            return next(filter(None, shown), "zh-hant" if reader == "zh-hant" else "zh-hans")
    return "other"


def phrase(which: str, language: Language, /, **values: object) -> str:
    return _phrases()[which]["en" if language == "other" else language].format(**values)


@lru_cache(maxsize=1)
def _phrases() -> dict[str, dict[str, str]]:
    phrases: dict[str, dict[str, str]] = json.loads(PHRASES.read_text(encoding="utf-8"))
    return phrases


def _script_shown(text: str) -> Language | None:
    """The script of a Chinese text; None where nothing in it tells."""
    if detect_language(text) not in _CONFIGS or text == converted(text, "t2s") == converted(
        text, "s2t"
    ):
        return None
    return "zh-hant" if chinese_variant(text) == "zh-hant" else "zh-hans"


def in_script_of(text: str, language: Language) -> str:
    """A quoted Chinese sentence in the script of the question, Simplified or Traditional."""
    if (
        language not in _CONFIGS
        or detect_language(text) not in _CONFIGS
        or chinese_variant(text) == language
    ):
        return text
    return converted(text, _CONFIGS[language])


class ScriptKeeper:
    """Takes pieces of an answer and gives them back in the script of `language`; other languages pass through."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._held = ""

    def feed(self, piece: str) -> str:
        if self._language not in _CONFIGS:
            return piece
        text = self._held + piece
        cut = _OPEN_CLAUSE.search(text)
        start = cut.start() if cut and len(text) - cut.start() <= MAX_HELD else len(text)
        self._held = text[start:]
        return in_script(text[:start], self._language)

    def finish(self) -> str:
        held = self._held
        self._held = ""
        return in_script(held, self._language)


def in_script(text: str, language: Language) -> str:
    """Text that shows the other script, in this one; any other text as it is. Han characters among kana are Japanese,
    which has forms of its own."""
    if KANA_CHARACTER.search(text):
        return text
    if language == "zh-hans":
        return to_simplified(text)
    if language != "zh-hant" or not text:
        return text
    turned = converted(text, _CONFIGS[language])
    simplified = to_simplified(text)
    if len(turned) == len(text) == len(simplified) and all(
        before == after or before in _BOTH or before != folded
        for before, after, folded in zip(text, turned, simplified, strict=True)
    ):
        return text  # what differs are other Traditional forms: 裏 and 裡
    return turned
