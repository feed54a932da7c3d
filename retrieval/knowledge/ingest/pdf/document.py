"""PDF through pdfium, with page numbers and the place of each word; pages that are scans through Tesseract (`ocr`).

pdfium is not thread-safe: one process reads one file (`reader`).

Headings are known by their type (larger than the running text, or a short bold line), and where all of it is set alike,
by how they read. Paragraphs are parted by the gaps between them and by their type. A table that goes on over a page's
end is a table on each page, with the head that it began with.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pypdfium2
from pypdfium2.raw import FORMTYPE_XFA_FULL, FS_RECTF

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.statements import HEAD_END, NAME_END
from retrieval.knowledge.ingest.blocks import (
    BLOCK_SEPARATOR,
    Block,
    Line,
    PageLines,
    ParsedDocument,
    Table,
    lines_of,
    table_block,
)
from retrieval.knowledge.ingest.images.ocr import RecognisedPage, ocr_languages, recognised_pages
from retrieval.knowledge.ingest.pdf.drawings import Drawings, page_drawings
from retrieval.knowledge.ingest.pdf.fields import TICKS, PageAnnotations, page_annotations, place_on_page, with_stamps
from retrieval.knowledge.ingest.pdf.layers import Layers
from retrieval.knowledge.ingest.pdf.tables import Columns, PageTable, page_layout
from retrieval.knowledge.ingest.pdf.text import PageText, Run, TextLine, joined, space_between, width_of
from retrieval.knowledge.ingest.tables import Row, tables_of
from retrieval.knowledge.ingest.text import heading_level
from retrieval.knowledge.ingest.unread import attachments, bounded, on_page, pictures, scanned_pages, unread

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
NOTHING_READ = worded("The PDF has no text, only images (a scan), and no words could be read in them.")
NO_TEXT = worded("The PDF shows no text.")
NO_PAGES = worded("The PDF has no pages.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
XFA_FORM = worded("a form (XFA) that few programs show")
PDFIUM_SUCCESS = 0  # what pdfium names as the reason why it does not open a document without pages
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_PAGES = 3_000
SCAN_SHARE = 0.25  # of a page without text, that a picture covers: a scan
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

_DIGITS = re.compile(r"[0-9]{1,18}")
_MADE_UP = re.compile(
    r"\.(?:docx?|pdf|tex|indd|dvi|pptx?|xlsx?|html?)$|^(?:untitled|无标题|無標題|未命名|Microsoft Word -|about:|https?://|file:)",
    re.I,
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S")
_ENTRY = re.compile(r"(?:[•◦▪‣●○■□☐☑·*–—-]|\d{1,3}[.)]|\(?[a-z][.)])\s")  # of a list
_NUMBERED_TITLE = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_a-z]")
_SENTENCE_END = tuple("。！？；：.!?;:”」』）)")


@dataclass(slots=True)
class _PageContent:
    """What was taken from a page. added: where text stands that is no content of the page (`PageText`). notes: shown
    beside the page. width, height: in points; 0 of a page that could not be read."""

    lines: list[TextLine] = field(default_factory=list)
    drawings: Drawings = field(default_factory=Drawings)
    added: list[FS_RECTF] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    width: float = 0.0
    height: float = 0.0

    @property
    def is_picture(self) -> bool:
        """Whether nothing but a picture is shown: a scan."""
        page = self.drawings.page
        area = page.width * page.height
        return not self.lines and any(
            picture.width * picture.height >= SCAN_SHARE * area for picture in self.drawings.pictures
        )


def parse_pdf(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError: protected, damaged, without pages, or without text."""
    with _opened(path) as document:
        count = len(document)
        if not count:
            raise DocumentUnreadableError(NO_PAGES)
        if count > MAX_PAGES:
            raise DocumentUnreadableError(
                worded("The PDF has more than {max_pages:,} pages; split it.", max_pages=MAX_PAGES)
            )
        document.init_forms()
        contents = _contents(document, Layers(path))
        scans = [number for number, content in enumerate(contents, 1) if content.is_picture]
        if not any(content.lines for content in contents):
            scans = [number for number, content in enumerate(contents, 1) if not content.lines and content.width]
        scanned = _scanned(document, scans, is_all=len(scans) == count)
        blocks, pages = _read(document, contents, scanned)
        if not blocks:
            raise DocumentUnreadableError(NOTHING_READ if scans else NO_TEXT)
        title = document.get_metadata_value("Title").strip()
        title = "" if _MADE_UP.search(title) else title[:MAX_TITLE_CHARS]
        return ParsedDocument(
            blocks=tuple(blocks),
            title=title,
            page_count=count,
            pages=tuple(pages),
            unread=bounded(_unread(document, contents, scanned)),
        )


