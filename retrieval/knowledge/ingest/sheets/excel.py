"""Excel's workbooks: every visible sheet, cells in their formats.

Formulas give the results that were stored with them: nothing is calculated. The archive's size was checked before.
"""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.chartsheet import Chartsheet

from ragsite.core.messages import Sentence
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.sheets.excel_parts import read_beside, read_layout, sheet_parts
from retrieval.knowledge.ingest.sheets.number_formats import (
    shown_date,
    shown_duration,
    shown_number,
    shown_text,
)
from retrieval.knowledge.ingest.sheets.sheet import MAX_CELLS, MAX_ROWS, TOO_LARGE, Sheet
from retrieval.knowledge.ingest.unread import bounded

SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
WHITE = "FFFFFF"
Place = tuple[int, int]  # row and column, from 1


# ------------------------------------------------------------------------------------------------ Excel
def parse_xlsx(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError for too many cells."""
    blocks: list[Block] = []
    told: list[Sentence] = []
    cells = 0
    with path.open("rb") as file, zipfile.ZipFile(path) as archive:
        # As an open file: a path would be judged by its extension once more.
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        parts = sheet_parts(archive)
        for title, part in parts.items():
            sheet = workbook[title]
            read = Sheet(title)
            if not isinstance(sheet, Chartsheet):
                cells += _read_cells(sheet, read, MAX_CELLS - cells)
                read_layout(archive, part, read)
            read_beside(archive, part, read)
            blocks += read.blocks()
            told += read.unread()
        title = (workbook.properties.title or "").strip()
    return ParsedDocument(blocks=tuple(blocks), title=title, unread=bounded(told))


def _read_cells(sheet: Any, read: Sheet, most: int) -> int:
    """How many there are, empty ones between filled ones included. Raises DocumentUnreadableError for more than
    `most`."""
    sheet.reset_dimensions()  # what the file declares may be far larger than what it holds
    shown = _Shown()
    count = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        count += len(row) or 1
        if count > most or number > MAX_ROWS:
            raise DocumentUnreadableError(TOO_LARGE)
        texts = {column: text for column, cell in enumerate(row, 1) if (text := shown.text(cell))}
        if texts:
            read.rows[number] = texts
    return count


class _Shown:
    """What cells show; what is known of a style is asked once."""

    def __init__(self) -> None:
        self._unseen: dict[tuple[int, int], bool] = {}

    def text(self, cell: Any) -> str:
        value = cell.value
        if value is None:
            return ""
        text = " ".join(_shown(value, cell.number_format or "").split())
        return "" if text and self._is_unseen(cell) else text

    def _is_unseen(self, cell: Any) -> bool:
        """White on white."""
        font = cell.font
        fill = cell.fill
        key = (id(font), id(fill))
        if key not in self._unseen:
            colour = font.color.rgb if font is not None and font.color is not None else None
            is_white = isinstance(colour, str) and colour[-6:].upper() == WHITE
            ground = (
                fill.fgColor.rgb if fill is not None and fill.fill_type == "solid" else "00" + WHITE
            )
            self._unseen[key] = (
                is_white and isinstance(ground, str) and ground[-6:].upper() == WHITE
            )
        return self._unseen[key]


def _shown(value: Any, code: str) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return shown_number(value, code)
        case dt.timedelta():
            return shown_duration(value, code)
        case dt.datetime() | dt.date() | dt.time():
            return shown_date(value, code)
    return shown_text(str(value), code)


CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
DATE = "{http://purl.org/dc/elements/1.1/}date"
