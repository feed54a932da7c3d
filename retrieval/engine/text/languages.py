"""The languages and scripts that a text shows.

Chinese, Japanese and Korean show by their script; of any other text the library py3langid says in which language it is,
and how likely that is. A text that leaves it open has none: nothing is decided by a guess.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ragsite.core.text import encodable

SAMPLE_CHARS = 4000  # the beginning of a text is enough to tell its script
LANGUAGE_CHARS = 600  # and its language
UNKNOWN = "und"  # ISO 639: no letters to judge by, or too few
# Probability from which the library is believed. On the first five words of 2,250 sentences in nine languages (PUD
# treebanks) it names the right one for 94 % and another one for .6 %, on whole sentences for 100 % and .1 %.
CONFIDENT = 0.5

HAN = r"\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HAN_CHARACTER = re.compile(f"[{HAN}]")
HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
KANA_CHARACTER = re.compile(f"[{KANA}]")
_HANGUL_CHARACTER = re.compile(f"[{HANGUL}]")
_WORD = re.compile(rf"(?:(?![{HAN}{KANA}{HANGUL}])[^\W\d_])+")
HAN_PER_WORD = 2  # a word of letters weighs as much as two Han characters
KANA_SHARE = 0.1  # of East Asian characters: Japanese prose is about half kana, a Chinese text may quote a name
# Those that stemmers or the abbreviations of sentencex know; telling apart more would only make short texts less sure.
_TOLD_APART = """
    ar bg ca cs da de el en es et eu fa fi fr ga he hi hr hu hy id it lt ne nl no pl pt ro ru sk sl sr sv ta th tr uk vi
"""


def detect_language(text: str) -> str:
    """`zh-hans`, `zh-hant`, `ja`, `ko`, another ISO 639-1 code, or `und` where nothing shows it."""
    return _detected(text[:SAMPLE_CHARS])


@lru_cache(maxsize=4096)
def _detected(sample: str) -> str:
    """Each full stop of a text asks for it."""
    sample = unicodedata.normalize("NFKC", sample)
    words = _WORD.findall(sample)
    if not sample.isascii():
        kana = len(KANA_CHARACTER.findall(sample))
        east_asian = kana + len(HAN_CHARACTER.findall(sample))
        hangul = len(_HANGUL_CHARACTER.findall(sample))
        if hangul > max(east_asian, sum(map(len, words))):
            return "ko"
        if east_asian > hangul and not _is_quoted(east_asian, words):
            return "ja" if kana > KANA_SHARE * east_asian else chinese_variant(sample)
    return _likely_language(sample[:LANGUAGE_CHARS]) if words else UNKNOWN


def _is_quoted(east_asian: int, words: Sequence[str]) -> bool:
    """Whether so many East Asian characters are the smaller part of a text, whose words are in a language of their own
    ("What does 不可抗力 mean?"): names and commands are in none."""
    if east_asian > HAN_PER_WORD * len(words):
        return False
    return HAN_PER_WORD * east_asian < len(words) or _likely_language(" ".join(words)) != UNKNOWN


def _likely_language(text: str) -> str:
    language, probability = _identifier().classify(text.lower() if text.isupper() else text)
    return str(language) if probability >= CONFIDENT else UNKNOWN


def shown_language(text: str) -> str:
    """`detect_language`, Simplified and Traditional Chinese alike."""
    return detect_language(text).split("-")[0]


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
    if len(before) != len(
        after
    ):  # a phrase was replaced by one of another length: positions no longer correspond
        return sum((Counter(before) - Counter(after)).values())
    return sum(1 for left, right in zip(before, after, strict=True) if left != right)


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


def _identifier() -> Any:
    with _loading:
        return _load_identifier()


@lru_cache(maxsize=1)
def _load_identifier() -> Any:
    """py3langid with the model in its package: .8 s of processor time and 70 MiB, once a process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_TOLD_APART.split())
    return identifier
