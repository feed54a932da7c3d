"""PowerPoint presentations: a slide is a page, its title a heading; then its texts and tables, then the notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER

from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.headings import MAX_HEADING_CHARS
from retrieval.ingest.limits import ParseLimits, check_length, check_pages

RUNNING = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER)
_MADE_UP_TITLE = re.compile(r"^(PowerPoint\b|Slide\b|幻灯片|投影片|演示文稿)", re.I)  # what programs write


def parse_pptx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Hidden slides are left out, as in the show. The archive's size was checked before."""
    presentation = pptx.Presentation(str(path))
    count = len(presentation.slides)
    check_pages(count, limits)
    blocks: list[Block] = []
    for page, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show") not in ("0", "false"):
            blocks += _slide_blocks(slide, page)
            check_length(sum(len(block.text) for block in blocks), limits)
    title = (presentation.core_properties.title or "").strip()
    title = "" if _MADE_UP_TITLE.match(title) else title
    return ParsedDocument(blocks=tuple(blocks), title=title or first_title(blocks), page_count=count)


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
        # Of a merged cell, only its first place holds the text.
        rows = [[" ".join(c.text.split()) for c in row.cells if not c.is_spanned] for row in shape.table.rows]
        if lines := [" | ".join(row) for row in rows if any(row)]:
            yield Block(text="\n".join(lines), kind="table", page=page)
    elif shape.has_text_frame and (text := _text(shape.text_frame)):
        yield Block(text=text, page=page)


def _text(frame: Any) -> str:
    """One line for each paragraph; a line break inside one is a line break."""
    lines = (line.strip() for line in frame.text.replace("\v", "\n").split("\n"))
    return "\n".join(line for line in lines if line)
