"""Excel workbooks: every visible sheet under its name, each row with its column names, values as the sheet shows them.

Formulas give the results that were stored with them; the workbook is never calculated.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.cell.cell import ERROR_CODES

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.limits import ParseLimits, check_length
from retrieval.ingest.text import row_blocks

MAX_ROWS = 1_048_576  # the format's limit of a sheet; only a file made to do harm names a later row


def parse_xlsx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises DocumentUnreadableError as soon as a limit is passed. The archive's size was checked before."""
    with path.open("rb") as file:  # as an open file: a path would be judged by its extension once more
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        cells = chars = 0
        blocks: list[Block] = []
        for sheet in workbook.worksheets:
            if sheet.sheet_state != "visible":
                continue
            rows: list[Sequence[Any]] = []
            sheet.reset_dimensions()  # what the file declares may be far larger than what it holds
            for number, row in enumerate(sheet.iter_rows(), 1):
                cells += len(row) or 1  # empty ones included
                if cells > limits.max_cells or number > MAX_ROWS:
                    reason = worded(
                        "The workbook has more than {max_cells:,} cells; split it.", max_cells=limits.max_cells
                    )
                    raise DocumentUnreadableError(reason)
                if any(map(cell_text, row)):
                    rows.append(row)
            for block in _sheet_blocks(sheet.title, rows):
                chars += len(block.text)
                check_length(chars, limits)
                blocks.append(block)
        return ParsedDocument(blocks=tuple(blocks), title=(workbook.properties.title or "").strip())


def _sheet_blocks(title: str, rows: Sequence[Sequence[Any]]) -> Iterator[Block]:
    """Lines above the table (a title, a note), then the table; a sheet of one column is lines throughout."""
    if rows:
        yield Block(text=title, kind="heading", level=1, label=title)
    texts = [[cell_text(cell) for cell in row] for row in rows]
    lines = list(takewhile(lambda row: sum(map(bool, row)) == 1, texts))
    if lines:
        yield Block(text="\n".join("".join(row) for row in lines))
    if table := texts[len(lines) :]:
        yield from row_blocks(table)


def cell_text(cell: Any) -> str:
    """A cell's value as people see it, in one line; dates and times in ISO 8601. "" for nothing and for errors."""
    match value := cell.value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case dt.datetime():
            return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "seconds")
        case dt.date():
            return value.isoformat()
        case dt.time():
            return value.isoformat("seconds")
        case int() | float():
            # 15 digits is what a spreadsheet shows: 0.1 + 0.2 is 0.3 there.
            return f"{value * 100:.12g}%" if "%" in (cell.number_format or "") else f"{value:.15g}"
        case _:
            return "" if cell.data_type == "e" or value in ERROR_CODES else " ".join(str(value).split())
