"""PDF through pdfium, with page numbers. pdfium is not thread-safe: one process reads one file (`reader_process`)."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2

from ragsite.core.text import clean_text, unix_lines
from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.headings import heading_level
from retrieval.ingest.limits import ParseLimits, check_length

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_OUTLINE_DEPTH = 15

_HYPHEN_BREAK = re.compile("[\ufffe\x02\u00ad]\n?")  # pdfium's mark for a hyphen at a line's end
_DIGITS = re.compile(r"\d+")
_SENTENCE_END = tuple("。！？；：.!?;:”」』）)")
_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WIDE_END = re.compile(f"[{_WIDE}]$")
_WIDE_START = re.compile(f"^[{_WIDE}]")
REPEATED_SHARE = 0.6  # a first or last line on this share of the pages is a running header or footer
MIN_PAGES_FOR_HEADERS = 4
FULL_LINE_SHARE = 0.7  # a line this long, of the page's longest, goes on in the next one


def parse_pdf(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises DocumentUnreadableError: protected, damaged, or without a text layer."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        protected = getattr(error, "err_code", None) == PDFIUM_PASSWORD
        raise DocumentUnreadableError(PROTECTED if protected else BROKEN) from error
    with document:
        count = len(document)
        if count > limits.max_pages:
            raise DocumentUnreadableError(
                worded(
                    "The PDF has {count} pages, {max_pages} are the limit; split it.",
                    count=count,
                    max_pages=limits.max_pages,
                )
            )
        pages = _page_lines(document, limits)
        title = _title(document)
        outline = _outline(document)
    if not any(pages):
        raise DocumentUnreadableError(SCANNED)
    pages = _without_running_lines(pages)
    blocks = [block for page, lines in enumerate(pages, 1) for block in _page_blocks(lines, page, outline)]
    return ParsedDocument(blocks=tuple(blocks), title=title, page_count=count)


def _page_lines(document: pypdfium2.PdfDocument, limits: ParseLimits) -> list[list[str]]:
    """Each page's lines. A broken page is empty; if all are, the document is reported as such."""
    pages: list[list[str]] = []
    chars = failures = 0
    for number in range(len(document)):
        try:
            page = document[number]
            textpage = page.get_textpage()
            text = textpage.get_text_range()
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            failures += 1
            text = ""
        chars += len(text)
        check_length(chars, limits)
        text = _HYPHEN_BREAK.sub("", clean_text(unix_lines(text)))
        pages.append([line.strip() for line in text.split("\n") if line.strip()])
    if failures == len(pages):
        raise DocumentUnreadableError(BROKEN)
    return pages


def _title(document: pypdfium2.PdfDocument) -> str:
    """The title in the file's properties, unless it is a name that a program made up."""
    title = document.get_metadata_value("Title").strip()
    made_up = re.search(r"\.(docx?|pdf|tex|indd|dvi|pptx?|xlsx?)$|^untitled|^Microsoft Word -|^无标题", title, re.I)
    return "" if made_up else title[:300]


def _outline(document: pypdfium2.PdfDocument) -> dict[int, dict[str, int]]:
    """Page → {normalised title: level 1–6} of the bookmarks that have a page."""
    outline: dict[int, dict[str, int]] = {}
    try:
        for bookmark in document.get_toc(max_depth=MAX_OUTLINE_DEPTH):
            target = bookmark.get_dest()
            index = target.get_index() if target else None
            if index is not None:
                outline.setdefault(index + 1, {})[_plain(bookmark.get_title())] = min(6, bookmark.level + 1)
    except pypdfium2.PdfiumError:
        return {}
    return outline


def _plain(text: str) -> str:
    """For comparing a bookmark with a line: letters only, without the section's number."""
    return re.sub(r"^[\d.]+|\W+", "", re.sub(r"^\s*[\dIVX]+(\.\d+)*\.?\s+", "", text)).casefold()


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Without headers and footers that repeat from page to page, page numbers included."""
    filled = [lines for lines in pages if lines]
    if len(filled) < MIN_PAGES_FOR_HEADERS:
        return pages
    seen: Counter[str] = Counter()
    for lines in filled:
        seen.update({_DIGITS.sub("#", line) for line in (lines[0], lines[-1])})
    running = {line for line, times in seen.items() if times >= REPEATED_SHARE * len(filled) and len(line) < 150}
    cleaned: list[list[str]] = []
    for lines in pages:
        start = 1 if lines and _DIGITS.sub("#", lines[0]) in running else 0
        end = len(lines) - (1 if len(lines) > start and _DIGITS.sub("#", lines[-1]) in running else 0)
        cleaned.append(lines[start:end])
    return cleaned


def _page_blocks(lines: Sequence[str], page: int, outline: dict[int, dict[str, int]]) -> Iterator[Block]:
    """Headings by the bookmarks of this page, or by how they read; what lies between is one block of joined lines."""
    titles = outline.get(page, {})
    width = max((_width(line) for line in lines), default=0)
    text: list[str] = []
    for line in lines:
        # With bookmarks at hand, they decide; guessing would only add noise to them.
        level = titles.get(_plain(line), 0) if outline else heading_level(line)
        if level:
            yield from _text_block(text, page, width)
            text = []
            yield Block(text=line, kind="heading", level=level, label=line, page=page)
        else:
            text.append(line)
    yield from _text_block(text, page, width)


def _text_block(lines: Sequence[str], page: int, width: int) -> Iterator[Block]:
    if lines:
        yield Block(text=_join_lines(lines, width), page=page)


def _width(line: str) -> int:
    return sum(2 if _WIDE_START.match(character) else 1 for character in line)


def _join_lines(lines: Sequence[str], width: int) -> str:
    """Lines that the page's width broke are joined, so that no word is torn; short lines stay lines."""
    parts = [lines[0]]
    for previous, line in itertools.pairwise(lines):
        if previous.endswith(_SENTENCE_END) or _width(previous) < FULL_LINE_SHARE * width:
            parts.append("\n")
        elif not (_WIDE_END.search(previous) and _WIDE_START.search(line)):
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