def _opened(path: Path) -> pypdfium2.PdfDocument:
    """Raises DocumentUnreadableError."""
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == PDFIUM_PASSWORD:
            raise DocumentUnreadableError(PROTECTED) from error
        # pdfium refuses a document without pages, and names no reason.
        raise DocumentUnreadableError(NO_PAGES if code == PDFIUM_SUCCESS else BROKEN) from error


def _read(
    document: pypdfium2.PdfDocument, contents: Sequence[_PageContent], scanned: Mapping[int, RecognisedPage]
) -> tuple[list[Block], list[PageLines]]:
    """The text, and where it stands."""
    running = _running_lines([content.lines for content in contents])
    lines_by_page = [
        [line for line in content.lines if (number, line) not in running] for number, content in enumerate(contents, 1)
    ]
    by_type = _headings_by_type(lines_by_page)
    gap = _usual_gap(lines_by_page)
    joint = _TableJoint()
    blocks: list[Block] = []
    places: list[PageLines] = []
    for number, content in enumerate(contents, 1):
        if number in scanned:
            page = scanned[number]
            blocks += page.blocks
            places.append(PageLines(width=page.width, height=page.height, lines=page.lines))
            continue
        start = 0
        stand: list[Line] = []
        if content.lines:
            text = PageText(document[number - 1], content.added)
            lines = [text.with_pieces(line) for line in content.lines]
            layout = [
                item
                for item in page_layout(lines, content.drawings, goes_on=joint.columns)
                if isinstance(item, PageTable) or (number, item) not in running
            ]
            for block, run in _page_blocks(layout, number, gap, by_type, joint):
                blocks.append(block)
                stand += lines_of(text.words(start, run))
                start += len(run.text) + len(BLOCK_SEPARATOR)
            text.close()
            text.page.close()
        for note in content.notes:
            blocks.append(Block(text=note, kind="note", page=number))
        places.append(PageLines(width=content.width, height=content.height, lines=tuple(stand)))
    return blocks, places


def _scanned(document: pypdfium2.PdfDocument, numbers: Sequence[int], *, is_all: bool) -> dict[int, RecognisedPage]:
    """Pages that are pictures, by Tesseract where it is installed.

    Raises DocumentUnreadableError where nothing else can be read of the document.
    """
    if not numbers:
        return {}
    languages = ocr_languages()
    if not languages:
        if is_all:
            raise DocumentUnreadableError(SCANNED)
        return {}
    return recognised_pages(document, numbers, languages, is_all=is_all)


def _contents(document: pypdfium2.PdfDocument, layers: Layers) -> list[_PageContent]:
    """A broken page is empty; if all are, the document is reported as such."""
    contents: list[_PageContent] = []
    failures = 0
    for number in range(len(document)):
        content = _PageContent()
        try:
            page = document[number]
            content.width, content.height = page.get_size()
            annotations = page_annotations(page)
            if annotations.has_stamps:
                page = with_stamps(page, number)
            text = PageText(page)
            content.drawings = page_drawings(page, layers)
            content.lines = text.lines(content.drawings)
            _add_annotations(content, annotations, text)
            text.close()
            page.close()
        except pypdfium2.PdfiumError:
            content.width = content.height = 0.0
            failures += 1
        contents.append(content)
    if failures == len(contents):
        raise DocumentUnreadableError(BROKEN)
    return contents


def _add_annotations(content: _PageContent, annotations: PageAnnotations, text: PageText) -> None:
    """Values and texts on the page go beside what stands there; notes come after it."""
    content.files = annotations.files
    for annotation in annotations.read:
        if annotation.is_note:
            content.notes.append(annotation.text)
        else:
            place_on_page(content.lines, annotation, text)
    content.added = text.added


def _unread(
    document: pypdfium2.PdfDocument, contents: Sequence[_PageContent], scanned: Mapping[int, RecognisedPage]
) -> Iterator[Sentence]:
    for number, content in enumerate(contents, 1):
        page = scanned.get(number)
        if not content.width or (page is None and content.is_picture) or (page is not None and page.failed):
            yield unread(scanned_pages(1), on_page(number))
        elif page is not None and not page.blocks:
            yield unread(pictures(1), on_page(number))
        if content.files:
            yield unread(attachments(content.files), on_page(number))
    if document.get_formtype() == FORMTYPE_XFA_FULL:
        yield XFA_FORM
    if files := document.count_attachments():
        yield unread(attachments(files))


