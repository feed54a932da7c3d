"""The languages and scripts that a text shows.

A text's language is decided by script first, then, within the Latin script, by function words: cheap, deterministic,
good enough to choose a stemmer. English is the default for Latin text.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Any

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
    " wurde wurden werden hat haben kann sich nach bei oder zum zur vom am um bis ab ihr sie wir",
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
