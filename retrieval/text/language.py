"""Which language a text is in: cheap, deterministic, good enough to choose a stemmer and a prompt's language.

Decided by script first, then, within the Latin script, by function words. English is the default for Latin text.

An answer is in the language of its question, and in its script: Traditional stays Traditional, Simplified Simplified.
Small models fall back to the script that they have seen most. Text is converted clause by clause, as it streams: a
character's form depends on its neighbours (头发 頭髮, 发生 發生). `phrases.json` has the sentences that the site itself
says in an answer. One that leads into what follows ends in a colon: it states nothing that passages would have to bear
out.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ragsite.core.text import encodable

SAMPLE_CHARS = 4000  # the beginning of a text is enough to detect its language
UNKNOWN = "und"  # ISO 639: no letters to judge by

HAN = r"\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HAN_CHARACTER = re.compile(f"[{HAN}]")
HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_SCRIPTS = {
    "han": HAN_CHARACTER,
    "kana": re.compile(f"[{KANA}]"),
    "ko": re.compile(f"[{HANGUL}]"),
    "ru": re.compile(r"[\u0400-\u052f]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}
_LATIN_WORD = re.compile(r"[a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")
LATIN_CHARS_PER_WORD = 2.0  # what a Latin word weighs against one Han character: both carry about a word's meaning

# Function words that are frequent in one of these languages and rare in the others.
_FUNCTION_WORDS = {
    "en": "the of and to in is that for it with as was on are by this be from at which or what how who when does can",
    "de": "der die und das den von zu mit ist des im für auf nicht eine ein dem auch als wie wird sind welche wer wann"
    " wurde wurden werden hat haben kann sich nach bei oder zum zur vom",
    "fr": "le les des et est une du dans qui que pour au pas sur ce avec sont par aux quelle quel comment où",
    "es": "el los las y en que por una del con para su al es lo como más qué cuál cómo dónde cuándo",
    "it": "il di che è la per un in una sono del della con non le dei nel alla gli come quale quando",
    "pt": "o os as e de do da que em um uma para com não na no por mais dos como são qual quando onde",
    "nl": "de het een van en is dat op te zijn voor met niet aan er om ook wordt welke hoe wat",
    "sv": "och att det som en på är av för den med till inte om ett har de vad hur",
}
# Letters that speak for one of them as a function word does.
_LETTERS = {
    language: frozenset(letters)
    for language, letters in {"de": "äüß", "fr": "çœêëîû", "es": "ñ¿¡", "it": "ìò", "pt": "ãõ", "sv": "å"}.items()
}
_VOTES: dict[str, tuple[str, ...]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES[_word] = (*_VOTES.get(_word, ()), _language)


def detect_language(text: str) -> str:
    """`en`, `zh-hans`, `zh-hant`, `ja`, another ISO 639-1 code, or `und` for a text without letters."""
    sample = text[:SAMPLE_CHARS]
    if sample.isascii():  # most texts; every sentence of them is asked about
        words = _LATIN_WORD.findall(sample.lower())
        return _latin_language(words) if words else UNKNOWN
    sample = unicodedata.normalize("NFKC", sample)
    counts = {script: len(pattern.findall(sample)) for script, pattern in _SCRIPTS.items()}
    words = _LATIN_WORD.findall(sample.lower())
    east_asian = counts["han"] + counts["kana"]
    others = {script: counts[script] for script in counts if script not in ("han", "kana")}
    best_other = max(others, key=lambda script: others[script])
    if not (east_asian or words or others[best_other]):
        return UNKNOWN
    if east_asian >= max(len(words) * LATIN_CHARS_PER_WORD * 0.5, others[best_other]):
        # Japanese prose is about half kana; a Chinese text may quote a Japanese name.
        return "ja" if counts["kana"] > 0.1 * east_asian else chinese_variant(sample)
    if others[best_other] > sum(map(len, words)):
        return best_other
    return _latin_language(words)


def chinese_variant(text: str) -> str:
    """`zh-hant` when more characters are Traditional-only than Simplified-only, else `zh-hans`."""
    traditional = _changed(text, converted(text, "t2s"))
    if not traditional:
        return "zh-hans"
    return "zh-hant" if traditional > _changed(text, converted(text, "s2t")) else "zh-hans"


def to_simplified(text: str) -> str:
    """Traditional characters folded to Simplified; for matching, never for showing."""
    return converted(text, "t2s") if HAN_CHARACTER.search(text) else text


def _changed(before: str, after: str) -> int:
    if len(before) != len(after):  # a phrase was replaced by one of another length: positions no longer correspond
        return sum((Counter(before) - Counter(after)).values())
    return sum(1 for left, right in zip(before, after, strict=True) if left != right)


def _latin_language(words: list[str]) -> str:
    votes = Counter(language for word in words if word in _VOTES for language in _VOTES[word])
    text = "".join(words)
    if not text.isascii():
        letters = set(text)
        for language, own in _LETTERS.items():
            votes[language] += len(letters & own)
    if not votes:
        return "en"
    best, count = votes.most_common(1)[0]
    return best if count >= 2 and count > votes["en"] else "en"


_loading = threading.Lock()


def converted(text: str, config: str) -> str:
    """By OpenCC: `s2t`, `s2tw`, `t2s`. A lone surrogate, which has no UTF-8 form, becomes a question mark."""
    with _loading:  # its dictionaries take a moment and are loaded at the first use, once
        converter = _load_converter(config)
    return str(converter.convert(encodable(text)))


@lru_cache(maxsize=4)
def _load_converter(config: str) -> Any:
    import opencc

    return opencc.OpenCC(config)


# ------------------------------------------------------------------------------------------------ of an answer
Language = Literal["en", "zh-hans", "zh-hant", "other"]

NAMES: dict[Language, str] = {
    "en": "English",
    "zh-hans": "简体中文",
    "zh-hant": "繁體中文（用繁體字書寫）",
    "other": "the language of the question",
}
# Traditional as Taiwan's standard has it: without it (`s2t`) 核准 becomes 覈准, 吃 喫 and 群 羣, which nobody writes.
_CONFIGS = {"zh-hans": "t2s", "zh-hant": "s2tw"}
# Simplified forms that are words of their own in Traditional text: no sign of the other script.
_BOTH = frozenset("后里台干面系只余于谷征制准范丑卜仆冲出叶斗曲朴松板沈洒淀胡症致舍须郁钟才几了云吁回")
_OPEN_CLAUSE = re.compile(rf"(?<![{HAN}])[{HAN}]+\Z")
PHRASES = Path(__file__).with_name("phrases.json")
MAX_HELD = 24  # characters of a clause that is waited for


def answer_language(question: str, *, earlier: Iterable[str] = (), reader: str = "") -> Language:
    """Languages that we have no phrases in are "other": the prompt then says "the language of the question".

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
    if detect_language(text) not in _CONFIGS or text == converted(text, "t2s") == converted(text, "s2t"):
        return None
    return "zh-hant" if chinese_variant(text) == "zh-hant" else "zh-hans"