def _running_lines(pages: Sequence[Sequence[TextLine]]) -> set[tuple[int, TextLine]]:
    """Headers and footers that repeat from page to page, page numbers included: with their pages, from 1.

    A table's head that does so is none.
    """
    filled = [number for number, lines in enumerate(pages, 1) if lines]
    if len(filled) < MIN_PAGES_FOR_HEADERS:
        return set()
    ends = [(number, line) for number in filled for line in {pages[number - 1][0], pages[number - 1][-1]}]
    return _running(ends, REPEATED_SHARE * len(filled))


def _running(ends: Sequence[tuple[int, TextLine]], least: float) -> set[tuple[int, TextLine]]:
    """First and last lines, with their pages, that are the same on so many pages but for numbers that count pages; the
    first one of those that are wholly the same is text of its page.

    A number that changes in another way is content, like that of a table's last row on each page.
    """
    groups: dict[str, list[tuple[int, TextLine]]] = {}
    for page, line in ends:
        if len(line.text) < MAX_RUNNING_CHARS:
            groups.setdefault(_DIGITS.sub("#", line.text), []).append((page, line))
    running: set[tuple[int, TextLine]] = set()
    for group in groups.values():
        if len(group) < least:
            continue
        numbers = [tuple(int(number) for number in _DIGITS.findall(line.text)) for _, line in group]
        is_same = [True] * len(group)
        for column in zip(*numbers, strict=True):
            told = Counter(column)
            counted = Counter(number - page for number, (page, _) in zip(column, group, strict=True))
            value, times = told.most_common(1)[0]
            step, steps = counted.most_common(1)[0]
            for at, (number, (page, _)) in enumerate(zip(column, group, strict=True)):
                is_same[at] &= number == value if times >= steps else number - page == step
        if sum(is_same) >= least:
            repeated = [end for end, same in zip(group, is_same, strict=True) if same]
            has_words = any(map(str.isalpha, repeated[0][1].text))
            running.update(repeated[1:] if has_words and len(set(numbers)) == 1 else repeated)
    return running


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
    if (
        line.turn
        or len(line.text) > MAX_HEADING_CHARS
        or line.text.endswith(_SENTENCE_END)
        or not any(map(str.isalpha, line.text))
    ):
        return False
    is_short = len(line.text) <= MAX_BOLD_CHARS or _NUMBERED.match(line.text) is not None
    return line.height > body * LARGER or (line.is_bold and is_short)


def _level(line: TextLine, sizes: Sequence[float], above: int) -> int:
    if match := _NUMBERED.match(line.text):
        return min(6, match[1].count(".") + 1 + above)
    return min(6, sum(line.height < size * SAME_SIZE for size in sizes) + 1)


# ------------------------------------------------------------------------------------------------ blocks
def _page_blocks(
    layout: Sequence[TextLine | PageTable], page: int, gap: float, by_type: Mapping[TextLine, int], joint: _TableJoint
) -> Iterator[tuple[Block, Run]]:
    """The page's headings, tables and paragraphs. gap: the usual one between lines."""
    texts = [item.text for item in layout if isinstance(item, TextLine)]
    width = max(map(width_of, texts), default=0)
    for is_table, group in itertools.groupby(layout, key=lambda item: isinstance(item, PageTable)):
        if is_table:
            for table in group:
                yield from joint.blocks(cast("PageTable", table), page)
            continue
        joint.end()
        yield from _text_blocks(cast("list[TextLine]", list(group)), page, gap, by_type, width)


def _text_blocks(
    lines: Sequence[TextLine], page: int, gap: float, by_type: Mapping[TextLine, int], width: int
) -> Iterator[tuple[Block, Run]]:
    text: list[TextLine] = []
    for at, line in enumerate(lines):
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


class _TableJoint:
    """Makes blocks of tables, and gives one that goes on over a page's end the head that it began with."""

    def __init__(self) -> None:
        self.columns: Columns | None = None  # of the table that the page ends with so far
        self._head: list[tuple[str, ...]] = []

    def end(self) -> None:
        """Something else follows."""
        self.columns = None
        self._head = []

    def blocks(self, table: PageTable, page: int) -> Iterator[tuple[Block, Run]]:
        """With the runs of their texts."""
        rows = [
            Row(tuple(_one_line(run.text) for run in row.cells), is_head=row.is_head, is_section=row.is_section)
            for row in table.rows
        ]
        if self.columns and self._head and table.goes_on_from(self.columns):
            rows = self._with_head(rows)
        cells = _Cells([row.cells for row in table.rows])
        if (form := _form(rows)) is not None:
            self.end()
            text = form.text.replace(HEAD_END, " ")
            yield Block(text=text, page=page), cells.run_of(form, text)
            return
        tables = tables_of(rows, expects_head=False)
        self.columns = table.columns
        self._head = list(tables[-1].rows[: tables[-1].head_rows]) if tables else []
        for part in tables:
            block = table_block(part, page=page)
            yield block, cells.run_of(part, block.text)

    def _with_head(self, rows: list[Row]) -> list[Row]:
        """rows: of a table that goes on, which may repeat the head."""
        count = len(self._head)
        if [row.cells for row in rows[:count]] == self._head:
            return [*(row._replace(is_head=True) for row in rows[:count]), *rows[count:]]
        head = [Row(cells, is_head=True) for cells in self._head]
        return [*head, *(row._replace(is_head=False) for row in rows)]


