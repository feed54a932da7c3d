"""The numbers that a text gives, compared as values: in digits, in Chinese numerals, and spelt out in English. "1,000",
1000, 一千 and "one thousand" are one number; a date is its year, month and day. Units are not read.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import month_abbr, month_name
from collections.abc import Iterable
from functools import lru_cache

import cn2an

from retrieval.engine.text.languages import to_simplified

NUMBER_SIGN = "#"  # in front of a value among terms
NUMBERS_READ_CHARS = 20_000  # of a text that are read
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"(?<![\d.])(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?![\d.]\d)")
_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_FIGURE = re.compile(
    rf"\d+(?:\.\d+)?[百千万亿]{{0,2}}|[{_NUMERAL}]{{1,12}}(?:点[零〇一二三四五六七八九]{{1,6}})?"
)
_PARTS_OF_WORDS = frozenset(
    "一十百千万亿"
)  # 一般, 十分, 千万: numerals that are seldom amounts when they stand alone
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELT = (
    {word: value for value, word in enumerate(_SMALL.split())}
    | {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
    | {
        "a": 1,
        "an": 1,
        "once": 1,
        "twice": 2,
        "first": 1,
        "second": 2,
        "third": 3,
        "half": 0.5,
        "dozen": 12,
    }
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_MONTHS = {
    name.lower(): number
    for names in (month_name, month_abbr)
    for number, name in enumerate(names)
    if number
} | {"sept": 9}
_WORDS = re.compile(r"[^\W\d_]+")


def stated_numbers(text: str) -> dict[float, str]:
    """Each value that a statement clearly gives, as it is written. Zero says nothing: it is a part of 9:00."""
    found: dict[float, str] = {}
    for written in _FIGURE.findall(_DATE.sub(r"\1 \2 \3", _plain(text))):
        value = _value(written)
        if value and written not in _PARTS_OF_WORDS:
            found.setdefault(value, written)
    return found


def number_term(value: float) -> str:
    return f"{NUMBER_SIGN}{value:.12g}"


@lru_cache(maxsize=4096)
def known_numbers(text: str) -> frozenset[float]:
    """All values that a text may be taken to give: also English words, and the numbers of months."""
    plain = _plain(text[:NUMBERS_READ_CHARS])
    digits = (_value(written) for written in _FIGURE.findall(_DATE.sub(r"\1 \2 \3", plain)))
    words = _WORDS.findall(plain.lower())
    months = (_MONTHS[word] for word in words if word in _MONTHS)
    return frozenset(
        {value for value in digits if value is not None} | set(_spelt(words)) | set(months)
    )


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", to_simplified(unicodedata.normalize("NFKC", text)))


def _spelt(words: Iterable[str]) -> Iterable[float]:
    """Of "twenty five thousand" 20, 25 and 25,000."""
    value = 0.0
    for word in words:
        if word in _SCALES:
            value = min((value or 1) * _SCALES[word], 1e15)
        elif word in _SPELT:
            value = value + _SPELT[word] if value >= 20 and _SPELT[word] < 20 else _SPELT[word]
        elif word != "and":
            value = 0.0
        if value:
            yield value


@lru_cache(maxsize=4096)
def _value(written: str) -> float | None:
    """五千 → 5000, 二〇二五 → 2025, 5万 → 50000, "12" → 12; None: 百 alone, or a run that is no number."""
    try:
        return float(written) if written.isascii() else float(cn2an.cn2an(written, "smart"))
    except ValueError:
        return None
