"""PowerPoint: a slide is a page, its title a heading; then its texts, tables, diagrams and charts, then the notes.

The archive's size was checked before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pptx
from lxml import etree
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

from ragsite.core.messages import Sentence
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title, table_block
from retrieval.knowledge.ingest.numbering import slide_label
from retrieval.knowledge.ingest.office_math import MATH, math_text
from retrieval.knowledge.ingest.sheets.charts import chart_table
from retrieval.knowledge.ingest.tables import SpannedCell, grid_of, tables_of
from retrieval.knowledge.ingest.text import MAX_HEADING_CHARS
from retrieval.knowledge.ingest.unread import (
    bounded,
    charts,
    comments,
    drawings,
    on_slide,
    pictures,
    unread,
)

RUNNING = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER)
NUMBER = PP_PLACEHOLDER.SLIDE_NUMBER
EMBEDDED = (MSO_SHAPE_TYPE.EMBEDDED_OLE_OBJECT, MSO_SHAPE_TYPE.LINKED_OLE_OBJECT)
MAX_NODES = 5_000  # of a diagram
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
DIAGRAM_DATA = DIAGRAM[1:-1]
NEWER_CHART = "http://schemas.microsoft.com/office/drawing/2014/chartex"
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
_MADE_UP_TITLE = re.compile(
    r"^(PowerPoint\b|Slide\b|幻灯片|投影片|演示文稿)", re.I
)  # what programs write


def parse_pptx(path: Path) -> ParsedDocument:
    """Hidden slides are left out, as in the show."""
    presentation = pptx.Presentation(str(path))
    size = (presentation.slide_width or 0, presentation.slide_height or 0)
    blocks: list[Block] = []
    told: list[Sentence] = []
    running: set[str] = set()
    for page, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show") not in ("0", "false"):
            reader = _SlideReader(slide, page, size, running)
            blocks += reader.blocks()
            told += reader.unread()
    title = (presentation.core_properties.title or "").strip()
    title = "" if _MADE_UP_TITLE.match(title) else title
    return ParsedDocument(
        blocks=tuple(blocks),
        title=title or first_title(blocks),
        page_count=len(presentation.slides),
        unread=bounded(told),
    )


@dataclass(slots=True)
class _SlideReader:
    """size: width and height of the slides. running: dates, headers and footers that slides before it show."""

    slide: Any
    page: int
    size: tuple[int, int]
    running: set[str]
    _pictures: int = field(default=0, init=False)
    _charts: int = field(default=0, init=False)
    _drawings: int = field(default=0, init=False)

    def blocks(self) -> Iterator[Block]:
        title_shape = self.slide.shapes.title
        title = " ".join(title_shape.text_frame.text.split()) if title_shape is not None else ""
        shapes = self._flat(self.slide.shapes, title_shape)
        texts = [block for shape in shapes for block in self._shape_blocks(shape)]
        if (
            texts and not title
        ):  # without a heading of its own, it would stand under that of the slide before it
            line, _, rest = texts[0].text.partition("\n")
            if texts[0].kind == "paragraph" and len(line) <= MAX_HEADING_CHARS:
                title = line
                texts = ([Block(text=rest, page=self.page)] if rest else []) + texts[1:]
        notes = self._notes()
        if title or texts or notes:
            title = title or f"Slide {self.page}"
            yield Block(text=title, kind="heading", level=1, label=title, page=self.page)
        yield from texts
        yield from self._running_blocks()
        if notes:
            yield Block(text=f"Notes: {notes}", kind="note", page=self.page)

    def _running_blocks(self) -> Iterator[Block]:
        """What every slide repeats, once."""
        for shape in self.slide.placeholders:
            if shape.placeholder_format.type not in RUNNING or not shape.has_text_frame:
                continue
            text = _text(shape.text_frame)
            if text and text not in self.running:
                self.running.add(text)
                yield Block(text=text, page=self.page)

    def unread(self) -> Iterator[Sentence]:
        """After `blocks`."""
        counts = (
            (self._pictures, pictures),
            (self._charts, charts),
            (self._drawings, drawings),
            (self._comment_count(), comments),
        )
        for count, told in counts:
            if count:
                yield unread(told(count), on_slide(self.page))

    def _notes(self) -> str:
        frame = self.slide.notes_slide.notes_text_frame if self.slide.has_notes_slide else None
        return _text(frame) if frame is not None else ""

    def _comment_count(self) -> int:
        parts = [
            relation.target_part
            for relation in self.slide.part.rels.values()
            if relation.reltype.endswith("/comments") and not relation.is_external
        ]
        return sum(len(etree.fromstring(part.blob, _PARSER)) for part in parts)

    def _flat(self, shapes: Iterable[Any], title: Any, *, in_group: bool = False) -> Iterator[Any]:
        """Every shape in the order in which a screen reader takes them, those in groups too, without title, footers and
        what is hidden or lies beside the slide. What has alternatives is given as an element."""
        parent = getattr(shapes, "_spTree", None)
        for shape in shapes:
            if title is not None and shape.shape_id == title.shape_id:
                continue
            is_running = shape.is_placeholder and shape.placeholder_format.type in (
                *RUNNING,
                NUMBER,
            )
            if is_running or _is_hidden(shape) or (not in_group and self._is_beside(shape)):
                continue
            if hasattr(shape, "shapes"):
                yield from self._flat(shape.shapes, title, in_group=True)
            else:
                yield shape
        if parent is not None:
            yield from parent.iterchildren(ALTERNATIVES)

    def _is_beside(self, shape: Any) -> bool:
        left = shape.left
        top = shape.top
        width = shape.width
        height = shape.height
        if left is None or top is None or width is None or height is None or not all(self.size):
            return False
        return bool(
            left >= self.size[0] or top >= self.size[1] or left + width <= 0 or top + height <= 0
        )

    def _shape_blocks(self, shape: Any) -> Iterator[Block]:
        if isinstance(shape, etree._Element):
            yield from self._alternative(shape)
        elif getattr(shape, "has_table", False):
            rows = grid_of(
                [_spanned_cell(cell) for cell in row.cells if not cell.is_spanned]
                for row in shape.table.rows
            )
            tables = tables_of(rows, expects_head=shape.table.first_row)
            yield from (table_block(table, page=self.page) for table in tables)
        elif getattr(shape, "has_chart", False):
            table = chart_table(shape.chart.part._element)
            self._charts += table is None
            if table is not None:
                yield table_block(table, page=self.page)
        elif shape.has_text_frame:
            if text := _text(shape.text_frame):
                yield Block(text=text, page=self.page)
        elif (related := shape._element.find(f".//{DIAGRAM}relIds")) is not None:
            lines = _diagram_lines(self.slide.part, related.get(f"{RELATION}dm", ""))
            self._drawings += not lines
            if lines:
                yield Block(text="\n".join(lines), page=self.page)
        else:
            self._pictures += shape.shape_type == MSO_SHAPE_TYPE.PICTURE
            self._drawings += shape.shape_type in EMBEDDED

    def _alternative(self, element: etree._Element) -> Iterator[Block]:
        """What newer programs show, and others by a picture: equations, new kinds of charts."""
        choice = element.find("{*}Choice")
        chosen = choice if choice is not None else element
        self._charts += any(
            data.get("uri") == NEWER_CHART for data in chosen.iter(f"{TEXT}graphicData")
        )
        if lines := _lines_in(chosen):
            yield Block(text="\n".join(lines), page=self.page)


def _is_hidden(shape: Any) -> bool:
    properties = shape._element.find(".//{*}cNvPr")
    return properties is not None and properties.get("hidden") in ("1", "true")


def _spanned_cell(cell: Any) -> SpannedCell:
    text = " ".join(cell.text.split())
    return (
        SpannedCell(text, cell.span_height, cell.span_width)
        if cell.is_merge_origin
        else SpannedCell(text)
    )


def _text(frame: Any) -> str:
    return "\n".join(_lines_in(frame._txBody))


def _lines_in(element: etree._Element) -> list[str]:
    """One for each paragraph, with its label where it is numbered; a line break in it begins another one."""
    lines = []
    counts: dict[int, int] = {}  # of the numbered paragraphs, by their levels
    for paragraph in element.iter(f"{TEXT}p"):
        text = _paragraph_text(paragraph)
        if not text.strip():
            continue
        label = _label(paragraph.find(f"{TEXT}pPr"), counts)
        lines += [
            line
            for line in (" ".join(part.split()) for part in f"{label} {text}".split("\n"))
            if line
        ]
    return lines


def _paragraph_text(paragraph: etree._Element) -> str:
    parts = []
    for element in paragraph.iter(f"{TEXT}t", f"{TEXT}br", f"{MATH}oMath"):
        if element.tag == f"{MATH}oMath":
            parts.append(math_text(element))
        else:
            parts.append("\n" if element.tag == f"{TEXT}br" else element.text or "")
    return "".join(parts).replace("\v", "\n")


def _label(properties: etree._Element | None, counts: dict[int, int]) -> str:
    """counts: of the paragraphs before it; a level's count restarts below another paragraph of a higher one."""
    level = int(properties.get("lvl", "0")) if properties is not None else 0
    numbered = properties.find(f"{TEXT}buAutoNum") if properties is not None else None
    for other in [
        other for other in counts if other > level or (other == level and numbered is None)
    ]:
        del counts[other]
    if numbered is None:
        return ""
    first = int(numbered.get("startAt", "1"))
    counts[level] = counts.get(level, first - 1) + 1
    return slide_label(counts[level], numbered.get("type", ""))


