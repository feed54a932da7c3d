"""PDF through pdfium, with page numbers and the place of each word; scans through Tesseract (`ocr`).

pdfium is not thread-safe: one process reads one file (`reader_process`).

Headings are known by the file's bookmarks; where it has none, by their type (larger than the running text, or a bold
line that begins with a section's number), and where all of it is set alike, by how they read.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pypdfium2

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import BLOCK_SEPARATOR, Block, Line, PageLines, ParsedDocument, lines_of
from retrieval.ingest.headings import heading_level
from retrieval.ingest.limits import ParseLimits, check_length, check_pages
from retrieval.ingest.ocr import ocr_languages, read_pictures
from retrieval.ingest.pdf_text import ROW, WIDE, Run, TextLine, joined, table_rows, text_lines, words

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
NOTHING_READ = worded("The PDF has no text, only images (a scan), and no words could be read in them.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_OUTLINE_DEPTH = 15
SAME_SIZE = 0.93  # of a heading's height: what is less is a level of its own
LARGER = 1.12  # of the running text's height: a heading
MAX_HEADING_CHARS = 120
MAX_HEADING_SHARE = 0.25  # of a file's lines; where more look like headings, type tells nothing
REPEATED_SHARE = 0.6  # a first or last line on this share of the pages is a running header or footer
MIN_PAGES_FOR_HEADERS = 4
MAX_RUNNING_CHARS = 150
FULL_LINE_SHARE = 0.7  # a line this long, of the page's longest, goes on in the next one
MAX_TITLE_CHARS = 300

_DIGITS = re.compile(r"\d+")
_MADE_UP = re.compile(
    r"\.(?:docx?|pdf|tex|indd|dvi|pptx?|xlsx?|html?)$|^(?:untitled|无标题|無標題|未命名|Microsoft Word -|about:|https?://|file:)",
    re.I,
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S")
_SENTENCE_END = tuple("。！？；：.!?;:”」』）)")
_WIDE_END, _WIDE_START = re.compile(f"[{WIDE}]$"), re.compile(f"^[{WIDE}]")


def parse_pdf(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises DocumentUnreadableError: protected, damaged, or without a text layer."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        protected = getattr(error, "err_code", None) == PDFIUM_PASSWORD
        raise DocumentUnreadableError(PROTECTED if protected else BROKEN) from error
    with document:
        check_pages(len(document), limits)
        lines = _lines_of_pages(document, limits)
        blocks, pages = _read(document, _without_running_lines(lines)) if any(lines) else _scanned(document)
        title = document.get_metadata_value("Title").strip()
        title = "" if _MADE_UP.search(title) else title[:MAX_TITLE_CHARS]
        return ParsedDocument(blocks=blocks, title=title, page_count=len(document), pages=pages)


def _read(
    document: pypdfium2.PdfDocument, pages: Sequence[Sequence[TextLine]]
) -> tuple[tuple[Block, ...], tuple[PageLines, ...]]:
    """The text, and where it stands."""
    outline = _outline(document)
    by_type = {} if outline else _headings_by_type(pages)
    blocks: list[Block] = []
    places: list[PageLines] = []
    start = 0
    for number, lines in enumerate(pages, 1):
        try:
            page = document[number - 1]
            (width, height), textpage = page.get_size(), page.get_textpage()
        except pypdfium2.PdfiumError:  # a broken page is empty
            places.append(PageLines(width=0.0, height=0.0))
            continue
        stand: list[Line] = []
        titles = outline.get(number, {}) if outline else None
        for block, run in _page_blocks(lines, number, titles, by_type):
            blocks.append(block)
            stand += lines_of(words(page, textpage, start, run))
            start += len(run.text) + len(BLOCK_SEPARATOR)
        places.append(PageLines(width=width, height=height, lines=tuple(stand)))
        textpage.close()
        page.close()
    return tuple(blocks), tuple(places)


def _scanned(document: pypdfium2.PdfDocument) -> tuple[tuple[Block, ...], tuple[PageLines, ...]]:
    """By Tesseract where it is installed. Raises DocumentUnreadableError."""
    languages = ocr_languages()
    if not languages:
        raise DocumentUnreadableError(SCANNED)
    blocks, pages = read_pictures(document, languages)
    if not blocks:
        raise DocumentUnreadableError(NOTHING_READ)
    return blocks, pages


def _lines_of_pages(document: pypdfium2.PdfDocument, limits: ParseLimits) -> list[list[TextLine]]:
    """A broken page is empty; if all are, the document is reported as such."""
    pages: list[list[TextLine]] = []
    chars = failures = 0
    for number in range(len(document)):
        lines: list[TextLine] = []
        try:
            page = document[number]
            textpage = page.get_textpage()
            lines = list(text_lines(textpage))
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            failures += 1
        chars += sum(len(line.text) for line in lines)
        check_length(chars, limits)
        pages.append(lines)
    if failures == len(pages):
        raise DocumentUnreadableError(BROKEN)
    return pages


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


def _without_running_lines(pages: Sequence[Sequence[TextLine]]) -> Sequence[Sequence[TextLine]]:
    """Without headers and footers that repeat from page to page, page numbers included."""
    filled = [lines for lines in pages if lines]
    if len(filled) < MIN_PAGES_FOR_HEADERS:
        return pages
    seen = Counter(text for lines in filled for text in {_same(lines[0]), _same(lines[-1])})
    running = {
        text for text, times in seen.items()
        if times >= REPEATED_SHARE * len(filled) and len(text) < MAX_RUNNING_CHARS
    }  # fmt: skip
    cleaned = []
    for lines in pages:
        kept = lines[1:] if lines and _same(lines[0]) in running else lines
        cleaned.append(kept[:-1] if kept and _same(kept[-1]) in running else kept)
    return cleaned


def _same(line: TextLine) -> str:
    return _DIGITS.sub("#", line.text)


# ------------------------------------------------------------------------------------------------ headings
def _headings_by_type(pages: Sequence[Sequence[TextLine]]) -> dict[TextLine, int]:
    """Line → level 1–6; empty where the whole file is set alike, or type marks too much to mean headings.

    A numbered one has the level of its number ("2.1" is below "2"), whatever its size; the others follow their heights.
    """
    heights: Counter[float] = Counter()
    for line in itertools.chain.from_iterable(pages):
        heights[round(line.height, 1)] += len(line.text)
    body = max(heights, key=heights.__getitem__, default=0.0)
    lines = [line for line in itertools.chain.from_iterable(pages) if _is_set_as_heading(line, body)]
    if not body or len(lines) > MAX_HEADING_SHARE * sum(map(len, pages)):
        return {}
    sizes: list[float] = []
    for size in sorted({line.height for line in lines if not _NUMBERED.match(line.text)}, reverse=True):
        if not sizes or size < sizes[-1] * SAME_SIZE:
            sizes.append(size)
    above = int(any(size > body * LARGER for size in sizes))  # a title, whose sections begin one level below it
    return {line: _level(line, sizes, above) for line in lines}


def _is_set_as_heading(line: TextLine, body: float) -> bool:
    if len(line.text) > MAX_HEADING_CHARS or line.text.endswith(_SENTENCE_END) or not any(map(str.isalpha, line.text)):
        return False
    return line.height > body * LARGER or (line.is_bold and bool(_NUMBERED.match(line.text)))


def _level(line: TextLine, sizes: Sequence[float], above: int) -> int:
    if match := _NUMBERED.match(line.text):
        return min(6, match[1].count(".") + 1 + above)
    return min(6, sum(line.height < size * SAME_SIZE for size in sizes) + 1)


# ------------------------------------------------------------------------------------------------ blocks
def _page_blocks(
    lines: Sequence[TextLine], page: int, titles: Mapping[str, int] | None, by_type: Mapping[TextLine, int]
) -> Iterator[tuple[Block, Run]]:
    """The page's headings and tables; what lies between is one block of joined lines. titles: of the bookmarks."""
    rows = table_rows(lines)
    width = max((_width(line.text) for at, line in enumerate(lines) if at not in rows), default=0)
    for in_table, group in itertools.groupby(range(len(lines)), key=lambda at: at in rows):
        if in_table:
            run = _table([(lines[at], rows[at]) for at in group])
            yield Block(text=run.text, kind="table", page=page), run
            continue
        text: list[TextLine] = []
        for line in (lines[at] for at in group):
            if titles is not None:  # bookmarks decide; guessing would only add noise to them
                level = titles.get(_plain(line.text), 0)
            else:
                level = by_type.get(line, 0) if by_type else heading_level(line.text)
            if not level:
                text.append(line)
                continue
            yield from _paragraph(text, page, width)
            text = []
            yield Block(text=line.text, kind="heading", level=level, label=line.text, page=page), line.run
        yield from _paragraph(text, page, width)


