"""Tables of a page: a grid, or a layout, which is read through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lxml import etree

from retrieval.engine.text.statements import NAME_END
from retrieval.knowledge.ingest.blocks import Block, Table
from retrieval.knowledge.ingest.markup.opened import HEADINGS
from retrieval.knowledge.ingest.tables import (
    CAPTION_JOIN,
    SpannedCell,
    TableRow,
    grid_of,
    tables_of,
)

MAX_NESTED_CHARS = 400  # of a table in a cell that is read there; a longer one follows its table
MAX_FORM_ROWS = 40  # of names beside their values
LAYOUT_CELL_CHARS = 600  # a cell with more is a part of the page, not of a table


@dataclass(slots=True)
class OpenRow:
    cells: list[SpannedCell] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    is_in_head: bool = False

    @property
    def is_head(self) -> bool:
        return self.is_in_head or set(self.tags) == {"th"}


@dataclass(slots=True)
class OpenTable:
    """outside: the blocks around it, while a cell's are gathered. nested: a name, and the large table in its cell."""

    outside: list[Block]
    rows: list[OpenRow] = field(default_factory=list)
    caption: str = ""
    is_in_head: bool = False
    nested: list[tuple[str, Table]] = field(default_factory=list)

    def add_cell(self, element: etree._Element, blocks: Sequence[Block]) -> None:
        """blocks: what stands in it."""
        if not self.rows:
            self.rows.append(OpenRow())
        row = self.rows[-1]
        name = row.cells[0].text if row.cells else ""
        told = []
        for block in blocks:
            if block.table is not None and len(block.text) > MAX_NESTED_CHARS:
                self.nested.append((name, block.table))
            else:
                told.append(block)
        cell = SpannedCell(
            cell_text(told), span_of(element, "rowspan"), span_of(element, "colspan")
        )
        row.cells.append(cell)
        row.tags.append(element.tag)

    def tables(self) -> list[Table]:
        """What its grid holds, then the large tables of its cells."""
        tables = tables_of(self._grid(), caption=self.caption, expects_head=False)
        for name, nested in self.nested:
            caption = CAPTION_JOIN.join(filter(None, [name, nested.caption]))
            tables.append(replace(nested, caption=caption))
        return tables

    def _grid(self) -> list[TableRow]:
        rows = [row for row in self.rows if row.cells]
        grid = grid_of([row.cells for row in rows])
        if all(row.is_head for row in rows):
            heads = [False] * len(rows)
        else:
            heads = [row.is_head for row in rows]
        grid = [
            line._replace(is_head=is_head and not line.is_section)
            for line, is_head in zip(grid, heads, strict=True)
        ]
        if len(grid) <= MAX_FORM_ROWS and rows and all(row.tags == ["th", "td"] for row in rows):
            names, values = zip(*(line.cells for line in grid), strict=True)
            return [TableRow(names, is_head=True), TableRow(values)]
        return grid


def cell_text(blocks: Sequence[Block]) -> str:
    """On one line; a table in the cell as its rows, parted by " / "."""
    return " ".join(
        _inner_table(block.table) if block.table else " ".join(block.text.split())
        for block in blocks
    )


def _inner_table(table: Table) -> str:
    columns = table.columns or ("",) * len(table.rows[0])
    rows = []
    for row in table.rows[table.head_rows :]:
        cells = [
            f"{name}{NAME_END}{cell}" if name else cell
            for name, cell in zip(columns, row, strict=True)
            if cell
        ]
        rows.append(", ".join(cells))
    return " / ".join(filter(None, [table.caption, *rows]))


def span_of(element: etree._Element, name: str) -> int:
    value = element.get(name) or "1"
    return max(1, int(value)) if value.isascii() and value.isdigit() and len(value) < 8 else 1


def is_layout(table: etree._Element) -> bool:
    """Whether it only places what stands in its cells."""
    if table.get("role") in ("presentation", "none"):
        return True
    rows = [
        row
        for part in table
        for row in (part if part.tag in ("tbody", "thead", "tfoot") else [part])
    ]
    if any(part.tag in ("caption", "thead") for part in table):
        return False
    cells = [cell for row in rows if row.tag == "tr" for cell in row if cell.tag in ("td", "th")]
    if any(cell.tag == "th" for cell in cells):
        return False
    if len(cells) < 2:
        return True
    return any(
        next(cell.iter("table", *HEADINGS), None) is not None
        or len(cell.text_content()) > LAYOUT_CELL_CHARS
        for cell in cells
    )
