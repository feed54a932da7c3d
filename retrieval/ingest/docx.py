"""Word documents: headings by style or outline level, tables row by row."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml import etree

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.headings import heading_level
from retrieval.ingest.limits import ParseLimits, check_length

_HEADING_STYLE = re.compile(r"(?:heading|标题|標題)\s*([1-9])", re.I)
_TITLE_STYLES = ("title", "标题", "標題")


def parse_docx(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises DocumentUnreadableError. The archive's size was checked before."""
    try:
        document = docx.Document(str(path))
        blocks = tuple(_blocks(document))
        title = document.core_properties.title or ""
    except (OpcError, KeyError, ValueError, etree.XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DocumentUnreadableError(
            worded("This DOCX file is damaged; open it in a word processor and save it anew.")
        ) from error
    check_length(sum(len(block.text) for block in blocks), limits)
    return ParsedDocument(blocks=blocks, title=title.strip() or first_title(blocks))


def _blocks(document: WordDocument) -> Iterator[Block]:
    levels = _style_levels(document)
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            if rows := list(_rows(item)):
                yield Block(text="\n".join(rows), kind="table")
        elif text := item.text.strip():
            level = _level(item, text, levels)
            yield Block(text=text, kind="heading" if level else "paragraph", level=level, label=text if level else "")


def _style_levels(document: WordDocument) -> dict[str, int]:
    """Style id → heading level. Looked up once: python-docx searches all styles at each access."""
    levels: dict[str, int] = {}
    for style in document.styles.element.style_lst:
        name = style.name_val or ""
        outline = style.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
        if match := _HEADING_STYLE.search(name):
            levels[style.styleId] = min(6, int(match[1]))
        elif name.lower() in _TITLE_STYLES:
            levels[style.styleId] = 1
        elif outline is not None and (value := int(outline.get(qn("w:val"), "9"))) < 6:
            levels[style.styleId] = value + 1
    return levels


def _level(paragraph: Paragraph, text: str, levels: dict[str, int]) -> int:
    properties = paragraph._p.pPr
    if len(text) > 200:
        return 0
    if properties is not None:
        outline = properties.find(qn("w:outlineLvl"))
        if outline is not None and (value := int(outline.get(qn("w:val"), "9"))) < 6:
            return value + 1
        if properties.pStyle is not None and (level := levels.get(properties.pStyle.val, 0)):
            return level
    return heading_level(text)


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells: list[str] = []
        seen: set[int] = set()
        for cell in row.cells:
            # A merged cell is listed once for each grid column it covers.
            if id(cell._tc) not in seen:
                seen.add(id(cell._tc))
                cells.append(" ".join(cell.text.split()))
        if any(cells):
            yield " | ".join(cells)
