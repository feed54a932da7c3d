"""Numbers that a text holds by a range: 30 stands in "day 15 to day 42" without being written there.

Rules for what depends on an amount (days, credits, ages, grades) are written so, most often as a table's rows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from retrieval.text.language import HAN

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# What stands in a longer number, a date, a time or a code is none: 2025-03-01, 08:00-17:00, LIB-9.
_NUMBER = r"(?<![A-Za-z\d.:/–-])(\d{1,9}(?:\.\d{1,3})?)(?![A-Za-z\d:/]|\.\d)"
_WORD = rf"(?:\s?(?:[A-Za-z%]{{1,12}}|[{HAN}]{{1,2}}?))?"
_RANGE = re.compile(
    rf"{_NUMBER}{_WORD}\s*(?:\b(?:to|through|until)\b|[–—~-]|至|到)\s*(?:(?:[A-Za-z]{{1,12}}|第|EUR|[€$])\s?)?"
    r"(\d{1,9}(?:\.\d{1,3})?)(?![A-Za-z\d:/月年-]|\.\d)"
)


def spanned(text: str, numbers: Iterable[str]) -> frozenset[str]:
    """Those of `numbers` that lie in a range that the text gives, its ends included.

    `numbers`: as `retrieval.answerability.question.numbers` gives them; dates and times among them lie in none.
    """
    values = {number: float(number) for number in numbers if re.fullmatch(r"\d+(?:\.\d+)?", number)}
    if not values:
        return frozenset()
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    ranges = [(float(low), float(high)) for low, high in _RANGE.findall(plain)]
    return frozenset(
        number for number, value in values.items() if any(low <= value <= high for low, high in ranges if low < high)
    )
