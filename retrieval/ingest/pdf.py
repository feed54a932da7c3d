"""PDF through pdfium, with page numbers; scans through Tesseract (`ocr`).

pdfium is not thread-safe: one process reads one file (`reader_process`).

Lines whose words stand in the same columns as those of the line above or below are rows of a table.
Headings are known by the file's bookmarks; where it has none, by their type (larger than the running text, or a bold
line that begins with a section's number), and where all of it is set alike, by how they read.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium_c

from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.headings import heading_level
from retrieval.ingest.limits import ParseLimits, check_length
from retrieval.ingest.ocr import ocr_languages, read_pictures
from retrieval.ingest.pdf_lines import document_lines

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
NOTHING_READ = worded("The PDF has no text, only images (a scan), and no words could be read in them.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_OUTLINE_DEPTH = 15
MAX_FONT_NAME = 200  # bytes
SAME_SIZE = 0.93  # of a heading's height: what is less is a level of its own
LARGER = 1.12  # of the running text's height: a heading
MAX_HEADING_CHARS = 120
MAX_HEADING_SHARE = 0.25  # of a file's lines; where more look like headings, type tells nothing

_HYPHEN_BREAK = re.compile("[\ufffe\x02\u00ad]")  # pdfium's mark for a hyphen at a line's end
_ENDS_HYPHENED = re.compile("[\ufffe\x02\u00ad]$")
_RAW_LINE = re.compile(r"[^\r\n]+")
_DIGITS = re.compile(r"\d+")
_BOLD = re.compile(r"bold|black|heavy", re.I)
_MADE_UP = re.compile(
    r"\.(?:docx?|pdf|tex|indd|dvi|pptx?|xlsx?|html?)$|^(?:untitled|无标题|無標題|未命名|Microsoft Word -|about:|https?://|file:)",
    re.I,
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S")
_BLANKS = re.compile(r"\s+")
# What stands before the text of a list's entry: a bullet, "1.", "2.3", "(a)", "iv."
_LABEL = re.compile(r"\W{0,3}(?:\d{1,3}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivx]{1,5})?\W{0,2}")
_SENTENCE_END = tuple("。！？；：.!?;:”」』）)")
_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WIDE_END = re.compile(f"[{_WIDE}]$")
_WIDE_START = re.compile(f"^[{_WIDE}]")
REPEATED_SHARE = 0.6  # a first or last line on this share of the pages is a running header or footer
MIN_PAGES_FOR_HEADERS = 4
CELL_JOIN = " | "
CELL_GAP = 1.2  # of a line's height, between two words: they stand in different cells
SAME_BASELINE = 0.5  # of a line's height
ALIGNED = 3.0  # points that the sides or middles of one column's cells may lie apart
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
        if not any(pages):
            return _scanned(document)
        outline = _outline(document)
        pages = _without_running_lines(pages)
        headings = _headings_by_type(pages) if not outline else {}
        blocks = tuple(
            block for page, lines in enumerate(pages, 1) for block in _page_blocks(lines, page, outline, headings)
        )
        lines = document_lines(document, blocks)
        return ParsedDocument(blocks=blocks, title=_title(document), page_count=count, pages=lines)


def _scanned(document: pypdfium2.PdfDocument) -> ParsedDocument:
    """By Tesseract where it is installed. Raises DocumentUnreadableError."""
    languages = ocr_languages()
    if not languages:
        raise DocumentUnreadableError(SCANNED)
    blocks, lines = read_pictures(document, languages)
    if not blocks:
        raise DocumentUnreadableError(NOTHING_READ)
    return ParsedDocument(blocks=blocks, title=_title(document), page_count=len(document), pages=lines)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A part of a line that stands far from the others. left, right: in points."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text with its type. height: of its characters with ascender and descender, in points; 0: not known.
    cells: its parts that stand far from each other; of several it may be a table's row."""

    text: str
    height: float = 0.0
    bold: bool = False
    cells: tuple[_Cell, ...] = ()


def _page_lines(document: pypdfium2.PdfDocument, limits: ParseLimits) -> list[list[_Line]]:
    """Each page's lines. A broken page is empty; if all are, the document is reported as such."""
    pages: list[list[_Line]] = []
    chars = failures = 0
    for number in range(len(document)):
        try:
            page = document[number]
            textpage = page.get_textpage()
            lines = list(_lines_of(textpage))
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            failures += 1
            lines = []
        chars += sum(len(line.text) for line in lines)
        check_length(chars, limits)
        pages.append(lines)
    if failures == len(pages):
        raise DocumentUnreadableError(BROKEN)
    return pages


