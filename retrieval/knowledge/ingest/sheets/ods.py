"""OpenDocument sheets: every visible one, cells as they were shown.

Formulas give the results that were stored with them: nothing is calculated. The archive's size was checked before.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from lxml import etree
from openpyxl.utils.cell import get_column_letter

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.sheets.excel_parts import xml_part
from retrieval.knowledge.ingest.sheets.sheet import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_MERGED,
    MAX_NOTES,
    MAX_ROWS,
    TOO_LARGE,
    Sheet,
)
from retrieval.knowledge.ingest.unread import bounded

OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
WORDS = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
META_TITLE = "{http://purl.org/dc/elements/1.1/}title"
HIDDEN = ("collapse", "filter")


def parse_ods(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError for too many cells, and for a file with a password."""
    with zipfile.ZipFile(path) as archive:
        manifest = (
            archive.read("META-INF/manifest.xml")
            if "META-INF/manifest.xml" in archive.namelist()
            else b""
        )
        if b"encryption-data" in manifest:
            raise DocumentUnreadableError(
                worded("The file is protected by a password; save it again without.")
            )
        root = xml_part(archive, "content.xml")
        meta = xml_part(archive, "meta.xml")
    if root is None:
        raise DocumentUnreadableError(worded("The file holds no sheets."))
    hidden = {
        style.get(f"{STYLE}name")
        for style in root.iter(f"{STYLE}style")
        if any(
            part.get(f"{TABLE}display") == "false"
            for part in style.iter(f"{STYLE}table-properties")
        )
    }
    book = _OdsBook()
    sheets = [
        book.sheet(table)
        for table in root.iterfind(f"{OFFICE}body/{OFFICE}spreadsheet/{TABLE}table")
        if table.get(f"{TABLE}style-name") not in hidden
    ]
    title = (meta.findtext(f".//{META_TITLE}") or "").strip() if meta is not None else ""
    return ParsedDocument(
        blocks=tuple(block for sheet in sheets for block in sheet.blocks()),
        title=title,
        unread=bounded(told for sheet in sheets for told in sheet.unread()),
    )


class _OdsBook:
    """Reads sheets; counts the cells of all of them."""

    def __init__(self) -> None:
        self._cells = 0

    def sheet(self, table: etree._Element) -> Sheet:
        sheet = Sheet(table.get(f"{TABLE}name", ""))
        column = 1
        for element in table.iter(f"{TABLE}table-column"):
            count = _repeated(element, "number-columns-repeated")
            if element.get(f"{TABLE}visibility") in HIDDEN:
                sheet.hidden_columns.update(range(column, min(column + count, MAX_COLUMNS + 1)))
            column += count
        number = 1
        for row in table.iter(f"{TABLE}table-row"):
            number += self._row(row, number, sheet)
        for shape in table.iterfind(f"{TABLE}shapes/*"):
            _read_shape(shape, sheet)
        return sheet

    def _row(self, row: etree._Element, number: int, sheet: Sheet) -> int:
        """How many rows it stands for."""
        count = _repeated(row, "number-rows-repeated")
        is_hidden = row.get(f"{TABLE}visibility") in HIDDEN
        texts: dict[int, str] = {}
        column = 1
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            times = _repeated(cell, "number-columns-repeated")
            text = (
                "\n".join(_paragraphs(cell, own=True)) if cell.tag == f"{TABLE}table-cell" else ""
            )
            text = " ".join(text.split())
            has_formula = cell.get(f"{TABLE}formula") is not None
            sheet.not_stored += has_formula and cell.get(f"{OFFICE}value-type") is None and not text
            if text:
                self._count(times)
                texts.update(dict.fromkeys(range(column, column + times), text))
            across = _repeated(cell, "number-columns-spanned")
            down = _repeated(cell, "number-rows-spanned")
            if across * down > 1 and len(sheet.merged) < MAX_MERGED:
                sheet.merged.append((number, column, number + down - 1, column + across - 1))
            if not is_hidden and column not in sheet.hidden_columns:
                self._beside(cell, f"{get_column_letter(column)}{number}", sheet)
            column += times
        if texts:
            self._count(len(texts) * (count - 1))
            for at in range(number, number + count):
                sheet.rows[at] = dict(texts)
        if is_hidden:
            sheet.hidden_rows.update(range(number, min(number + count, MAX_ROWS + 1)))
        return count

    def _beside(self, cell: etree._Element, place: str, sheet: Sheet) -> None:
        """Notes of a cell, and what is anchored in it."""
        for element in cell:
            if element.tag == f"{OFFICE}annotation":
                if len(sheet.notes) < MAX_NOTES:
                    lines = "\n".join(_paragraphs(element, own=True))
                    sheet.notes.append(f"{place}: {lines}")
            elif element.tag != f"{WORDS}p":
                _read_shape(element, sheet)

    def _count(self, cells: int) -> None:
        self._cells += cells
        if self._cells > MAX_CELLS:
            raise DocumentUnreadableError(TOO_LARGE)


def _read_shape(shape: etree._Element, sheet: Sheet) -> None:
    """The words in a shape, or in those of a group; counts what holds none."""
    for frame in shape.iter(f"{DRAW}frame"):
        is_object = (
            frame.find(f"{DRAW}object") is not None or frame.find(f"{DRAW}object-ole") is not None
        )
        sheet.drawings += is_object
        sheet.pictures += not is_object and frame.find(f"{DRAW}image") is not None
    if lines := _paragraphs(shape):
        sheet.texts.append(Block(text="\n".join(lines)))


def _repeated(element: etree._Element, name: str) -> int:
    text = element.get(f"{TABLE}{name}", "1")
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


def _paragraphs(element: etree._Element, *, own: bool = False) -> list[str]:
    """The lines of text in an element; own: those that stand directly in it."""
    found = element.iterchildren(f"{WORDS}p") if own else element.iter(f"{WORDS}p")
    return [text for line in found if (text := _line(line))]


def _line(paragraph: etree._Element) -> str:
    parts: list[str] = [paragraph.text or ""]
    for element in paragraph.iterdescendants():
        if element.tag in (f"{WORDS}s", f"{WORDS}tab", f"{WORDS}line-break"):
            parts.append(" ")
        if isinstance(element.tag, str) and element.text:
            parts.append(element.text)
        parts.append(element.tail or "")
    return "".join(parts).strip()
