"""The cells of a checked answer, each as what it stands for. Raises InvalidInputError for one that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple

from django.utils import timezone

from feedback.curation.curated import end_of_day
from feedback.models import CuratedAnswer
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text

MAX_SOURCES = 20
MAX_QUESTION = 600
MAX_WORDINGS = 20
SOURCE_COLUMNS = ("collection", "document", "passage")
DAY_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")  # no two of which mean different days by one text


class SourceCells(NamedTuple):
    """The three cells of a source."""

    collection: str
    document: str
    passage: str


def question_cell(cells: Mapping[str, str]) -> str:
    return " ".join(clean_text(cells["question"]).split())


def wordings_cell(cells: Mapping[str, str], found: CuratedAnswer | None) -> list[str]:
    """Without the column they stay."""
    if "wordings" not in cells:
        return list(found.wordings) if found else []
    lines = [" ".join(line.split()) for line in clean_text(cells["wordings"]).split("\n")]
    lines = list(filter(None, dict.fromkeys(lines)))
    if len(lines) > MAX_WORDINGS or any(len(line) > MAX_QUESTION for line in lines):
        raise InvalidInputError(worded("At most 20 lines of 600 characters."))
    return lines


def source_cells(cells: Mapping[str, str]) -> dict[int, SourceCells]:
    """By number, those of which any cell is filled in."""
    found = {}
    for number in range(1, MAX_SOURCES + 1):
        given = [clean_text(cells.get(f"{name}_{number}", "")) for name in SOURCE_COLUMNS]
        if any(cell.strip() for cell in given):
            found[number] = SourceCells(given[0].strip(), given[1].strip(), given[2])
    return found


def expiry_cell(cells: Mapping[str, str], found: CuratedAnswer | None) -> str:
    """The end of that day, as ISO 8601; without the column it stays."""
    stored = found.expires_at if found else None
    known = timezone.localtime(stored).isoformat() if stored else ""
    if "valid_until" not in cells:
        return known
    cell = cells["valid_until"].strip()
    if not cell:
        return ""
    day = _day(cell)
    if day is None:
        raise InvalidInputError(worded("Write the day as in 2026-12-31."))
    if stored is not None and day == timezone.localdate(stored):
        return known
    return end_of_day(day).isoformat()


def _day(cell: str) -> date | None:
    for form in DAY_FORMS:
        try:
            return datetime.strptime(cell, form).date()
        except ValueError:
            continue
    return None