def _lines_of(textpage: pypdfium2.PdfTextPage) -> Iterator[_Line]:
    """The page's lines that are not blank; a word that a hyphen parted is whole again, in the first of its lines."""
    words, first = "", None
    for match in _RAW_LINE.finditer(textpage.get_text_range()):
        words += _HYPHEN_BREAK.sub("", clean_text(match[0]))
        first = match if first is None or not words.strip() else first
        if not _ENDS_HYPHENED.search(match[0]):
            if words.strip():
                height, bold = _type_of(textpage, first.start() + len(first[0]) - len(first[0].lstrip()))
                yield _Line(words.strip(), height, bold, _cells(textpage, match) if first is match else ())
            words, first = "", None
    if words.strip():
        yield _Line(words.strip())


def _cells(textpage: pypdfium2.PdfTextPage, line: re.Match[str]) -> tuple[_Cell, ...]:
    """In their order; none where the page does not tell."""
    text, begin = line[0], len(line[0]) - len(line[0].lstrip())
    starts: list[tuple[int, float]] = []  # of each cell: place in the line, left side
    ends: list[tuple[int, float]] = []
    for blanks in _BLANKS.finditer(text, begin, len(text.rstrip())):
        before, after = (_box(textpage, line.start() + at) for at in (blanks.start() - 1, blanks.end()))
        if before is None or after is None:
            continue
        height = before.top - before.bottom
        if after.left - before.right > CELL_GAP * height > 0 and (
            abs(after.bottom - before.bottom) < SAME_BASELINE * height
        ):
            starts.append((blanks.end(), after.left))
            ends.append((blanks.start(), before.right))
    first, last = _box(textpage, line.start() + begin), _box(textpage, line.start() + len(text.rstrip()) - 1)
    if first is None or last is None:
        return ()
    starts.insert(0, (begin, first.left))
    ends.append((len(text.rstrip()), last.right))
    cells = tuple(
        _Cell(" ".join(_HYPHEN_BREAK.sub("", clean_text(text[start:end])).split()), left, right)
        for (start, left), (end, right) in zip(starts, ends, strict=True)
    )
    return () if _is_entry(cells) else cells


def _is_entry(cells: Sequence[_Cell]) -> bool:
    """Whether it is an entry of a list, with its label set apart."""
    return len(cells) == 2 and bool(_LABEL.fullmatch(cells[0].text))


def _box(textpage: pypdfium2.PdfTextPage, place: int) -> pdfium_c.FS_RECTF | None:
    """Of the character at this place of the page's text, with ascender and descender."""
    at = pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage, place)
    box = pdfium_c.FS_RECTF()
    return box if at >= 0 and pdfium_c.FPDFText_GetLooseCharBox(textpage, at, box) else None


def _type_of(textpage: pypdfium2.PdfTextPage, place: int) -> tuple[float, bool]:
    """Height in points (0: not known) and boldness of the character at this place of the page's text."""
    at = pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage, place)
    box = pdfium_c.FS_RECTF()
    if at < 0 or not pdfium_c.FPDFText_GetLooseCharBox(textpage, at, box):
        return 0.0, False
    name = ctypes.create_string_buffer(MAX_FONT_NAME)
    length = pdfium_c.FPDFText_GetFontInfo(textpage, at, name, MAX_FONT_NAME, ctypes.c_int())
    bold = bool(_BOLD.search(name.raw[: min(length, MAX_FONT_NAME)].decode("utf-8", "replace")))
    return max(0.0, box.top - box.bottom), bold


def _title(document: pypdfium2.PdfDocument) -> str:
    """The title in the file's properties, unless it is a name that a program made up."""
    title = document.get_metadata_value("Title").strip()
    return "" if _MADE_UP.search(title) else title[:300]


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


def _without_running_lines(pages: list[list[_Line]]) -> list[list[_Line]]:
    """Without headers and footers that repeat from page to page, page numbers included."""
    filled = [lines for lines in pages if lines]
    if len(filled) < MIN_PAGES_FOR_HEADERS:
        return pages
    seen: Counter[str] = Counter()
    for lines in filled:
        seen.update({_DIGITS.sub("#", line.text) for line in (lines[0], lines[-1])})
    running = {line for line, times in seen.items() if times >= REPEATED_SHARE * len(filled) and len(line) < 150}
    cleaned: list[list[_Line]] = []
    for lines in pages:
        start = 1 if lines and _DIGITS.sub("#", lines[0].text) in running else 0
        end = len(lines) - (1 if len(lines) > start and _DIGITS.sub("#", lines[-1].text) in running else 0)
        cleaned.append(lines[start:end])
    return cleaned


