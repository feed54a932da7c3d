"""Workbooks as their program shows them: every visible sheet under its name, cells in their formats, merged cells
filled in, hidden rows and columns left out. Formulas give the results that were stored with them: nothing is
calculated.

The archive's size was checked before.
"""

from __future__ import annotations

import datetime as dt
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
from lxml import etree
from openpyxl.chartsheet import Chartsheet
from openpyxl.utils.cell import coordinate_to_tuple, get_column_letter, range_boundaries

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, table_block
from retrieval.knowledge.ingest.sheets.charts import chart_table
from retrieval.knowledge.ingest.sheets.number_formats import shown_date, shown_duration, shown_number, shown_text
from retrieval.knowledge.ingest.tables import Row, tables_of
from retrieval.knowledge.ingest.unread import bounded, charts, drawings, formulas, in_sheet, pictures, unread

MAX_CELLS = 500_000  # of a workbook, empty ones between filled ones included
MAX_ROWS = 1_048_576  # the format's limit of a sheet; only a file made to do harm names a later row
MAX_COLUMNS = 16_384  # the format's limit
MAX_MERGED = 20_000  # ranges of a sheet
MAX_FILLED = 100_000  # places of a sheet that merged cells fill
MAX_NOTES = 2_000  # of a sheet
PARSER = {"resolve_entities": False, "no_network": True, "huge_tree": False}
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
NEXT_THREAD = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
EMBEDDED = ("oleObject", "package")
CHARTS = ("chart", "chartEx")
WHITE = "FFFFFF"
TOO_LARGE = worded("The workbook has more than {max_cells:,} cells; split it.", max_cells=MAX_CELLS)

Place = tuple[int, int]  # row and column, from 1


@dataclass(slots=True)
class _Sheet:
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

    def _grid(self) -> Iterator[Row]:
        """All rows equally long; one empty row between rows that are apart."""
        wide = self._fill_merged()
        shown = [number for number in sorted(self.rows) if number not in self.hidden_rows]
        columns = sorted({column for number in shown for column, text in self.rows[number].items() if text})
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
                yield Row(("",) * len(places))
            yield Row(cells, number, is_section=number in wide)
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
            if first == last and right > left and not others and self._is_over_all(first, left, right):
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


