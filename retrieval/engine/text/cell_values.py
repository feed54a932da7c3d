"""What a cell of a table says as a number or as a date, and how it compares with a value that somebody gave.

Where a cell may be read in two ways (03/04/2026), it is not read: who counts has to be told, not to be guessed for.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Literal

from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.text.numbers import stated_numbers
from retrieval.engine.text.spelling import folded
from retrieval.engine.values.counting import ColumnRule

GROUP_DIGITS = 3  # between the signs that part thousands
MAX_CELL_CHARS = 60  # a longer one is a text
_NUMBER = re.compile(r"\d+(?:[.,'’]\d+|\s\d{3}(?!\d))*")
_SIGN = re.compile(r"[-−–(]\s*[^\w\s]{0,2}\s*\Z")
_YEAR_FIRST = re.compile(r"(\d{4})\s?[-/.年]\s?(\d{1,2})\s?[-/.月]\s?(\d{1,2})日?(?:[T ]\d.*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_PERIOD = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_PLAIN_NUMBER = re.compile(r"[-+]?\d{1,20}(?:\.\d{1,20})?")
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
YEAR_DIGITS = 4
MAX_TOKENS = 5  # of a date in words


def number_in(cell: str) -> float | None:
    """The only number in it, whatever unit stands around it. None: it holds none, or several."""
    text = unicodedata.normalize("NFKC", cell).strip()
    if not text or len(text) > MAX_CELL_CHARS:
        return None
    if HAN_CHARACTER.search(text):
        values = stated_numbers(text)
        if len(values) == 1:
            return next(iter(values))
    found = list(_NUMBER.finditer(text))
    if len(found) != 1:
        return None
    value = _value(found[0].group())
    if value is None:
        return None
    return -value if _SIGN.search(text[: found[0].start()]) else value


def _value(written: str) -> float | None:
    """1,234.5 and 1.234,5 and 1 234.5; one comma before three digits parts thousands, one dot does not."""
    digits = re.sub(r"[\s'’]", "", written).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    decimal = digits[last] if last >= 0 else ""
    if decimal and digits.count(decimal) > 1:
        if any(len(group) != GROUP_DIGITS for group in digits.split(decimal)[1:]):
            return None  # 28.02.2026, 3.1.4
        decimal = ""
    elif decimal == "," and "." not in digits and len(digits) - last == GROUP_DIGITS + 1:
        decimal = ""
    for sign in ".,":
        if sign != decimal:
            digits = digits.replace(sign, "")
    try:
        return float(digits.replace(",", "."))
    except ValueError:
        return None


@lru_cache(maxsize=20_000)
def date_in(cell: str, language: str = "") -> date | None:
    """The day that it names, in figures, or in words of `language` (ISO 639, of its document) or English. None: it
    names none, or its day and month could change places."""
    text = unicodedata.normalize("NFKC", cell).strip()
    if not text or len(text) > MAX_CELL_CHARS:
        return None
    if found := _YEAR_FIRST.fullmatch(text):
        return _day(*map(int, found.groups()))
    if found := _YEAR_LAST.fullmatch(text):
        first = int(found[1])
        second = int(found[3])
        year = int(found[4])
        if found[2] == "." or first > 12 or first == second:  # dots are written after the day
            return _day(year, second, first)
        return _day(year, first, second) if second > 12 else None
    return _day_in_words(text, language)


def _day_in_words(text: str, language: str) -> date | None:
    """One year, one day and the name of one month; what else stands there is a word or two: "on Monday"."""
    tokens = [match.group() for match in _TOKEN.finditer(text.casefold())]
    years = [token for token in tokens if token.isdigit() and len(token) == YEAR_DIGITS]
    days = [token for token in tokens if token.isdigit() and len(token) < YEAR_DIGITS]
    names = month_names(language)
    months = [names[token] for token in tokens if token in names]
    if len(tokens) > MAX_TOKENS or not len(years) == len(days) == len(months) == 1:
        return None
    return _day(int(years[0]), months[0], int(days[0]))


@lru_cache(maxsize=64)
def month_names(language: str) -> dict[str, int]:
    """As Unicode's CLDR has them in this language and in English, without dots. language: "" for English alone."""
    from babel.core import UnknownLocaleError
    from babel.dates import get_month_names

    names: dict[str, int] = {}
    for spoken in dict.fromkeys(("en", language.partition("-")[0] or "en")):
        for width in ("wide", "abbreviated"):
            try:
                found = get_month_names(width, "format", spoken)
            except (UnknownLocaleError, ValueError):
                break
            for number, name in found.items():
                names.setdefault(name.casefold().rstrip("."), number)
    return names


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ comparing
@dataclass(frozen=True, slots=True)
class Bound:
    """A value that cells are compared with. days: the first and the last one that it names; None: it is no date."""

    text: str
    number: float | None
    days: tuple[date, date] | None

    @property
    def is_text(self) -> bool:
        return self.number is None and self.days is None


@lru_cache(maxsize=200)
def bound_of(value: str) -> Bound:
    """Of what somebody gave: a number, YYYY-MM-DD, YYYY-MM or YYYY; anything else is a text."""
    text = unicodedata.normalize("NFKC", value).strip()
    period = _PERIOD.fullmatch(text)
    plain = text.replace(",", "")
    number = float(plain) if _PLAIN_NUMBER.fullmatch(plain) else None
    return Bound(folded(text), number, _days(period) if period else None)


def _days(period: re.Match[str]) -> tuple[date, date] | None:
    year = int(period[1])
    month = int(period[2] or 0)
    try:
        if period[3]:
            day = date(year, month, int(period[3]))
            return day, day
        if month:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, 1, 1), date(year, 12, 31)
    except ValueError:
        return None


Outcome = Literal["yes", "no", "unread"]


def compares(cell: str, rule: ColumnRule, *, language: str = "") -> Outcome:
    """Whether a cell is as the rule says. unread: it holds neither a number nor a date that could be compared."""
    low = bound_of(rule.value)
    if rule.operator == "contains":
        return "yes" if low.text in folded(cell) else "no"
    if rule.operator == "=" and (low.text == folded(cell) or low.is_text):
        return "yes" if low.text == folded(cell) else "no"
    high = bound_of(rule.upper) if rule.operator == "between" else low
    if low.number is not None and high.number is not None:
        number = number_in(cell)
        is_date = low.days is not None and date_in(cell, language) is not None
        if number is not None and not is_date:
            return _said(_holds(number, rule, (low.number, low.number), (high.number, high.number)))
    if low.days is not None and high.days is not None:
        day = date_in(cell, language)
        if day is not None:
            return _said(_holds(day, rule, low.days, high.days))
    return "unread"


def _said(holds: bool) -> Outcome:
    return "yes" if holds else "no"


def _holds(value: Any, rule: ColumnRule, low: tuple[Any, Any], high: tuple[Any, Any]) -> bool:
    """value, low, high: all of them numbers, or all dates."""
    match rule.operator:
        case "<":
            return bool(value < low[0])
        case "<=":
            return bool(value <= low[1])
        case ">":
            return bool(value > low[1])
        case ">=":
            return bool(value >= low[0])
        case "between":
            return bool(low[0] <= value <= high[1])
    return bool(low[0] <= value <= low[1])
