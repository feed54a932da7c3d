"""PDF through pdfium, with page numbers and the place of each word; scans through Tesseract (`ocr`).

pdfium is not thread-safe: one process reads one file (`reader`).

Headings are known by their type (larger than the running text, or a short bold line), and where all of it is set alike,
by how they read. Paragraphs are parted by the gaps between them and by their type.
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
from retrieval.ingest.ocr import ocr_languages, read_pictures
from retrieval.ingest.pdf_text import ROW, WIDE, Run, TextLine, joined, table_rows, text_lines, words
from retrieval.ingest.text import heading_level

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
NOTHING_READ = worded("The PDF has no text, only images (a scan), and no words could be read in them.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
SAME_SIZE = 0.93  # of a heading's height: what is less is a level of its own
LARGER = 1.12  # of the running text's height: a heading
MAX_HEADING_CHARS = 120
MAX_BOLD_CHARS = 60  # of a heading that is as large as the text: bold paragraphs have longer lines
MAX_HEADING_SHARE = 0.25  # of a file's characters; where more look like headings, type tells nothing
SET_APART = 0.35  # of a line's height, above the usual gap: a new paragraph
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
_NUMBERED_TITLE = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_a-z]")
_SENTENCE_END = tuple("。！？；：.!?;:”」』）)")
_WIDE_END, _WIDE_START = re.compile(f"[{WIDE}]$"), re.compile(f"^[{WIDE}]")


def parse_pdf(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError: protected, damaged, or without a text layer."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        protected = getattr(error, "err_code", None) == PDFIUM_PASSWORD
        raise DocumentUnreadableError(PROTECTED if protected else BROKEN) from error
    with document:
        lines = _lines_of_pages(document)
        blocks, pages = _read(document, _without_running_lines(lines)) if any(lines) else _scanned(document)
        title = document.get_metadata_value("Title").strip()
        title = "" if _MADE_UP.search(title) else title[:MAX_TITLE_CHARS]
        return ParsedDocument(blocks=blocks, title=title, page_count=len(document), pages=pages)


def _read(
    document: pypdfium2.PdfDocument, pages: Sequence[Sequence[TextLine]]
) -> tuple[tuple[Block, ...], tuple[PageLines, ...]]:
    """The text, and where it stands."""
    by_type = _headings_by_type(pages)
    gap = _usual_gap(pages)
    blocks: list[Block] = []
    places: list[PageLines] = []
    for number, lines in enumerate(pages, 1):
        try:
            page = document[number - 1]
            (width, height), textpage = page.get_size(), page.get_textpage()
        except pypdfium2.PdfiumError:
            places.append(PageLines(width=0.0, height=0.0))
            continue
        start = 0
        stand: list[Line] = []
        for block, run in _page_blocks(lines, number, gap, by_type):
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


def _lines_of_pages(document: pypdfium2.PdfDocument) -> list[list[TextLine]]:
    """A broken page is empty; if all are, the document is reported as such."""
    pages: list[list[TextLine]] = []
    failures = 0
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
        pages.append(lines)
    if failures == len(pages):
        raise DocumentUnreadableError(BROKEN)
    return pages


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
        body = lines[1:] if lines and _same(lines[0]) in running else lines
        cleaned.append(body[:-1] if body and _same(body[-1]) in running else body)
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
    if not body or sum(len(line.text) for line in lines) > MAX_HEADING_SHARE * heights.total():
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
    is_short = len(line.text) <= MAX_BOLD_CHARS or _NUMBERED.match(line.text) is not None
    return line.height > body * LARGER or (line.is_bold and is_short)


def _level(line: TextLine, sizes: Sequence[float], above: int) -> int:
    if match := _NUMBERED.match(line.text):
        return min(6, match[1].count(".") + 1 + above)
    return min(6, sum(line.height < size * SAME_SIZE for size in sizes) + 1)


# ------------------------------------------------------------------------------------------------ blocks
def _page_blocks(
    lines: Sequence[TextLine], page: int, gap: float, by_type: Mapping[TextLine, int]
) -> Iterator[tuple[Block, Run]]:
    """The page's headings, tables and paragraphs. gap: the usual one between lines."""
    rows = table_rows(lines)
    width = max((_width(line.text) for at, line in enumerate(lines) if at not in rows), default=0)
    for in_table, group in itertools.groupby(range(len(lines)), key=lambda at: at in rows):
        if in_table:
            run = _table([(lines[at], rows[at]) for at in group])
            yield Block(text=run.text, kind="table", page=page), run
            continue
        text: list[TextLine] = []
        for at in group:
            line = lines[at]
            if text and _is_apart(text[-1], line, gap):
                yield _paragraph(text, page, width)
                text = []
            level = by_type.get(line, 0) if by_type else heading_level(line.text)
            if not level and (not text or text[-1].text.endswith(_SENTENCE_END)):
                level = _level_by_number(lines, at, width)
            if not level:
                text.append(line)
                continue
            if text:
                yield _paragraph(text, page, width)
                text = []
            yield Block(text=line.text, kind="heading", level=level, label=line.text, page=page), line.run
        if text:
            yield _paragraph(text, page, width)


def _usual_gap(pages: Sequence[Sequence[TextLine]]) -> float:
    """Between two lines of a paragraph: few are nearer to each other; those of two columns lie beside each other."""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, pages))
    gaps = sorted(gap for first, second in pairs if (gap := first.bottom - second.top) > -first.height)
    return gaps[len(gaps) // 4] if gaps else 0.0


def _is_apart(first: TextLine, second: TextLine, gap: float) -> bool:
    """In other type, or further from each other than lines of one paragraph."""
    smaller, larger = sorted((first.height, second.height))
    is_other = smaller < larger * SAME_SIZE or first.is_bold != second.is_bold
    return is_other or first.bottom - second.top > gap + SET_APART * first.height


def _level_by_number(lines: Sequence[TextLine], at: int, width: int) -> int:
    """Of a short line with a number before its words ("3 Claims") where those beside it, as in a list, have none."""
    line, beside = lines[at].text, [*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2]]
    match = _NUMBERED_TITLE.match(line)
    if match is None or line.endswith(_SENTENCE_END) or _width(line) >= FULL_LINE_SHARE * width:
        return 0
    return 0 if any(_NUMBERED.match(other.text) for other in beside) else min(6, match[1].count(".") + 2)


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


def _paragraph(lines: Sequence[TextLine], page: int, width: int) -> tuple[Block, Run]:
    """Lines that the page's width broke are joined, so that no word is torn; short lines stay lines."""
    parts: list[Run | str] = [lines[0].run]
    for previous, line in itertools.pairwise(lines):
        is_whole = previous.text.endswith(_SENTENCE_END) or _width(previous.text) < FULL_LINE_SHARE * width
        parts += ["\n" if is_whole else _space_between(previous.text, line.text), line.run]
    run = joined(parts)
    return Block(text=run.text, page=page), run


def _space_between(first: str, second: str) -> str:
    return "" if _WIDE_END.search(first) and _WIDE_START.match(second) else " "


def _width(line: str) -> int:
    return sum(2 if _WIDE_START.match(character) else 1 for character in line)
