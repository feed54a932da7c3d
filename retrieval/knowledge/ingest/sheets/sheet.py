"""A sheet as its program shows it: merged cells filled in, hidden rows and columns left out, under its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, table_block
from retrieval.knowledge.ingest.tables import TableRow, tables_of
from retrieval.knowledge.ingest.unread import charts, drawings, formulas, in_sheet, pictures, unread

MAX_CELLS = 500_000  # of a workbook, empty ones between filled ones included
MAX_ROWS = 1_048_576  # the format's limit of a sheet; only a file made to do harm names a later row
MAX_COLUMNS = 16_384  # the format's limit
MAX_MERGED = 20_000  # ranges of a sheet
MAX_FILLED = 100_000  # places of a sheet that merged cells fill
MAX_NOTES = 2_000  # of a sheet
TOO_LARGE = worded("The workbook has more than {max_cells:,} cells; split it.", max_cells=MAX_CELLS)


@dataclass(slots=True)
class Sheet:
    """What a sheet shows. rows: number → column → text. merged: (first row, first column, last row, last column)."""

    title: str
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    not_stored: int = 0
    notes: list[str] = field(default_factory=list)
    texts: list[Block] = field(default_factory=list)
    pictures: int = 0
    charts: int = 0
    drawings: int = 0

    def blocks(self) -> Iterator[Block]:
        rows = list(self._grid())
        if rows or self.notes or self.texts:
            yield Block(text=self.title, kind="heading", level=1, label=self.title)
        yield from map(table_block, tables_of(rows))
        yield from self.texts
        yield from (Block(text=note, kind="note") for note in self.notes)

    def unread(self) -> Iterator[Sentence]:
        counts = (
            (self.not_stored, formulas),
            (self.pictures, pictures),
            (self.charts, charts),
            (self.drawings, drawings),
        )
        for count, told in counts:
            if count:
                yield unread(told(count), in_sheet(self.title))

    def _grid(self) -> Iterator[TableRow]:
        """All rows equally long; one empty row between rows that are apart."""
        wide = self._fill_merged()
        shown = [number for number in sorted(self.rows) if number not in self.hidden_rows]
        columns = sorted(
            {column for number in shown for column, text in self.rows[number].items() if text}
        )
        if not columns:
            return
        places = [at for at in range(columns[0], columns[-1] + 1) if at not in self.hidden_columns]
        last = 0
        for number in shown:
            cells = tuple(self.rows[number].get(at, "") for at in places)
            if not any(cells):
                continue
            skipped = range(last + 1, number) if last else ()
            if any(at not in self.hidden_rows for at in skipped):
                yield TableRow(("",) * len(places))
            yield TableRow(cells, number, is_section=number in wide)
            last = number

    def _fill_merged(self) -> set[int]:
        """Writes the text of merged cells into all of their places. Gives the rows of which one cell is the whole."""
        wide: set[int] = set()
        filled = 0
        for first, left, last, right in self.merged:
            text = self.rows.get(first, {}).get(left, "")
            if not text:
                continue
            others = [at for at, other in self.rows[first].items() if other and at != left]
            if (
                first == last
                and right > left
                and not others
                and self._is_over_all(first, left, right)
            ):
                wide.add(first)
                continue
            filled += (last - first + 1) * (right - left + 1)
            if filled > MAX_FILLED:
                raise DocumentUnreadableError(TOO_LARGE)
            for row in range(first, last + 1):
                cells = self.rows.setdefault(row, {})
                for column in range(left, right + 1):
                    cells[column] = text
        return wide

    def _is_over_all(self, number: int, left: int, right: int) -> bool:
        """Whether a merged cell is as wide as the row below it, or as the one above it."""
        for other in (number + 1, number - 1):
            used = [column for column, text in self.rows.get(other, {}).items() if text]
            if used:
                return left <= min(used) and max(used) <= right
        return True
