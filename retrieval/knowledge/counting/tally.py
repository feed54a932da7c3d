"""What a count has come to so far, and what is to be said beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from retrieval.engine.text.records import Cell, column_key
from retrieval.engine.values.counting import (
    CellFault,
    CountedRow,
    CountEvidence,
    CountFilter,
    NamedCell,
)
from retrieval.knowledge.counting.documents import CountedDocument

MAX_UNREAD_KEPT = 5
MAX_UNITS_KEPT = 5  # of all compared columns together


@dataclass(slots=True)
class Tally:
    """rows: up to `limit` are kept; unread: up to `most_unread`. columns_seen: keys of compared columns that a row has,
    also where its cell is empty."""

    limit: int
    most_unread: int = MAX_UNREAD_KEPT
    total: int = 0
    documents: int = 0
    copies: int = 0
    rows: list[CountedRow] = field(default_factory=list)
    unread_cells: int = 0
    ambiguous_cells: int = 0
    unread: list[NamedCell] = field(default_factory=list)
    empty_cells: int = 0
    columns_seen: set[str] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)
    _units: dict[str, dict[str, NamedCell]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= self.limit

    def take_document(self, document: CountedDocument) -> None:
        """One that counts, or rows of which count."""
        self.documents += 1
        self.copies += document.file in self._files
        self._files.add(document.file)

    def take_row(
        self,
        document: CountedDocument,
        evidence: Iterable[CountEvidence],
        cells: tuple[tuple[str, str], ...] = (),
    ) -> None:
        row = CountedRow(
            document_id=str(document.id),
            title=document.title,
            evidence=tuple(evidence),
            cells=cells,
        )
        self.rows.append(row)

    def leave_out(self, document: CountedDocument, cell: Cell, fault: CellFault) -> None:
        """A row that could not be compared."""
        self.unread_cells += 1
        self.ambiguous_cells += fault == "ambiguous"
        if len(self.unread) < self.most_unread:
            self.unread.append(_named(document, cell, fault))

    def is_new_unit(self, cell: Cell, unit: str) -> bool:
        units = self._units.get(column_key(cell.name), {})
        return unit not in units and len(units) <= MAX_UNITS_KEPT

    def take_unit(self, document: CountedDocument, cell: Cell, unit: str) -> None:
        """Of a number that was compared as it stands."""
        if self.is_new_unit(cell, unit):
            units = self._units.setdefault(column_key(cell.name), {})
            units[unit] = _named(document, cell)

    @property
    def other_units(self) -> tuple[NamedCell, ...]:
        """One cell of each unit, of the columns that have several."""
        cells = [
            cell for units in self._units.values() if len(units) > 1 for cell in units.values()
        ]
        return tuple(cells[:MAX_UNITS_KEPT])

    def unknown_columns(self, counted: CountFilter) -> tuple[str, ...]:
        """Those compared that no row has so far."""
        names = dict.fromkeys(rule.column for rule in counted.columns)
        return tuple(name for name in names if column_key(name) not in self.columns_seen)


def _named(document: CountedDocument, cell: Cell, fault: CellFault | None = None) -> NamedCell:
    return NamedCell(
        document_id=str(document.id),
        title=document.title,
        column=cell.name,
        value=cell.value,
        fault=fault,
    )
