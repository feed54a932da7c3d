"""Pictures: photographs, screenshots and scans, read by Tesseract (`ocr`). Each picture of a TIFF file is a page."""

from __future__ import annotations

import io
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, PageLines, ParsedDocument
from retrieval.knowledge.ingest.images.ocr import (
    TIMEOUT_S,
    OcrTimeoutError,
    ocr_languages,
    recognised,
)
from retrieval.knowledge.ingest.unread import bounded, on_page, pictures, scanned_pages, unread

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")
MAX_PIXELS = 50_000_000  # of a picture: it has to fit into memory several times
MAX_PAGES = 200
SMALL = 1_500_000  # pixels: letters of a screenshot are small, and are recognised better at twice the size
LARGE = 12_000_000  # pixels: more costs time and tells nothing more
DOTS_PER_INCH = 200  # what a picture counts as whose size is not known
COMPRESSION = 3  # of PNG, 1–9
NO_OCR = worded("Words in pictures are read by Tesseract, which is not installed on this site.")
NO_WORDS = worded("No words could be read in the picture.")
TOO_SLOW = worded("Reading the words in the picture takes too long; make it smaller, or split it.")
BROKEN = worded("The picture is damaged and cannot be opened; save or download it again.")
TOO_LARGE = worded(
    "The picture has more than {megapixels} megapixels; make it smaller.",
    megapixels=MAX_PIXELS // 10**6,
)
TOO_MANY = worded("The file holds more than {max_pages} pictures; split it.", max_pages=MAX_PAGES)


def parse_picture(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    languages = ocr_languages()
    deadline = time.monotonic() + TIMEOUT_S
    blocks: list[Block] = []
    pages: list[PageLines] = []
    told = []
    with _opened(path) as picture:
        count = _page_count(picture)
        if count > MAX_PAGES:
            raise DocumentUnreadableError(TOO_MANY)
        if not languages:
            raise DocumentUnreadableError(NO_OCR)
        for number in range(1, count + 1):
            page = _frame(picture, number)
            readable = _readable(page)
            found: tuple[Block, ...] = ()
            try:
                found, lines = recognised(
                    readable, languages, dots_per_inch=DOTS_PER_INCH, page=number, deadline=deadline
                )
                pages.append(PageLines(width=page.width, height=page.height, lines=lines))
                if not found:
                    told.append(unread(pictures(1), on_page(number)))
            except OcrTimeoutError as error:
                if not blocks and number == count:
                    raise DocumentUnreadableError(TOO_SLOW) from error
                pages.append(PageLines(width=page.width, height=page.height))
                told.append(unread(scanned_pages(1), on_page(number)))
            except (OSError, subprocess.SubprocessError):
                pages.append(PageLines(width=page.width, height=page.height))
                told.append(unread(scanned_pages(1), on_page(number)))
            blocks += found
    if not blocks:
        raise DocumentUnreadableError(NO_WORDS)
    return ParsedDocument(
        blocks=tuple(blocks), page_count=count, pages=tuple(pages), unread=bounded(told)
    )


def picture_page(path: Path, number: int, width: int) -> bytes:
    """A picture of a file as PNG, `width` pixels wide at most. number: from 1.

    Raises DocumentUnreadableError; LookupError where the file has no such picture.
    """
    with _opened(path) as picture:
        if not 1 <= number <= _page_count(picture):
            raise LookupError
        page = _on_white(_frame(picture, number))
        page.thumbnail((width, LARGE // max(1, width)))
        data = io.BytesIO()
        page.save(data, "PNG", compress_level=COMPRESSION)
    return data.getvalue()


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Raises DocumentUnreadableError, also for what comes up while the picture is read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            with Image.open(path, formats=FORMATS) as picture:
                yield picture
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        too_large = isinstance(error, Image.DecompressionBombError)
        raise DocumentUnreadableError(TOO_LARGE if too_large else BROKEN) from error
    except (
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        MemoryError,
    ) as error:  # what decoders raise
        raise DocumentUnreadableError(BROKEN) from error


def _page_count(picture: Image.Image) -> int:
    """Other formats hold further pictures, too, but those are no pages: films, previews, depths."""
    return getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1


def _frame(picture: Image.Image, number: int) -> Image.Image:
    """Turned as it is shown. Raises DocumentUnreadableError."""
    picture.seek(number - 1)
    if picture.width * picture.height > MAX_PIXELS:
        raise DocumentUnreadableError(TOO_LARGE)
    return ImageOps.exif_transpose(picture)


def _on_white(picture: Image.Image) -> Image.Image:
    """In a mode that has no transparency."""
    if "transparency" not in picture.info and "A" not in picture.getbands():
        return picture.convert("RGB")
    layer = picture.convert("RGBA")
    ground = Image.new("RGB", layer.size, "white")
    ground.paste(layer, mask=layer.getchannel("A"))
    return ground


def _readable(picture: Image.Image) -> Image.Image:
    """In grey, of a size at which letters are recognised."""
    grey = (
        picture.convert("L")
        if picture.mode in ("1", "L", "RGB")
        else _on_white(picture).convert("L")
    )
    pixels = grey.width * grey.height
    if pixels > LARGE:
        scale = (LARGE / pixels) ** 0.5
    elif pixels < SMALL:
        scale = 2.0
    else:
        return grey
    return grey.resize((max(1, round(grey.width * scale)), max(1, round(grey.height * scale))))