class _Cells:
    """Where the cells of a page's table stand in the texts that are made of it."""

    def __init__(self, rows: Sequence[Sequence[Run]]) -> None:
        self._rows = rows
        self._texts = [tuple(_one_line(run.text) for run in row) for row in rows]
        self._next = 0

    def run_of(self, table: Table, text: str) -> Run:
        """The places of what is written in the rows; names of columns that are repeated have none."""
        places = [-1] * len(text)
        columns = table.columns
        at = 0
        for number, cells in enumerate(table.rows):
            is_head = number < table.head_rows
            at = 0 if is_head else at
            runs = self._row(cells)
            for column, cell in enumerate(cells):
                if not cell:
                    continue
                name = columns[column] if columns and not is_head else ""
                sought = f"{name}{NAME_END}{cell}" if name else cell
                found = text.find(sought, at)
                if found < 0:
                    continue
                end = found + len(sought)
                if runs is not None and len(runs[column].text) == len(cell):
                    places[end - len(cell) : end] = runs[column].places
                at = found if is_head else end
        return Run(text, tuple(places))

    def _row(self, cells: tuple[str, ...]) -> Sequence[Run] | None:
        """The next of the page's rows that holds these cells, some empty ones around them left out."""
        order = itertools.chain(range(self._next, len(self._rows)), range(self._next))
        for at in order:
            texts = self._texts[at]
            for shift in range(len(texts) - len(cells) + 1):
                if texts[shift : shift + len(cells)] == cells:
                    self._next = at + 1
                    return self._rows[at][shift : shift + len(cells)]
        return None


def _form(rows: Sequence[Row]) -> Table | None:
    """Labels with their values, which are lines of a text; None for a table."""
    labels = [row.cells[0] for row in rows if all(row.cells)]
    if len(rows[0].cells) != 2 or any(row.is_head for row in rows) or not labels:
        return None
    is_form = all(label.endswith((":", "：", *TICKS)) for label in labels)
    return Table(rows=tuple(row.cells for row in rows)) if is_form else None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _usual_gap(pages: Sequence[Sequence[TextLine]]) -> float:
    """Between two lines of a paragraph: few are nearer to each other; those of two columns lie beside each other."""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, pages))
    gaps = sorted(gap for first, second in pairs if (gap := first.bottom - second.top) > -first.height)
    return gaps[len(gaps) // 4] if gaps else 0.0


def _is_apart(first: TextLine, second: TextLine, gap: float) -> bool:
    """In other type, or further from each other than lines of one paragraph."""
    smaller, larger = sorted((first.height, second.height))
    is_other = smaller < larger * SAME_SIZE or first.is_bold != second.is_bold or first.turn != second.turn
    return is_other or first.bottom - second.top > gap + SET_APART * first.height


def _level_by_number(lines: Sequence[TextLine], at: int, width: int) -> int:
    """Of a short line with a number before its words ("3 Claims") where those beside it, as in a list, have none."""
    line = lines[at].text
    beside = [*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2]]
    match = _NUMBERED_TITLE.match(line)
    if match is None or line.endswith(_SENTENCE_END) or width_of(line) >= FULL_LINE_SHARE * width:
        return 0
    return 0 if any(_NUMBERED.match(other.text) for other in beside) else min(6, match[1].count(".") + 2)


def _paragraph(lines: Sequence[TextLine], page: int, width: int) -> tuple[Block, Run]:
    """Lines that the page's width broke are joined, so that no word is torn; short lines stay lines."""
    parts: list[Run | str] = [lines[0].run]
    for previous, line in itertools.pairwise(lines):
        is_whole = (
            previous.text.endswith(_SENTENCE_END)
            or width_of(previous.text) < FULL_LINE_SHARE * width
            or _ENTRY.match(line.text)
        )
        parts += ["\n" if is_whole else space_between(previous.text, line.text), line.run]
    run = joined(parts)
    return Block(text=run.text, page=page), run
