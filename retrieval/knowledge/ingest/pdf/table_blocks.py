"""Blocks of the tables of a PDF.

One that goes on over a page's end is a table on each page, with the head that it began with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from retrieval.engine.text.statements import HEAD_END, NAME_END
from retrieval.knowledge.ingest.blocks import Block, Table, table_block
from retrieval.knowledge.ingest.pdf.fields import TICKS
from retrieval.knowledge.ingest.pdf.rows import Columns, PageTable
from retrieval.knowledge.ingest.pdf.runs import TextRun
from retrieval.knowledge.ingest.tables import TableRow, tables_of


class TableJoint:
    """Makes blocks of tables, and gives one that goes on over a page's end the head that it began with."""

    def __init__(self) -> None:
        self.columns: Columns | None = None  # of the table that the page ends with so far
        self._head: list[tuple[str, ...]] = []

    def end(self) -> None:
        """Something else follows."""
        self.columns = None
        self._head = []

    def blocks(self, table: PageTable, page: int) -> Iterator[tuple[Block, TextRun]]:
        """With the runs of their texts."""
        rows = [
            TableRow(
                tuple(_one_line(run.text) for run in row.cells),
                is_head=row.is_head,
                is_section=row.is_section,
            )
            for row in table.rows
        ]
        if self.columns and self._head and table.goes_on_from(self.columns):
            rows = self._with_head(rows)
        cells = _Cells([row.cells for row in table.rows])
        if (form := _form(rows)) is not None:
            self.end()
            text = form.text.replace(HEAD_END, " ")
            yield Block(text=text, page=page), cells.run_of(form, text)
            return
        tables = tables_of(rows, expects_head=False)
        self.columns = table.columns
        self._head = list(tables[-1].rows[: tables[-1].head_rows]) if tables else []
        for part in tables:
            block = table_block(part, page=page)
            yield block, cells.run_of(part, block.text)

    def _with_head(self, rows: list[TableRow]) -> list[TableRow]:
        """rows: of a table that goes on, which may repeat the head."""
        count = len(self._head)
        if [row.cells for row in rows[:count]] == self._head:
            return [*(row._replace(is_head=True) for row in rows[:count]), *rows[count:]]
        head = [TableRow(cells, is_head=True) for cells in self._head]
        return [*head, *(row._replace(is_head=False) for row in rows)]


class _Cells:
    """Where the cells of a page's table stand in the texts that are made of it."""

    def __init__(self, rows: Sequence[Sequence[TextRun]]) -> None:
        self._rows = rows
        self._texts = [tuple(_one_line(run.text) for run in row) for row in rows]
        self._next = 0

    def run_of(self, table: Table, text: str) -> TextRun:
        """The places of what is written in the rows; names of columns that are repeated have none."""
        places = [-1] * len(text)
        columns = table.columns
        at = 0
        for number, cells in enumerate(table.rows):
            is_head = number < table.head_rows
            at = 0 if is_head else at
            runs = self._row(cells)
            for column, cell in enumerate(cells):
                if not cell:
                    continue
                name = columns[column] if columns and not is_head else ""
                sought = f"{name}{NAME_END}{cell}" if name else cell
                found = text.find(sought, at)
                if found < 0:
                    continue
                end = found + len(sought)
                if runs is not None and len(runs[column].text) == len(cell):
                    places[end - len(cell) : end] = runs[column].places
                at = found if is_head else end
        return TextRun(text, tuple(places))

    def _row(self, cells: tuple[str, ...]) -> Sequence[TextRun] | None:
        """The next of the page's rows that holds these cells, some empty ones around them left out."""
        order = itertools.chain(range(self._next, len(self._rows)), range(self._next))
        for at in order:
            texts = self._texts[at]
            for shift in range(len(texts) - len(cells) + 1):
                if texts[shift : shift + len(cells)] == cells:
                    self._next = at + 1
                    return self._rows[at][shift : shift + len(cells)]
        return None


def _form(rows: Sequence[TableRow]) -> Table | None:
    """Labels with their values, which are lines of a text; None for a table."""
    labels = [row.cells[0] for row in rows if all(row.cells)]
    if len(rows[0].cells) != 2 or any(row.is_head for row in rows) or not labels:
        return None
    is_form = all(label.endswith((":", "：", *TICKS)) for label in labels)
    return Table(rows=tuple(row.cells for row in rows)) if is_form else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
