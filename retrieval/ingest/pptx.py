"""PowerPoint presentations: a slide is a page, its title a heading; then its texts and tables, then the notes."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pptx
from lxml.etree import XMLSyntaxError
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PythonPptxError

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.limits import ParseLimits, check_length

MAX_HEADING_CHARS = 100  # a longer first line is text, not the name of a slide
RUNNING = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER)
_MADE_UP_TITLE = re.compile(r"^(PowerPoint\b|Slide\b|幻灯片|投影片|演示文稿)", re.I)  # what programs write


def parse_pptx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Hidden slides are left out, as in the show. Raises DocumentUnreadableError. The archive's size was checked."""
    try:
        presentation = pptx.Presentation(str(path))
        count = len(presentation.slides)
        if count > limits.max_pages:
            raise DocumentUnreadableError(
                worded(
                    "The file has {count} slides, {max_pages} are the limit; split it.",
                    count=count,
                    max_pages=limits.max_pages,
                )
            )
        blocks = tuple(_blocks(presentation.slides, limits))
        title = (presentation.core_properties.title or "").strip()
        title = "" if _MADE_UP_TITLE.match(title) else title
    except (
        PythonPptxError, XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError,
        KeyError, IndexError, ValueError, TypeError, AttributeError,
    ) as error:  # fmt: skip
        raise DocumentUnreadableError(
            worded("This PPTX file is damaged; open it in a presentation program and save it anew.")
        ) from error
    return ParsedDocument(blocks=blocks, title=title or first_title(blocks), page_count=count)


def _blocks(slides: Iterable[Any], limits: ParseLimits) -> Iterator[Block]:
    chars = 0
    for page, slide in enumerate(slides, 1):
        if slide.element.get("show") in ("0", "false"):
            continue
        for block in _slide_blocks(slide, page):
            chars += len(block.text)
            check_length(chars, limits)
            yield block


def _slide_blocks(slide: Any, page: int) -> Iterator[Block]:
    title_shape = slide.shapes.title
    title = _text(title_shape.text_frame) if title_shape is not None else ""
    texts = [block for shape in _flat(slide.shapes, title_shape) for block in _shape_blocks(shape, page)]
    if title:
        label = " ".join(title.split())
        yield Block(text=label, kind="heading", level=1, label=label, page=page)
    elif texts:
        # Without a heading of its own, the slide would stand under that of the slide before it.
        yield from _untitled(texts.pop(0), page)
    yield from texts
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and (text := _text(notes)):
        yield Block(text=f"Notes: {text}", page=page)


def _untitled(first: Block, page: int) -> Iterator[Block]:
    """The slide's first line as its heading, where it is short enough, else its number."""
    line, _, rest = first.text.partition("\n")
    if first.kind == "paragraph" and len(line) <= MAX_HEADING_CHARS:
        yield Block(text=line, kind="heading", level=1, label=line, page=page)
        if rest.strip():
            yield Block(text=rest, page=page)
        return
    yield Block(text=f"Slide {page}", kind="heading", level=1, label=f"Slide {page}", page=page)
    yield first


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
        if rows := list(_rows(shape.table)):
            yield Block(text="\n".join(rows), kind="table", page=page)
    elif shape.has_text_frame and (text := _text(shape.text_frame)):
        yield Block(text=text, page=page)


def _rows(table: Any) -> Iterator[str]:
    for row in table.rows:
        # Of a merged cell, only its first place holds the text; the others are empty.
        cells = [" ".join(cell.text.split()) for cell in row.cells if not cell.is_spanned]
        if any(cells):
            yield " | ".join(cells)


def _text(frame: Any) -> str:
    """One line for each paragraph; a line break inside one is a line break."""
    lines = (line.strip() for paragraph in frame.paragraphs for line in paragraph.text.split("\v"))
    return "\n".join(line for line in lines if line)
