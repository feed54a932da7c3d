"""Word documents: headings by style or outline level, tables row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.document import Document as WordDocument
from docx.oxml.ns import qn
from docx.table import Table

from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.headings import MAX_HEADING_CHARS, heading_level
from retrieval.ingest.limits import ParseLimits, check_length

_HEADING_STYLE = re.compile(r"(?:heading|标题|標題)\s*([1-9])", re.I)
_TITLE_STYLES = ("title", "标题", "標題")


def parse_docx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """The archive's size was checked before."""
    document = docx.Document(str(path))
    blocks = tuple(_blocks(document))
    check_length(sum(len(block.text) for block in blocks), limits)
    return ParsedDocument(blocks=blocks, title=(document.core_properties.title or "").strip() or first_title(blocks))


def _blocks(document: WordDocument) -> Iterator[Block]:
    levels = _style_levels(document)
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            if rows := list(_rows(item)):
                yield Block(text="\n".join(rows), kind="table")
        elif text := item.text.strip():
            properties = item._p.pPr
            style = properties.pStyle.val if properties is not None and properties.pStyle is not None else ""
            level = _outline_level(properties) or levels.get(style, 0) or heading_level(text)
            level = level if len(text) <= 2 * MAX_HEADING_CHARS else 0
            yield Block(text=text, kind="heading" if level else "paragraph", level=level, label=text if level else "")


def _style_levels(document: WordDocument) -> dict[str, int]:
    """Style id → heading level. Looked up once: python-docx searches all styles at each access."""
    levels: dict[str, int] = {}
    for style in document.styles.element.style_lst:
        name = style.name_val or ""
        if match := _HEADING_STYLE.search(name):
            levels[style.styleId] = min(6, int(match[1]))
        elif name.lower() in _TITLE_STYLES:
            levels[style.styleId] = 1
        elif level := _outline_level(style.find(qn("w:pPr"))):
            levels[style.styleId] = level
    return levels


def _outline_level(properties: Any) -> int:
    """Of a paragraph's or a style's properties, 1–6; 0: it has none."""
    outline = None if properties is None else properties.find(qn("w:outlineLvl"))
    level = 9 if outline is None else int(outline.get(qn("w:val"), "9"))
    return level + 1 if level < 6 else 0


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # a merged cell is listed repeatedly
        if any(cells.values()):
            yield " | ".join(cells.values())