# ------------------------------------------------------------------------------------------------ Excel
def parse_xlsx(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError for too many cells."""
    blocks: list[Block] = []
    told: list[Sentence] = []
    cells = 0
    with path.open("rb") as file, zipfile.ZipFile(path) as archive:
        # As an open file: a path would be judged by its extension once more.
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        parts = _sheet_parts(archive)
        for title, part in parts.items():
            sheet = workbook[title]
            read = _Sheet(title)
            if not isinstance(sheet, Chartsheet):
                cells += _read_cells(sheet, read, MAX_CELLS - cells)
                _read_layout(archive, part, read)
            _read_beside(archive, part, read)
            blocks += read.blocks()
            told += read.unread()
        title = (workbook.properties.title or "").strip()
    return ParsedDocument(blocks=tuple(blocks), title=title, unread=bounded(told))


def _read_cells(sheet: Any, read: _Sheet, most: int) -> int:
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
            ground = fill.fgColor.rgb if fill is not None and fill.fill_type == "solid" else "00" + WHITE
            self._unseen[key] = is_white and isinstance(ground, str) and ground[-6:].upper() == WHITE
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


# ------------------------------------------------------------------------------------------------ Excel's parts
def _xml(archive: zipfile.ZipFile, part: str) -> etree._Element | None:
    """The root of a part; None where it is missing."""
    try:
        data = archive.read(part)
    except KeyError:
        return None
    return etree.fromstring(data, etree.XMLParser(**PARSER))


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Id → (last word of its type, part that it leads to), of those within the archive."""
    folder, name = posixpath.split(part)
    root = _xml(archive, f"{folder}/_rels/{name}.rels")
    relations: dict[str, tuple[str, str]] = {}
    for relation in root.iter(RELATION) if root is not None else ():
        if relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))
            kind = relation.get("Type", "").rpartition("/")[2]
            relations[relation.get("Id", "")] = (kind, target.lstrip("/"))
    return relations


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Of the visible ones, title → part."""
    books = [part for kind, part in _relations(archive, "/").values() if kind == "officeDocument"]
    book = books[0] if books else "xl/workbook.xml"
    root = _xml(archive, book)
    relations = _relations(archive, book)
    parts: dict[str, str] = {}
    for sheet in root.iter("{*}sheet") if root is not None else ():
        relation = relations.get(sheet.get(RELATION_ID, ""))
        if relation is not None and sheet.get("state", "visible") == "visible":
            parts[sheet.get("name", "")] = relation[1]
    return parts


def _read_layout(archive: zipfile.ZipFile, part: str, sheet: _Sheet) -> None:
    """Merged cells, hidden rows and columns, and formulas without a stored value."""
    with archive.open(part) as source:
        number = 0
        told = 0  # hidden columns
        for _, element in etree.iterparse(source, events=("end",), **PARSER):
            match etree.QName(element).localname:
                case "c":
                    has_formula = element.find("{*}f") is not None
                    value = element.find("{*}v")
                    sheet.not_stored += has_formula and (value is None or not value.text) and element.get("t") != "str"
                case "row":
                    number = int(element.get("r", number + 1))
                    if _is_on(element.get("hidden")) or element.get("ht") == "0":
                        sheet.hidden_rows.add(number)
                    element.clear()
                case "col":
                    if _is_on(element.get("hidden")) or element.get("width") == "0":
                        last = min(int(element.get("max", "0")), MAX_COLUMNS)
                        columns = range(int(element.get("min", "0")), last + 1)
                        told += len(columns)
                        if told > MAX_COLUMNS:  # each has at most one width
                            raise DocumentUnreadableError(worded("This workbook is damaged: its columns overlap."))
                        sheet.hidden_columns.update(columns)
                case "mergeCell" if len(sheet.merged) < MAX_MERGED:
                    left, first, right, last = range_boundaries(element.get("ref", "A1"))
                    sheet.merged.append((first, left, last, right))


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def _read_beside(archive: zipfile.ZipFile, part: str, sheet: _Sheet) -> None:
    """What belongs to the sheet besides its cells: notes, text boxes, charts."""
    notes: dict[str, str] = {}
    for kind, target in _relations(archive, part).values():
        sheet.drawings += kind in EMBEDDED
        root = _xml(archive, target) if kind in ("comments", "threadedComment", "drawing") else None
        if root is None:
            continue
        if kind == "drawing":
            _read_drawing(archive, target, root, sheet)
            continue
        threads: dict[str, list[str]] = {}
        for comment in root.iter("{*}comment", f"{NEXT_THREAD}threadedComment"):
            text = " ".join(" ".join(piece.text or "" for piece in comment.iter("{*}t", f"{NEXT_THREAD}text")).split())
            threads.setdefault(comment.get("ref", ""), []).append(text)
        for place, texts in threads.items():
            if kind == "threadedComment" or place not in notes:  # the older form of a thread says only that it is one
                notes[place] = "\n".join(filter(None, texts))
    for place, text in list(notes.items())[:MAX_NOTES]:
        row, column = coordinate_to_tuple(place)
        if text and row not in sheet.hidden_rows and column not in sheet.hidden_columns:
            sheet.notes.append(f"{place}: {text}")


def _read_drawing(archive: zipfile.ZipFile, part: str, root: etree._Element, sheet: _Sheet) -> None:
    for body in root.iter("{*}txBody"):
        lines = ["".join(text.text or "" for text in line.iter(f"{TEXT}t")).strip() for line in body.iter(f"{TEXT}p")]
        if any(lines):
            sheet.texts.append(Block(text="\n".join(filter(None, lines))))
    for kind, target in _relations(archive, part).values():
        sheet.pictures += kind == "image"
        sheet.drawings += kind == "diagramData"
        chart = _xml(archive, target) if kind == "chart" else None
        table = chart_table(chart) if chart is not None else None
        if table is not None:
            sheet.texts.append(table_block(table))
        sheet.charts += kind in CHARTS and table is None


# ------------------------------------------------------------------------------------------------ OpenDocument
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
WORDS = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
DATE = "{http://purl.org/dc/elements/1.1/}date"
META_TITLE = "{http://purl.org/dc/elements/1.1/}title"
HIDDEN = ("collapse", "filter")


def parse_ods(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError for too many cells, and for a file with a password."""
    with zipfile.ZipFile(path) as archive:
        manifest = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
        if b"encryption-data" in manifest:
            raise DocumentUnreadableError(worded("The file is protected by a password; save it again without."))
        root = _xml(archive, "content.xml")
        meta = _xml(archive, "meta.xml")
    if root is None:
        raise DocumentUnreadableError(worded("The file holds no sheets."))
    hidden = {
        style.get(f"{STYLE}name")
        for style in root.iter(f"{STYLE}style")
        if any(part.get(f"{TABLE}display") == "false" for part in style.iter(f"{STYLE}table-properties"))
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

    def sheet(self, table: etree._Element) -> _Sheet:
        sheet = _Sheet(table.get(f"{TABLE}name", ""))
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

    def _row(self, row: etree._Element, number: int, sheet: _Sheet) -> int:
        """How many rows it stands for."""
        count = _repeated(row, "number-rows-repeated")
        is_hidden = row.get(f"{TABLE}visibility") in HIDDEN
        texts: dict[int, str] = {}
        column = 1
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            times = _repeated(cell, "number-columns-repeated")
            text = "\n".join(_paragraphs(cell, own=True)) if cell.tag == f"{TABLE}table-cell" else ""
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

    def _beside(self, cell: etree._Element, place: str, sheet: _Sheet) -> None:
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


def _read_shape(shape: etree._Element, sheet: _Sheet) -> None:
    """The words in a shape, or in those of a group; counts what holds none."""
    for frame in shape.iter(f"{DRAW}frame"):
        is_object = frame.find(f"{DRAW}object") is not None or frame.find(f"{DRAW}object-ole") is not None
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
