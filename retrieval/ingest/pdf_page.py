"""One page of a PDF for people to look at: its picture, and where on it a quoted text stands.

As `pdf`, it runs in a process of its own (`reader_process`): pdfium parses strangers' files and is not thread-safe.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image, ImageChops

from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.pdf import BROKEN
from retrieval.ingest.pdf_lines import on_page, page_letters, plain_letters

LEAST_MATCH = 12  # characters, without white space, of a quotation that goes over two pages: less is chance
MAX_PIXELS = 16_000_000  # of a picture: pages may be metres long
COMPRESSION = 3  # of PNG, 1–9: more costs three times as long for a tenth of the bytes
GRID = 100_000  # steps across a page, for places on it
MERGED_WITHIN = 0.5  # of a line's height: boxes that are nearer to each other on a line become one


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle as shares of the page, 0..1, from its top left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """page: from 1. width, height: of the page in points. boxes: where the quoted texts stand, line by line."""

    page: int
    page_count: int
    width: float
    height: float
    boxes: tuple[Box, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def page_view(path: Path, number: int, quotes: Sequence[str]) -> PageView:
    """Where these texts stand on a page; those that are not on it have no boxes. number: from 1.

    White space and hyphens at a line's end make no difference. Of a text that begins or ends on another page, the part
    on this one is found. Raises DocumentUnreadableError; LookupError where there is no such page.
    """
    with _opened(path) as document:
        page = _page(document, number)
        width, height = page.get_size()
        textpage = page.get_textpage()
        places = page_letters(textpage)
        text = "".join(letter for letter, _ in places)
        boxes: list[Box] = []
        for quote in quotes:
            if found := _found(text, plain_letters(quote)):
                begin, end = places[found[0]][1], places[found[1] - 1][1] + 1
                boxes += _boxes(page, textpage, begin, end)
        return PageView(page=number, page_count=len(document), width=width, height=height, boxes=tuple(boxes))


def page_picture(path: Path, number: int, width: int) -> bytes:
    """The page as PNG, `width` pixels wide. Raises as `page_view`."""
    with _opened(path) as document:
        page = _page(document, number)
        points, height = page.get_size()
        scale = min(width / points, (MAX_PIXELS / (points * height)) ** 0.5)
        picture = io.BytesIO()
        _without_unused_colours(page.render(scale=scale).to_pil()).save(picture, "PNG", compress_level=COMPRESSION)
        return picture.getvalue()


def warm_up() -> None:
    """Load what a picture needs, once for all children of the process that calls this."""
    Image.preinit()
    Image.new("L", (8, 8)).save(io.BytesIO(), "PNG")


def _without_unused_colours(picture: Image.Image) -> Image.Image:
    """A page of black letters as greys: written in half of the time, and half as long."""
    if picture.mode != "RGB":
        return picture
    red, green, blue = picture.split()
    coloured = ImageChops.difference(red, green).getbbox() or ImageChops.difference(green, blue).getbbox()
    return picture if coloured else green


def _opened(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise DocumentUnreadableError(BROKEN) from error


def _page(document: pypdfium2.PdfDocument, number: int) -> pypdfium2.PdfPage:
    if not 1 <= number <= len(document):
        raise LookupError(number)
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError as error:
        raise DocumentUnreadableError(BROKEN) from error
    if min(page.get_size()) <= 0:
        raise DocumentUnreadableError(BROKEN)
    return page


# ------------------------------------------------------------------------------------------------ quotations
def _found(text: str, quote: str) -> tuple[int, int] | None:
    """Where the quotation stands in the text, or as much of its beginning or end as does; None: nowhere."""
    if not quote:
        return None
    if (at := text.find(quote)) >= 0:
        return at, at + len(quote)
    begins, ends = _longest(text, quote, begins=True), _longest(text, quote, begins=False)
    best = max((quote[:begins], quote[len(quote) - ends :]), key=len)
    return (text.find(best), text.find(best) + len(best)) if len(best) >= LEAST_MATCH else None


def _longest(text: str, quote: str, *, begins: bool) -> int:
    """How many characters of the quotation's beginning (or end) stand together in the text."""
    low, high = 0, len(quote)
    while low < high:
        middle = (low + high + 1) // 2
        part = quote[:middle] if begins else quote[len(quote) - middle :]
        low, high = (middle, high) if part in text else (low, middle - 1)
    return low


def _boxes(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, begin: int, end: int) -> Iterator[Box]:
    """Of the characters begin … end, one box a line."""
    lines: list[list[float]] = []
    for at in range(textpage.count_rects(begin, end - begin)):
        left, bottom, right, top = textpage.get_rect(at)
        (x0, y0), (x1, y1) = on_page(page, left, top, grid=GRID), on_page(page, right, bottom, grid=GRID)
        box = [min(x0, x1) / GRID, min(y0, y1) / GRID, max(x0, x1) / GRID, max(y0, y1) / GRID]
        near = (box[3] - box[1]) * MERGED_WITHIN
        if lines and abs(lines[-1][1] - box[1]) < near and abs(lines[-1][3] - box[3]) < near:
            last = lines[-1]
            last[:] = [min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3])]
        else:
            lines.append(box)
    for west, north, east, south in lines:
        yield Box(west, north, east - west, south - north)