def _table(lines: Sequence[tuple[TextLine, int]]) -> Run:
    """A row a line; each line with what `table_rows` says of it."""
    rows: list[list[Run]] = []
    for line, column in lines:
        if column == ROW:
            rows.append([cell.run for cell in line.cells])
        else:
            cell = rows[-1][column]
            rows[-1][column] = joined([cell, _space_between(cell.text, line.text), line.run])
    cells = [
        part for row in rows for at, cell in enumerate(row) for part in (" | " if at else "\n", cell)
    ]  # fmt: skip
    return joined(cells[1:])


def _paragraph(lines: Sequence[TextLine], page: int, width: int) -> Iterator[tuple[Block, Run]]:
    """Lines that the page's width broke are joined, so that no word is torn; short lines stay lines."""
    if not lines:
        return
    parts: list[Run | str] = [lines[0].run]
    for previous, line in itertools.pairwise(lines):
        is_whole = previous.text.endswith(_SENTENCE_END) or _width(previous.text) < FULL_LINE_SHARE * width
        parts += ["\n" if is_whole else _space_between(previous.text, line.text), line.run]
    run = joined(parts)
    yield Block(text=run.text, page=page), run


def _space_between(first: str, second: str) -> str:
    return "" if _WIDE_END.search(first) and _WIDE_START.match(second) else " "


def _width(line: str) -> int:
    return sum(2 if _WIDE_START.match(character) else 1 for character in line)