def in_script_of(text: str, language: Language) -> str:
    """A quoted Chinese sentence in the script of the question, Simplified or Traditional."""
    if language not in _CONFIGS or detect_language(text) not in _CONFIGS or chinese_variant(text) == language:
        return text
    return converted(text, _CONFIGS[language])


class ScriptKeeper:
    """Takes pieces of an answer and gives them back in the script of `language`; other languages pass through."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._held = ""

    def feed(self, piece: str) -> str:
        if self._language not in ("zh-hans", "zh-hant"):
            return piece
        text = self._held + piece
        cut = _OPEN_CLAUSE.search(text)
        start = cut.start() if cut and len(text) - cut.start() <= MAX_HELD else len(text)
        self._held = text[start:]
        return in_script(text[:start], self._language)

    def finish(self) -> str:
        held, self._held = self._held, ""
        return in_script(held, self._language)


def in_script(text: str, language: Language) -> str:
    """Text that shows the other script, in this one; any other text as it is."""
    if language == "zh-hans":
        return to_simplified(text)
    if language != "zh-hant" or not text:
        return text
    turned, simplified = converted(text, _CONFIGS[language]), to_simplified(text)
    if len(turned) == len(text) == len(simplified) and all(
        before == after or before in _BOTH or before != folded
        for before, after, folded in zip(text, turned, simplified, strict=True)
    ):
        return text  # what differs are other Traditional forms: 裏 and 裡
    return turned
