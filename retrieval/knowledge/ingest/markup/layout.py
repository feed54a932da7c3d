"""Tables of a page: a grid, or a layout, which is read through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from retrieval.engine.text.statements import NAME_END
from retrieval.knowledge.ingest.blocks import Block, Table
from retrieval.knowledge.ingest.markup.opened import HEADINGS
from retrieval.knowledge.ingest.tables import SpannedCell

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