def _diagram_lines(part: Any, relation: str) -> list[str]:
    """The texts of a SmartArt diagram, each below what it belongs to. relation: of its data."""
    if relation not in part.rels or part.rels[relation].is_external:
        return []
    root = etree.fromstring(part.related_part(relation).blob, _PARSER)
    texts: dict[str, str] = {}
    top = ""
    for point in root.iter(f"{DIAGRAM}pt"):
        kind = point.get("type", "node")
        top = point.get("modelId", "") if kind == "doc" else top
        if kind in ("node", "asst", "doc"):
            texts[point.get("modelId", "")] = " ".join(_lines_in(point))
    below: dict[str, list[tuple[int, str]]] = {}
    for link in root.iter(f"{DIAGRAM}cxn"):
        if link.get("type", "parOf") == "parOf" and link.get("destId") in texts:
            order = int(link.get("srcOrd", "0"))
            below.setdefault(link.get("srcId", ""), []).append((order, link.get("destId", "")))
    ordered: list[str] = []
    known: set[str] = set()
    waiting = [top]
    while waiting and len(known) < MAX_NODES:
        node = waiting.pop()
        if node in known:
            continue
        known.add(node)
        ordered.append(texts.get(node, ""))
        waiting += [child for _, child in sorted(below.get(node, ()), reverse=True)]
    ordered += [text for node, text in texts.items() if node not in known]
    return [text for text in ordered if text]
