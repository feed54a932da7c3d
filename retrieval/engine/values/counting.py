"""A count over all documents of a scope: what is counted, and what it came to."""

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
    """`chunk.text[start:end]` is what was counted, or where the words stand; all of it where start is end. by_heading:
    they stand in its heading or in the document's title alone."""

    chunk: StoredChunk
    start: int = 0
    end: int = 0
    by_heading: bool = False

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


CellFault = Literal["unread", "ambiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCell:
    """A cell of a compared column that something is said of. fault: why its row could not be compared: it holds neither
    a number nor a date, or has two readings; None: it was."""

    document_id: str
    title: str
    column: str
    value: str
    fault: CellFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountResult:
    """total: exact, for the documents that were looked at; documents: how many hold what was counted. rows: the first
    ones by title, in the order of their document.

    looked_at, to_look_at: documents that the filters let through; fewer were looked at when the time was over. in_scope:
    documents that can be counted, whatever the filters say; unset: of these, how many lack what is filtered by.
    being_read, failed, partly_read: documents of the scope that are not read yet, could not be read, or hold parts that
    could not. unread_cells: rows that could not be compared, of which ambiguous_cells hold something that has two
    readings; unread: the first of them. empty_cells: rows that hold nothing in a compared column, and would fit
    otherwise. other_units: one cell of each unit, where numbers with several units were compared as they stand.
    unknown_columns: compared ones that no row of these documents has. words_left_out: that no index holds. copies: of
    `documents`, how many are the same file as another of them.
    """

    unit: CountUnit
    total: int
    documents: int
    rows: tuple[CountedRow, ...]
    looked_at: int
    to_look_at: int
    in_scope: int
    unset: int = 0
    being_read: int = 0
    failed: int = 0
    partly_read: int = 0
    unread_cells: int = 0
    ambiguous_cells: int = 0
    unread: tuple[NamedCell, ...] = ()
    empty_cells: int = 0
    other_units: tuple[NamedCell, ...] = ()
    unknown_columns: tuple[str, ...] = ()
    words_left_out: tuple[str, ...] = ()
    copies: int = 0

    @property
    def complete(self) -> bool:
        """Every document was looked at, every row could be compared, and each compared column is there."""
        is_whole = self.looked_at == self.to_look_at
        return is_whole and not self.unread_cells and not self.unknown_columns

    @property
    def is_plain(self) -> bool:
        """Complete, and nothing beside the number puts it in doubt."""
        return self.complete and not (self.other_units or self.words_left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column that rows of the documents have, as most of them spell it."""

    name: str
    kind: Literal["number", "date", "text"]
    rows: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """columns: those of the most documents first; all: how many there are. looked_at: of how many documents
    (`documents`); not_read: how many others there are, which are being read or could not be."""

    columns: tuple[TableColumn, ...]
    all: int
    looked_at: int
    documents: int
    not_read: int = 0

    @property
    def is_whole(self) -> bool:
        return self.looked_at == self.documents and not self.not_read
