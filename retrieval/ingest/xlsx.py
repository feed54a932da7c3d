"""Excel workbooks: every visible sheet under its name, each row with its column names, values as the sheet shows them.

Formulas give the results that were stored with them; the workbook is never calculated.
"""

from __future__ import annotations

import datetime as dt
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from lxml.etree import XMLSyntaxError
from openpyxl.cell.cell import ERROR_CODES
from openpyxl.utils.exceptions import InvalidFileException

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.limits import ParseLimits, check_length
from retrieval.ingest.text import MAX_COLUMN_NAME_CHARS, table_blocks

MAX_ROWS = 1_048_576  # the format's limit of a sheet; only a file made to do harm names a later row
YEARS = range(1900, 2101)  # whole numbers that name a column rather than being a value
DAMAGED = worded("This XLSX file is damaged; open it in a spreadsheet program and save it anew.")


def parse_xlsx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises DocumentUnreadableError. The archive's size was checked before."""
    try:
        # As an open file: a path would be judged by its extension once more.
        with path.open("rb") as file:
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            blocks = tuple(_blocks(workbook, limits))
            title = workbook.properties.title or ""
    except (
        InvalidFileException, ParseError, XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError,
        KeyError, IndexError, ValueError, TypeError, AttributeError,
    ) as error:  # fmt: skip
        raise DocumentUnreadableError(DAMAGED) from error
    return ParsedDocument(blocks=blocks, title=title.strip())


def _blocks(workbook: Any, limits: ParseLimits) -> Iterator[Block]:
    """Raises DocumentUnreadableError as soon as a limit is passed."""
    budget = _Budget(limits)
    for sheet in workbook.worksheets:
        if sheet.sheet_state != "visible":
            continue
        if rows := list(_rows(sheet, budget)):
            yield Block(text=sheet.title, kind="heading", level=1, label=sheet.title)
            for block in _sheet_blocks(rows):
                budget.add_text(len(block.text))
                yield block


class _Budget:
    """What the workbook has cost so far: cells looked at, empty ones included, and characters."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._cells = self._chars = 0

    def add_row(self, cells: int) -> None:
        self._cells += cells or 1
        if self._cells > self._limits.max_cells:
            raise DocumentUnreadableError(
                worded("The workbook has more than {max_cells:,} cells; split it.", max_cells=self._limits.max_cells)
            )

    def add_text(self, chars: int) -> None:
        self._chars += chars
        check_length(self._chars, self._limits)


def _rows(sheet: Any, budget: _Budget) -> Iterator[list[Any]]:
    """The rows that hold something, as cells or None."""
    sheet.reset_dimensions()  # what the file declares may be far larger than what it holds
    for number, row in enumerate(sheet.iter_rows(), 1):
        budget.add_row(len(row))
        if number > MAX_ROWS:
            raise DocumentUnreadableError(DAMAGED)
        cells = [cell if cell_text(cell) else None for cell in row]
        if any(cell is not None for cell in cells):
            yield cells


def _sheet_blocks(rows: Sequence[Sequence[Any]]) -> Iterator[Block]:
    """Lines above the table (a title, a note), then the table; a sheet of one column is lines throughout."""
    lines = list(takewhile(lambda row: _filled(row) == 1, rows))
    if lines:
        yield Block(text="\n".join(" ".join(filter(None, map(cell_text, row))) for row in lines))
    if table := rows[len(lines) :]:
        header = [cell_text(cell) for cell in table[0]] if len(table) > 1 and _is_header(table[0]) else None
        body = table[1:] if header else table
        yield from table_blocks(header, ([cell_text(cell) for cell in row] for row in body))


def _filled(row: Sequence[Any]) -> int:
    return sum(cell is not None for cell in row)


def _is_header(row: Sequence[Any]) -> bool:
    """Words, years and dates, each once, and at least one word among them."""
    cells = [cell for cell in row if cell is not None]
    names = [cell_text(cell) for cell in cells]
    words = [isinstance(cell.value, str) for cell in cells]
    naming = all(word or cell.is_date or cell.value in YEARS for word, cell in zip(words, cells, strict=True))
    return naming and any(words) and len(set(names)) == len(names) and max(map(len, names)) <= MAX_COLUMN_NAME_CHARS


def cell_text(cell: Any) -> str:
    """A cell's value as people see it, in one line; dates and times in ISO 8601. "" for nothing and for errors."""
    value = None if cell is None else cell.value
    if value is None or (cell.data_type == "e" or value in ERROR_CODES):
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "seconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.time):
        return value.isoformat("seconds")
    if isinstance(value, int | float):
        # 15 digits is what a spreadsheet shows: 0.1 + 0.2 is 0.3 there.
        return f"{value * 100:.12g}%" if "%" in (cell.number_format or "") else f"{value:.15g}"
    return " ".join(str(value).split())
