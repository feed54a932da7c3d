"""Numbers in a text: as they are written, those that lie in a range, and those that are spelt out.

A range holds numbers that it does not name: 30 lies in "day 15 to day 42". Rules for what depends on an amount (days,
credits, ages, grades) are written so, most often as a table's rows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from retrieval.text.language import HAN, to_simplified

NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")  # also dates and times
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")
# What stands in a longer number, a date, a time or a code is none: 2025-03-01, 08:00-17:00, LIB-9.
_BOUND = r"(?<![A-Za-z\d.:/–-])(\d{1,9}(?:\.\d{1,3})?)(?![A-Za-z\d:/]|\.\d)"
_UNIT = rf"(?:\s?(?:[A-Za-z%]{{1,12}}|[{HAN}]{{1,2}}?))?"
_RANGE = re.compile(
    rf"{_BOUND}{_UNIT}\s*(?:\b(?:to|through|until)\b|[–—~-]|至|到)\s*(?:(?:[A-Za-z]{{1,12}}|第|EUR|[€$])\s?)?"
    r"(\d{1,9}(?:\.\d{1,3})?)(?![A-Za-z\d:/月年-]|\.\d)"
)
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_WORDS = {word: str(number) for number, word in enumerate(_SMALL.split())} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "once": "1", "twice": "2", "first": "1", "second": "2", "third": "3",
}  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_HAN_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千万]+")
_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_MANY = 10_000


def numbers_in(text: str) -> list[str]:
    """Numbers, dates and times as written, without thousands separators."""
    return [_THOUSANDS.sub("", number) for number in NUMBER.findall(text)]


def spanned(text: str, numbers: Iterable[str]) -> frozenset[str]:
    """Those of `numbers` (see `numbers_in`) that lie in a range that the text gives, its ends included.

    Dates and times among them lie in none.
    """
    values = {number: float(number) for number in numbers if re.fullmatch(r"\d+(?:\.\d+)?", number)}
    if not values:
        return frozenset()
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    ranges = [(float(low), float(high)) for low, high in _RANGE.findall(plain)]
    return frozenset(
        number for number, value in values.items() if any(low <= value <= high for low, high in ranges if low < high)
    )


def missing_numbers(statement: str, known: str) -> list[str]:
    """The statement's numbers that the text `known` does not have, in figures or in words, English or Chinese."""
    there = set(_figures(known)) | _spelt(known)
    return [number for number in dict.fromkeys(_figures(statement)) if number not in there]


def _figures(text: str) -> list[str]:
    """Each run of digits by itself, so that 2025-03-01 and "1 March 2025" have the year and the day in common."""
    text = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return [number.lstrip("0") or "0" for number in _DIGITS.findall(text)]


def _spelt(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]+", text.lower()))
    months = {str(number) for number, name in enumerate(_MONTHS, start=1) if name in words}
    han = {str(_han_value(run)) for run in _HAN_NUMBER.findall(to_simplified(text))}
    return {_WORDS[word] for word in words & _WORDS.keys()} | months | han


def _han_value(run: str) -> int:
    """五千 → 5000, 二〇二五 → 2025."""
    if all(char in _HAN_DIGITS for char in run):
        return int("".join(str(_HAN_DIGITS[char]) for char in run))
    total = section = digit = 0
    for char in run:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char == "万":
            total, section, digit = (total + section + digit) * _MANY, 0, 0
        else:
            section, digit = section + (digit or 1) * _HAN_UNITS[char], 0
    return total + section + digit