# ------------------------------------------------------------------------------------------------ headings
def _headings_by_type(pages: Sequence[Sequence[_Line]]) -> dict[_Line, int]:
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


def _is_set_as_heading(line: _Line, body: float) -> bool:
    if len(line.text) > MAX_HEADING_CHARS or line.text.endswith(_SENTENCE_END) or not any(map(str.isalpha, line.text)):
        return False
    return line.height > body * LARGER or (line.bold and bool(_NUMBERED.match(line.text)))


def _level(line: _Line, sizes: Sequence[float], above: int) -> int:
    if match := _NUMBERED.match(line.text):
        return min(6, match[1].count(".") + 1 + above)
    return min(6, sum(line.height < size * SAME_SIZE for size in sizes) + 1)


def _page_blocks(
    lines: Sequence[_Line], page: int, outline: dict[int, dict[str, int]], by_type: dict[_Line, int]
) -> Iterator[Block]:
    """The page's headings and tables; what lies between is one block of joined lines."""
    titles = outline.get(page, {})
    rows = _rows(lines)
    width = max((_width(line.text) for at, line in enumerate(lines) if at not in rows), default=0)
    text: list[str] = []
    table: list[list[str]] = []
    for at, line in enumerate(lines):
        if at in rows:
            level = 0
        elif outline:  # bookmarks decide; guessing would only add noise to them
            level = titles.get(_plain(line.text), 0)
        else:
            level = by_type.get(line, 0) if by_type else heading_level(line.text)
        if text and (level or at in rows):
            yield from _text_block(text, page, width)
            text = []
        if table and at not in rows:
            yield _table_block(table, page)
            table = []
        if level:
            yield Block(text=line.text, kind="heading", level=level, label=line.text, page=page)
        elif at not in rows:
            text.append(line.text)
        elif (column := rows[at]) < 0:
            table.append([cell.text for cell in line.cells])
        else:
            cell = table[-1][column]
            table[-1][column] = (
                cell + ("" if _WIDE_END.search(cell) and _WIDE_START.match(line.text) else " ") + line.text
            )
    if table:
        yield _table_block(table, page)
    yield from _text_block(text, page, width)


def _rows(lines: Sequence[_Line]) -> dict[int, int]:
    """The lines that make up tables: -1 for a row, else the column whose cell of the row above goes on in the line.

    A table has three rows, or two that have two columns in common behind the first one.
    """
    rows: dict[int, int] = {}
    run: list[int] = []  # of the table at hand
    shared = 0
    for at, line in enumerate(lines):
        above = lines[run[-1]].cells if run else ()
        common = _shared_columns(above, line.cells)
        column = _goes_on(above, line.cells) if run else -1
        if common or (column > 0 and at - 1 in rows):
            shared = max(shared, common)
        else:
            _settle(rows, run, shared)
            run, shared = [], 0
        if len(line.cells) > 1:
            run.append(at)
            rows[at] = -1
        elif run:
            rows[at] = column
    _settle(rows, run, shared)
    return rows


def _settle(rows: dict[int, int], run: Sequence[int], shared: int) -> None:
    """Takes out again what is no table."""
    if run and len(run) < 3 and shared < 2:
        for at in [at for at in rows if at >= run[0]]:
            del rows[at]


def _goes_on(row: Sequence[_Cell], line: Sequence[_Cell]) -> int:
    """The column behind the first one below which the line's only part begins, or -1."""
    if len(line) != 1:
        return -1
    return next((at for at, cell in enumerate(row) if at and abs(cell.left - line[0].left) <= ALIGNED), -1)


def _table_block(rows: Sequence[Sequence[str]], page: int) -> Block:
    return Block(text="\n".join(CELL_JOIN.join(row) for row in rows), kind="table", page=page)


def _shared_columns(first: Sequence[_Cell], second: Sequence[_Cell]) -> int:
    """Columns behind the first one that both have: their left sides, right sides or middles are at one place."""
    return sum(any(_below_each_other(one, other) for other in second[1:]) for one in first[1:])


def _below_each_other(one: _Cell, other: _Cell) -> bool:
    left, right = one.left - other.left, one.right - other.right
    return min(abs(left), abs(right), abs(left + right) / 2) <= ALIGNED


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
