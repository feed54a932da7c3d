"""What a cell of a table says as a number or as a date, and how it compares with a value that somebody gave.

Where a cell may be read in two ways (03/04/2026, 1.234) and these do not come to the same, it is not compared: the
count reports it instead of guessing.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Literal

from retrieval.engine.text.cell_numbers import (
    MAX_CELL_CHARS,
    Convention,
    conventions_of,
    number_in,
)
from retrieval.engine.text.spelling import folded
from retrieval.engine.values.counting import ColumnRule

_TIME = r"[T ]\d{1,2}(?::\d{2}){1,2}(?:[.,]\d{1,9})?\s?(?:Z|UTC|[AaPp][Mm]|[-+]\d{2}:?\d{2})?"
_YEAR_FIRST = re.compile(
    rf"(\d{{4}})\s?[-/.年]\s?(\d{{1,2}})\s?[-/.月]\s?(\d{{1,2}})日?(?:{_TIME})?"
)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_PERIOD = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_PLAIN_NUMBER = re.compile(r"[-+]?\d{1,20}(?:\.\d{1,20})?")
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
YEAR_DIGITS = 4
MAX_TOKENS = 5  # of a date in words
MAX_JOINT = 3  # characters between its day and its month: 28 de febrero, 28th March
MONTHS = 12


@lru_cache(maxsize=20_000)
def days_in(cell: str, language: str = "") -> tuple[date, ...]:
    """The day that it names, in figures, or in words of `language` (ISO 639, of its document) or English; two where its
    day and month could change places. Empty: it names none."""
    text = unicodedata.normalize("NFKC", cell).strip()
    if not text or len(text) > MAX_CELL_CHARS:
        return ()
    if found := _YEAR_FIRST.fullmatch(text):
        return _days_of(_day(*map(int, found.groups())))
    if found := _YEAR_LAST.fullmatch(text):
        first = int(found[1])
        second = int(found[3])
        year = int(found[4])
        day_first = _day(year, second, first)
        month_first = _day(year, first, second)
        if found[2] == "." or writes_day_first(language):  # dots are written after the day
            return _days_of(day_first) if second <= MONTHS else _days_of(month_first)
        return _days_of(day_first, month_first)
    return _days_of(_day_in_words(text, language))


def _days_of(*days: date | None) -> tuple[date, ...]:
    return tuple(sorted({day for day in days if day is not None}))


@lru_cache(maxsize=64)
def writes_day_first(language: str) -> bool:
    """As CLDR has it. Of English nobody can tell: its countries differ."""
    from babel.core import Locale, UnknownLocaleError

    spoken = language.partition("-")[0]
    if spoken in ("", "und", "en"):
        return False
    try:
        pattern = Locale.parse(spoken).date_formats["short"].pattern
    except (UnknownLocaleError, ValueError):
        return False
    return 0 <= pattern.find("d") < pattern.find("M") < pattern.find("y")


def _day_in_words(text: str, language: str) -> date | None:
    """One year, one day and the name of one month; what else stands there is a word or two: "on Monday"."""
    tokens = [match.group() for match in _TOKEN.finditer(text.casefold())]
    years = [token for token in tokens if token.isdigit() and len(token) == YEAR_DIGITS]
    days = [token for token in tokens if token.isdigit() and len(token) < YEAR_DIGITS]
    names = month_names(language)
    months = [names[token] for token in tokens if token in names]
    if len(tokens) > MAX_TOKENS or not len(years) == len(days) == len(months) == 1:
        return None
    month = next(at for at, token in enumerate(tokens) if token in names)
    ends = sorted((month, tokens.index(days[0])))
    between = tokens[ends[0] + 1 : ends[1]]
    if len(between) > 1 or any(token.isdigit() or len(token) > MAX_JOINT for token in between):
        return None  # March 2026, 5 items
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
    """A value that cells are compared with. days: the first and the last one that it names; None: it is no date.
    is_ambiguous: its comma may part thousands, or stand before decimals."""

    text: str
    number: float | None
    days: tuple[date, date] | None
    is_ambiguous: bool = False

    @property
    def is_text(self) -> bool:
        return self.number is None and self.days is None


@lru_cache(maxsize=200)
def bound_of(value: str, language: str = "") -> Bound:
    """Of what somebody gave: a number (1234.5), YYYY-MM-DD, YYYY-MM or YYYY; anything else is a text. language: by
    which a comma is read that has two readings."""
    text = unicodedata.normalize("NFKC", value).strip()
    period = _PERIOD.fullmatch(text)
    days = _days(period) if period else None
    if _PLAIN_NUMBER.fullmatch(text):
        return Bound(folded(text), float(text), days)
    found = number_in(text, conventions_of(language))
    if found is None or found.unit:
        return Bound(folded(text), None, days)
    is_ambiguous = len(found.values) > 1
    return Bound(folded(text), None if is_ambiguous else found.values[0], days, is_ambiguous)


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


Outcome = Literal["yes", "no", "unread", "ambiguous"]


@dataclass(frozen=True, slots=True)
class CellComparison:
    """unread: the cell holds neither a number nor a date that could be compared; ambiguous: it has two readings, of
    which one is as the rule says. unit: what stands beside a number that was compared; None: no number was."""

    outcome: Outcome
    unit: str | None = None


def compares(
    cell: str,
    rule: ColumnRule,
    *,
    language: str = "",
    conventions: frozenset[Convention] | None = None,
) -> CellComparison:
    """Whether a cell is as the rule says. conventions: by which its document writes numbers; without them those of
    `language`, the document's."""
    low = bound_of(rule.value)
    if rule.operator == "contains":
        return CellComparison(_said([low.text in folded(cell)]))
    if rule.operator == "=" and (low.text == folded(cell) or low.is_text):
        return CellComparison(_said([low.text == folded(cell)]))
    high = bound_of(rule.upper) if rule.operator == "between" else low
    if low.number is not None and high.number is not None:
        known = conventions_of(language) if conventions is None else conventions
        number = number_in(cell, known)
        is_date = low.days is not None and days_in(cell, language)
        if number is not None and not is_date:
            ends = (low.number, low.number), (high.number, high.number)
            return CellComparison(
                _said([_holds(value, rule, *ends) for value in number.values]), number.unit
            )
    if low.days is not None and high.days is not None:
        days = days_in(cell, language)
        if days:
            return CellComparison(_said([_holds(day, rule, low.days, high.days) for day in days]))
    return CellComparison("unread")


def _said(holds: Sequence[bool]) -> Outcome:
    """holds: of each reading."""
    if all(holds):
        return "yes"
    return "ambiguous" if any(holds) else "no"


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
