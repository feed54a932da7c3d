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

from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import BLOCK_SEPARATOR, GRID, Block, BlockKind, Box, Line, PageLines, Word, lines_of
from retrieval.ingest.text import heading_level

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


def read_pictures(
    document: pypdfium2.PdfDocument, languages: Sequence[str]
) -> tuple[tuple[Block, ...], tuple[PageLines, ...]]:
    """The text of a document whose pages are pictures, and where it stands.

    Raises DocumentUnreadableError where that takes too long.
    """
    deadline = time.monotonic() + TIMEOUT_S
    blocks: list[Block] = []
    pages: list[PageLines] = []
    for number in range(1, len(document) + 1):
        width, height, printed = 0.0, 0.0, list[_Printed]()
        try:
            page = document[number - 1]
            width, height = page.get_size()
            if min(width, height) > 0:
                printed = list(_read(page, languages, deadline))
        except (pypdfium2.PdfiumError, OSError, subprocess.SubprocessError):
            width = height = 0.0  # a page that could not be read
        start = 0
        lines: list[Line] = []
        for level, paragraph in _paragraphs(printed):
            text, words = _placed(paragraph, start)
            kind: BlockKind = "heading" if level else "paragraph"
            blocks.append(Block(text=text, kind=kind, level=level, label=text if level else "", page=number))
            lines += lines_of(words)
            start += len(text) + len(BLOCK_SEPARATOR)
        pages.append(PageLines(width=width, height=height, lines=tuple(lines)))
    return tuple(blocks), tuple(pages)


def _read(page: pypdfium2.PdfPage, languages: Sequence[str], deadline: float) -> Iterator[_Printed]:
    """Raises OSError and SubprocessError where Tesseract can't cope with it; DocumentUnreadableError, PdfiumError."""
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / 72, (MAX_PIXELS / (width * height)) ** 0.5)
    picture = page.render(scale=scale, grayscale=True).to_pil()
    png = io.BytesIO()
    picture.save(png, "PNG", compress_level=1)
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise DocumentUnreadableError(TOO_SLOW)
    command = ["tesseract", "stdin", "stdout", "-l", "+".join(languages), "--dpi", str(round(72 * scale)), "tsv"]
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
        raise DocumentUnreadableError(TOO_SLOW) from error
    table = io.StringIO(result.stdout.decode("utf-8", "replace"))
    for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
        text = clean_text(row["text"] or "").strip()
        if row["level"] != "5" or not text or float(row["conf"]) < LEAST_CONFIDENCE:  # level 5 is a word
            continue
        left, top, across, down = (int(row[name]) for name in ("left", "top", "width", "height"))
        x0, x1 = (round(x * GRID / picture.width) for x in (left, left + across))
        y0, y1 = (round(y * GRID / picture.height) for y in (top, top + down))
        yield _Printed(text, (row["block_num"], row["par_num"]), row["line_num"], (x0, y0, x1, y1))


def _paragraphs(words: Sequence[_Printed]) -> Iterator[tuple[int, list[_Printed]]]:
    """Each with its level as a heading, 0: none. A line that reads like a heading is one by itself."""
    for _, group in itertools.groupby(words, key=lambda word: word.paragraph):
        lines = [list(line) for _, line in itertools.groupby(group, key=lambda word: word.line)]
        for level, several in itertools.groupby(lines, key=lambda line: heading_level(_placed(line, 0)[0])):
            if level:
                yield from ((level, line) for line in several)
            else:
                yield 0, [word for line in several for word in line]


def _placed(printed: Sequence[_Printed], start: int) -> tuple[str, list[Word]]:
    """A paragraph's text on one line, and where its words stand. start: its place in that of the page."""
    text, words = "", list[Word]()
    for word in printed:
        if text and not _WIDE_BOTH.fullmatch(text[-1] + word.text[0]):
            text += " "
        words.append(Word(start + len(text), start + len(text) + len(word.text), word.box))
        text += word.text
    return text, words
