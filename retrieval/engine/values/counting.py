"""A count over all documents that somebody may read: what is counted, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from retrieval.engine.values.chunks import StoredChunk
from retrieval.engine.values.filters import SearchFilters

Operator = Literal["<", "<=", "=", ">=", ">", "between", "contains"]
OPERATORS: tuple[Operator, ...] = ("<", "<=", "=", ">=", ">", "between", "contains")
CountUnit = Literal["document", "row"]
WordMatch = Literal["all", "phrase"]
MAX_RULES = 5  # columns that one count compares
MAX_COUNTED_ROWS = 200  # that are given back; the total is of all


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRule:
    """A comparison of a column's cells. value: a number, a date as YYYY-MM-DD, YYYY-MM or YYYY, or a text, which "="
    and "contains" take; upper: of "between", which takes both ends in."""

    column: str
    operator: Operator
    value: str
    upper: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountFilter:
    """What is counted: documents, or rows of tables and forms. All that is named has to hold.

    words: for documents in any of their passages, for rows in the row itself. match: "all" of the words, wherever they
    stand, or the "phrase" as it is written. metadata: its strict filters and documents alone. Years and days: both ends
    belong to the range; the days are those of the upload, in UTC.
    """

    unit: CountUnit = "document"
    words: str = ""
    match: WordMatch = "all"
    metadata: SearchFilters = field(default_factory=SearchFilters)
    year_from: int | None = None
    year_to: int | None = None
    added_from: date | None = None
    added_to: date | None = None
    columns: tuple[ColumnRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountEvidence:
    """`chunk.text[start:end]` is what was counted, or where the words stand; all of it where start is end."""

    chunk: StoredChunk
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        return self.chunk.text[self.start : self.end] if self.end > self.start else self.chunk.text


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRow:
    """One of what was counted. cells: (column, value) of a row; empty of a document."""

    document_id: str
    title: str
    evidence: tuple[CountEvidence, ...]
    cells: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadCell:
    """A cell of a compared column that is no number or date, so that its row could not be compared."""

    document_id: str
    title: str
    column: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountResult:
    """total: exact, for the documents that were looked at; documents: how many hold what was counted. rows: the first
    ones by title, in the order of their document.

    looked_at, to_look_at: documents that the filters let through; fewer were looked at when the time was over.
    being_read, failed, partly_read: documents of the scope that are not read yet, could not be read, or hold parts that
    could not. unread_cells: rows that could not be compared; unread: the first of them.
    """

    unit: CountUnit
    total: int
    documents: int
    rows: tuple[CountedRow, ...]
    looked_at: int
    to_look_at: int
    being_read: int = 0
    failed: int = 0
    partly_read: int = 0
    unread_cells: int = 0
    unread: tuple[UnreadCell, ...] = ()

    @property
    def complete(self) -> bool:
        """Every document was looked at, and every row could be compared."""
        return self.looked_at == self.to_look_at and not self.unread_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column that rows of the documents have, as most of them spell it."""

    name: str
    kind: Literal["number", "date", "text"]
    rows: int
    documents: int
