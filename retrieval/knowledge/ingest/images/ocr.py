"""Pages that are pictures, read by Tesseract where it is installed, with the place of each word.

It runs as a child of the process that reads the file, so it ends with that one, and within its limits of memory.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2
from PIL import Image

from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import (
    BLOCK_SEPARATOR,
    GRID,
    Block,
    BlockKind,
    Box,
    Line,
    Word,
    lines_of,
)
from retrieval.knowledge.ingest.text import heading_level

LANGUAGES = ("eng", "chi_sim", "chi_tra")  # those of them that are installed
DOTS_PER_INCH = 200
MAX_PIXELS = 12_000_000  # of a page: pages may be metres long
TIMEOUT_S = 270.0  # of a document: less than the process that reads it has
PAGE_TIMEOUT_S = 60.0
LEAST_CONFIDENCE = 5.0  # of a word, 0–100: below it is dirt and drawings
_WIDE_BOTH = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]{2}")
TOO_SLOW = worded(
    "The PDF has no text, only images (a scan), and reading them takes too long; split it, or run it through OCR first."
)


class OcrTimeoutError(Exception):
    """Recognising a picture takes too long."""


@dataclass(frozen=True, slots=True)
class _Printed:
    """A word. paragraph, line: which of the page."""

    text: str
    paragraph: tuple[str, str]
    line: str
    box: Box


def ocr_languages() -> tuple[str, ...]:
    """Those that can be read; none where Tesseract is not installed."""
    command = shutil.which("tesseract")
    if command is None:
        return ()
    try:
        listed = subprocess.run(  # noqa: S603 - a fixed command, no shell
            [command, "--list-langs"], capture_output=True, timeout=PAGE_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    installed = listed.stdout.decode("utf-8", "replace").split()
    return tuple(language for language in LANGUAGES if language in installed)


@dataclass(frozen=True, slots=True)
class RecognisedPage:
    """width, height: in points; 0 of a page that could not be read (failed)."""

    blocks: tuple[Block, ...] = ()
    lines: tuple[Line, ...] = ()
    width: float = 0.0
    height: float = 0.0
    failed: bool = False


def recognised_pages(
    document: pypdfium2.PdfDocument,
    numbers: Sequence[int],
    languages: Sequence[str],
    *,
    is_all: bool,
) -> dict[int, RecognisedPage]:
    """Pages that are pictures, by their numbers; those for which there was no time failed.

    Raises DocumentUnreadableError where there was none for any of a document that has nothing else (is_all).
    """
    deadline = time.monotonic() + TIMEOUT_S
    pages = {number: RecognisedPage(failed=True) for number in numbers}
    is_slow = False
    for number in numbers:
        try:
            pages[number] = _recognised_page(document[number - 1], number, languages, deadline)
        except OcrTimeoutError:
            is_slow = True
            if time.monotonic() >= deadline:
                break
        except (pypdfium2.PdfiumError, OSError, subprocess.SubprocessError):
            continue  # it stays among those that failed, which the document reports
    if is_slow and is_all and not any(page.blocks for page in pages.values()):
        raise DocumentUnreadableError(TOO_SLOW)
    return pages


def _recognised_page(
    page: pypdfium2.PdfPage, number: int, languages: Sequence[str], deadline: float
) -> RecognisedPage:
    width, height = page.get_size()
    if min(width, height) <= 0:
        return RecognisedPage(failed=True)
    scale = min(DOTS_PER_INCH / 72, (MAX_PIXELS / (width * height)) ** 0.5)
    picture = page.render(scale=scale, grayscale=True).to_pil()
    blocks, lines = recognised(
        picture, languages, dots_per_inch=round(72 * scale), page=number, deadline=deadline
    )
    return RecognisedPage(blocks, lines, width, height)


def recognised(
    picture: Image.Image,
    languages: Sequence[str],
    *,
    dots_per_inch: int,
    page: int,
    deadline: float,
) -> tuple[tuple[Block, ...], tuple[Line, ...]]:
    """The text of a picture as that of a page, and where it stands. deadline: by `time.monotonic`.

    Raises OSError, SubprocessError and OcrTimeoutError where Tesseract can't cope with it.
    """
    printed = list(_read(picture, languages, dots_per_inch, deadline))
    blocks: list[Block] = []
    lines: list[Line] = []
    start = 0
    for level, paragraph in _paragraphs(printed):
        text, words = _placed(paragraph, start)
        kind: BlockKind = "heading" if level else "paragraph"
        blocks.append(
            Block(text=text, kind=kind, level=level, label=text if level else "", page=page)
        )
        lines += lines_of(words)
        start += len(text) + len(BLOCK_SEPARATOR)
    return tuple(blocks), tuple(lines)


def _read(
    picture: Image.Image, languages: Sequence[str], dots_per_inch: int, deadline: float
) -> Iterator[_Printed]:
    png = io.BytesIO()
    picture.save(png, "PNG", compress_level=1)
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise OcrTimeoutError
    command = [
        "tesseract",
        "stdin",
        "stdout",
        "-l",
        "+".join(languages),
        "--dpi",
        str(dots_per_inch),
        "tsv",
    ]
    try:
        result = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command,
            input=png.getvalue(),
            capture_output=True,
            timeout=min(PAGE_TIMEOUT_S, left_s),
            check=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise OcrTimeoutError from error
    table = io.StringIO(result.stdout.decode("utf-8", "replace"))
    for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
        text = clean_text(row["text"] or "").strip()
        if (
            row["level"] != "5" or not text or float(row["conf"]) < LEAST_CONFIDENCE
        ):  # level 5 is a word
            continue
        left, top, across, down = (int(row[name]) for name in ("left", "top", "width", "height"))
        x0, x1 = (round(x * GRID / picture.width) for x in (left, left + across))
        y0, y1 = (round(y * GRID / picture.height) for y in (top, top + down))
        yield _Printed(text, (row["block_num"], row["par_num"]), row["line_num"], (x0, y0, x1, y1))


def _paragraphs(words: Sequence[_Printed]) -> Iterator[tuple[int, list[_Printed]]]:
    """Each with its level as a heading, 0: none. A line that reads like a heading is one by itself."""
    for _, group in itertools.groupby(words, key=lambda word: word.paragraph):
        lines = [list(line) for _, line in itertools.groupby(group, key=lambda word: word.line)]
        for level, several in itertools.groupby(
            lines, key=lambda line: heading_level(_placed(line, 0)[0])
        ):
            if level:
                yield from ((level, line) for line in several)
            else:
                yield 0, [word for line in several for word in line]


def _placed(printed: Sequence[_Printed], start: int) -> tuple[str, list[Word]]:
    """A paragraph's text on one line, and where its words stand. start: its place in that of the page."""
    text = ""
    words = list[Word]()
    for word in printed:
        if text and not _WIDE_BOTH.fullmatch(text[-1] + word.text[0]):
            text += " "
        words.append(Word(start + len(text), start + len(text) + len(word.text), word.box))
        text += word.text
    return text, words
