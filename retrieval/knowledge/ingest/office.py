"""Office files. Their archive's size was checked before.

PowerPoint: a slide is a page, its title a heading; then
its texts and tables, then the notes. Excel: every visible sheet under its name, each row with its column names, values
as the sheet shows them; formulas give the results that were stored with them, as the workbook is never calculated.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pptx
from openpyxl.cell.cell import ERROR_CODES
from pptx.enum.shapes import PP_PLACEHOLDER

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title, table_block
from retrieval.knowledge.ingest.tables import SpannedCell, grid_of, tables_of
from retrieval.knowledge.ingest.text import MAX_HEADING_CHARS, csv_grid

RUNNING = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER)
_MADE_UP_TITLE = re.compile(r"^(PowerPoint\b|Slide\b|幻灯片|投影片|演示文稿)", re.I)  # what programs write
MAX_CELLS = 5_000_000  # of a workbook, empty ones between filled ones included
MAX_ROWS = 1_048_576  # the format's limit of a sheet; only a file made to do harm names a later row


# ------------------------------------------------------------------------------------------------ PowerPoint
def parse_pptx(path: Path) -> ParsedDocument:
    """Hidden slides are left out, as in the show."""
    presentation = pptx.Presentation(str(path))
    blocks: list[Block] = []
    for page, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show") not in ("0", "false"):
            blocks += _slide_blocks(slide, page)
    title = (presentation.core_properties.title or "").strip()
    title = "" if _MADE_UP_TITLE.match(title) else title
    return ParsedDocument(blocks=tuple(blocks), title=title or first_title(blocks), page_count=len(presentation.slides))


def _slide_blocks(slide: Any, page: int) -> Iterator[Block]:
    title_shape = slide.shapes.title
    title = " ".join(title_shape.text_frame.text.split()) if title_shape is not None else ""
    texts = [block for shape in _flat(slide.shapes, title_shape) for block in _shape_blocks(shape, page)]
    if texts and not title:  # without a heading of its own, the slide would stand under that of the slide before it
        line, _, rest = texts[0].text.partition("\n")
        if texts[0].kind == "paragraph" and len(line) <= MAX_HEADING_CHARS:
            title, texts[:1] = line, [Block(text=rest, page=page)] if rest else []
    if title or texts:
        title = title or f"Slide {page}"
        yield Block(text=title, kind="heading", level=1, label=title, page=page)
    yield from texts
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and (text := _text(notes)):
        yield Block(text=f"Notes: {text}", page=page)


def _flat(shapes: Iterable[Any], title: Any) -> Iterator[Any]:
    """Every shape in the order in which a screen reader takes them, those in groups too, without title and footers."""
    for shape in shapes:
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if hasattr(shape, "shapes"):
            yield from _flat(shape.shapes, title)
        elif not (shape.is_placeholder and shape.placeholder_format.type in RUNNING):
            yield shape


def _shape_blocks(shape: Any, page: int) -> Iterator[Block]:
    if getattr(shape, "has_table", False):
        rows = grid_of([_spanned_cell(cell) for cell in row.cells if not cell.is_spanned] for row in shape.table.rows)
        yield from (table_block(table, page=page) for table in tables_of(rows, expects_head=False))
    elif shape.has_text_frame and (text := _text(shape.text_frame)):
        yield Block(text=text, page=page)


def _spanned_cell(cell: Any) -> SpannedCell:
    is_merged = cell.is_merge_origin
    text = " ".join(cell.text.split())
    return SpannedCell(text, cell.span_height, cell.span_width) if is_merged else SpannedCell(text)


def _text(frame: Any) -> str:
    """One line for each paragraph; a line break inside one is a line break."""
    lines = (line.strip() for line in frame.text.replace("\v", "\n").split("\n"))
    return "\n".join(line for line in lines if line)


# ------------------------------------------------------------------------------------------------ Excel
def parse_xlsx(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError for too many cells."""
    with path.open("rb") as file:  # as an open file: a path would be judged by its extension once more
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        cells = 0
        blocks: list[Block] = []
        for sheet in workbook.worksheets:
            if sheet.sheet_state != "visible":
                continue
            rows: list[tuple[int, Sequence[Any]]] = []
            sheet.reset_dimensions()  # what the file declares may be far larger than what it holds
            for number, row in enumerate(sheet.iter_rows(), 1):
                cells += len(row) or 1  # empty ones included
                if cells > MAX_CELLS or number > MAX_ROWS:
                    reason = worded("The workbook has more than {max_cells:,} cells; split it.", max_cells=MAX_CELLS)
                    raise DocumentUnreadableError(reason)
                if any(map(cell_text, row)):
                    rows.append((number, row))
                elif rows and rows[-1][1]:
                    rows.append((number, ()))
            blocks += _sheet_blocks(sheet.title, rows)
        return ParsedDocument(blocks=tuple(blocks), title=(workbook.properties.title or "").strip())


def _sheet_blocks(title: str, rows: Sequence[tuple[int, Sequence[Any]]]) -> Iterator[Block]:
    """rows: with their numbers; an empty one parts tables."""
    if rows:
        yield Block(text=title, kind="heading", level=1, label=title)
    texts = [[cell_text(cell) for cell in row] for _, row in rows]
    grid = [row._replace(number=number) for row, (number, _) in zip(csv_grid(texts), rows, strict=True)]
    yield from map(table_block, tables_of(grid))


def cell_text(cell: Any) -> str:
    """A cell's value as people see it, in one line; dates and times in ISO 8601. "" for nothing and for errors."""
    match value := cell.value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case dt.datetime() if value.time() == dt.time():
            return value.date().isoformat()
        case int() | float():
            # 15 digits is what a spreadsheet shows: 0.1 + 0.2 is 0.3 there.
            return f"{value * 100:.12g}%" if "%" in (cell.number_format or "") else f"{value:.15g}"
        case _:
            return "" if cell.data_type == "e" or value in ERROR_CODES else " ".join(str(value).split())
