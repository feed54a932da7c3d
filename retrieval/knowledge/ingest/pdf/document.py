"""PDF through pdfium, with page numbers and the place of each word; pages that are scans through Tesseract (`ocr`).

pdfium is not thread-safe: one process reads one file (`reader`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pypdfium2
from pypdfium2.raw import FORMTYPE_XFA_FULL, FS_RECTF

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import (
    BLOCK_SEPARATOR,
    Block,
    Line,
    PageLines,
    ParsedDocument,
    lines_of,
)
from retrieval.knowledge.ingest.images.ocr import RecognisedPage, ocr_languages, recognised_pages
from retrieval.knowledge.ingest.pdf.drawings import Drawings, page_drawings
from retrieval.knowledge.ingest.pdf.fields import (
    PageAnnotations,
    page_annotations,
    place_on_page,
    with_stamps,
)
from retrieval.knowledge.ingest.pdf.headings import headings_by_type
from retrieval.knowledge.ingest.pdf.layers import Layers
from retrieval.knowledge.ingest.pdf.paragraphs import text_blocks, usual_gap
from retrieval.knowledge.ingest.pdf.rows import PageTable
from retrieval.knowledge.ingest.pdf.running_lines import running_lines
from retrieval.knowledge.ingest.pdf.runs import TextLine, TextRun, width_of
from retrieval.knowledge.ingest.pdf.stacked import stacked_letters
from retrieval.knowledge.ingest.pdf.table_blocks import TableJoint
from retrieval.knowledge.ingest.pdf.tables import page_layout
from retrieval.knowledge.ingest.pdf.text import PageText
from retrieval.knowledge.ingest.unread import (
    attachments,
    bounded,
    on_page,
    pictures,
    scanned_pages,
    unread,
)

SCANNED = worded("The PDF has no text, only images (a scan); run it through OCR first.")
NOTHING_READ = worded(
    "The PDF has no text, only images (a scan), and no words could be read in them."
)
NO_TEXT = worded("The PDF shows no text.")
NO_PAGES = worded("The PDF has no pages.")
PROTECTED = worded("The PDF is protected by a password; save it without one.")
BROKEN = worded("The PDF is damaged and cannot be opened; save or download it again.")
LAYERS = worded("its layers, so that text of hidden ones may be searched")
XFA_FORM = worded("a form (XFA) that few programs show")
PDFIUM_SUCCESS = 0  # what pdfium names as the reason why it does not open a document without pages
PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_PAGES = 3_000
SCAN_SHARE = 0.25  # of a page without text, that a picture covers: a scan
MAX_TITLE_CHARS = 300
_MADE_UP = re.compile(
    r"\.(?:docx?|pdf|tex|indd|dvi|pptx?|xlsx?|html?)$|^(?:untitled|无标题|無標題|未命名|Microsoft Word -|about:|https?://|file:)",
    re.I,
)


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
            picture.width * picture.height >= SCAN_SHARE * area
            for picture in self.drawings.pictures
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
        layers = Layers(path)
        contents = _contents(document, layers)
        scans = [number for number, content in enumerate(contents, 1) if content.is_picture]
        if not any(content.lines for content in contents):
            scans = [
                number
                for number, content in enumerate(contents, 1)
                if not content.lines and content.width
            ]
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
            unread=bounded(_unread(document, contents, scanned, layers)),
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
    document: pypdfium2.PdfDocument,
    contents: Sequence[_PageContent],
    scanned: Mapping[int, RecognisedPage],
) -> tuple[list[Block], list[PageLines]]:
    """The text, and where it stands."""
    running = running_lines([content.lines for content in contents])
    lines_by_page = [
        [line for line in content.lines if (number, line) not in running]
        for number, content in enumerate(contents, 1)
    ]
    by_type = headings_by_type(lines_by_page)
    gap = usual_gap(lines_by_page)
    joint = TableJoint()
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


def _scanned(
    document: pypdfium2.PdfDocument, numbers: Sequence[int], *, is_all: bool
) -> dict[int, RecognisedPage]:
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
            content.lines = stacked_letters(text.lines(content.drawings), text)
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
    document: pypdfium2.PdfDocument,
    contents: Sequence[_PageContent],
    scanned: Mapping[int, RecognisedPage],
    layers: Layers,
) -> Iterator[Sentence]:
    for number, content in enumerate(contents, 1):
        page = scanned.get(number)
        if (
            not content.width
            or (page is None and content.is_picture)
            or (page is not None and page.failed)
        ):
            yield unread(scanned_pages(1), on_page(number))
        elif page is not None and not page.blocks:
            yield unread(pictures(1), on_page(number))
        if content.files:
            yield unread(attachments(content.files), on_page(number))
    if document.get_formtype() == FORMTYPE_XFA_FULL:
        yield XFA_FORM
    if layers.is_unreadable:
        yield LAYERS
    if files := document.count_attachments():
        yield unread(attachments(files))


# ------------------------------------------------------------------------------------------------ blocks
def _page_blocks(
    layout: Sequence[TextLine | PageTable],
    page: int,
    gap: float,
    by_type: Mapping[TextLine, int],
    joint: TableJoint,
) -> Iterator[tuple[Block, TextRun]]:
    """The page's headings, tables and paragraphs. gap: the usual one between lines."""
    texts = [item.text for item in layout if isinstance(item, TextLine)]
    width = max(map(width_of, texts), default=0)
    for is_table, group in itertools.groupby(layout, key=lambda item: isinstance(item, PageTable)):
        if is_table:
            for table in group:
                yield from joint.blocks(cast("PageTable", table), page)
            continue
        joint.end()
        yield from text_blocks(cast("list[TextLine]", list(group)), page, gap, by_type, width)
