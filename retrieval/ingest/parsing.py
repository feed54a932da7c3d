"""One file in, its blocks out: checks what it really is, then hands it to the parser of its kind.

Hostile files can crash, hang or bloat every one of these parsers: on a site they run in a process of their own, with
limits (`retrieval.ingest.reader`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import ParsedDocument
from retrieval.ingest.docx import parse_docx
from retrieval.ingest.html import parse_html
from retrieval.ingest.limits import ParseLimits, check_archive, check_length
from retrieval.ingest.markdown import parse_markdown
from retrieval.ingest.pdf import parse_pdf
from retrieval.ingest.pptx import parse_pptx
from retrieval.ingest.sniff import FileKind, check_content
from retrieval.ingest.text import parse_csv, parse_text
from retrieval.ingest.xlsx import parse_xlsx

TEXT_PARSERS: dict[FileKind, Callable[[bytes], ParsedDocument]] = {
    "text": parse_text,
    "markdown": parse_markdown,
    "html": parse_html,
    "csv": parse_csv,
}


def parse_file(path: Path, *, kind: FileKind, limits: ParseLimits) -> ParsedDocument:
    """The document's blocks. Raises DocumentUnreadableError."""
    check_content(path, kind)
    document = _parse(path, kind, limits)
    if not any(block.text.strip() for block in document.blocks):
        raise DocumentUnreadableError("The file holds no text.")
    return document


def _parse(path: Path, kind: FileKind, limits: ParseLimits) -> ParsedDocument:
    if kind in TEXT_PARSERS:
        check_length(path.stat().st_size // 4, limits)
        document = TEXT_PARSERS[kind](path.read_bytes())
    elif kind == "pdf":
        return parse_pdf(path, limits)
    else:
        check_archive(path, limits)
        if kind == "pptx":
            return parse_pptx(path, limits)
        if kind == "xlsx":
            return parse_xlsx(path, limits)
        document = parse_docx(path)
    check_length(sum(len(block.text) for block in document.blocks), limits)
    return document
