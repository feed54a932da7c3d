"""Where the text that was read of a PDF stands on its pages, word by word.

What was read and what stands on a page are compared by letters and digits alone: white space, line ends and hyphens
are the reader's work.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence

import pypdfium2
import pypdfium2.raw as pdfium_c

from retrieval.ingest.blocks import BLOCK_SEPARATOR, GRID, Block, Line, PageLines

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WORD = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")
SAME_LINE = 0.5  # of a line's height: words whose middles are nearer stand on one line
LAST_OF_PLANE = 0xFFFF  # pdfium tells characters beyond in halves

Box = tuple[int, int, int, int]


def plain_letters(text: str) -> str:
    """Letters and digits alone, in small letters; one character for each."""
    return "".join(character.lower()[:1] for character in text if is_letter(character))


def is_letter(character: str) -> bool:
    """Whether it counts when texts are compared."""
    return character.isalnum() and ord(character) <= LAST_OF_PLANE


def page_letters(textpage: pypdfium2.PdfTextPage) -> list[tuple[str, int]]:
    """Each letter and digit of the page, as `plain_letters` has it, with its index among the page's characters."""
    letters = []
    for at in range(textpage.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(textpage, at)
        if code <= LAST_OF_PLANE and (character := chr(code)).isalnum():
            letters.append((character.lower()[:1], at))
    return letters


def on_page(page: pypdfium2.PdfPage, x: float, y: float, *, grid: int) -> tuple[int, int]:
    """A point of the file's coordinates in steps of what is shown, which may be cut and turned."""
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page, 0, 0, grid, grid, 0, x, y, across, down)
    return min(grid, max(0, across.value)), min(grid, max(0, down.value))


def document_lines(document: pypdfium2.PdfDocument, blocks: Sequence[Block]) -> tuple[PageLines, ...]:
    """Of each page, in order. A block that can't be found on its page has no lines."""
    by_page: dict[int | None, list[tuple[int, str]]] = {}
    start = 0
    for block in blocks:
        by_page.setdefault(block.page, []).append((start, block.text))
        start += len(block.text) + len(BLOCK_SEPARATOR)
    pages = []
    for number in range(1, len(document) + 1):
        try:
            page = document[number - 1]
            width, height = page.get_size()
            lines = tuple(_page(page, by_page.get(number, ())))
            page.close()
        except pypdfium2.PdfiumError:  # a broken page is empty
            width, height, lines = 0.0, 0.0, ()
        pages.append(PageLines(width=width, height=height, lines=lines))
    return tuple(pages)


def _page(page: pypdfium2.PdfPage, texts: Sequence[tuple[int, str]]) -> Iterator[Line]:
    """texts: of its blocks, in order, each with its place in the document's text."""
    if not texts:
        return
    textpage = page.get_textpage()
    places = page_letters(textpage)
    shown = "".join(letter for letter, _ in places)
    # Together they are surely the page's text; one by itself may stand in a header too.
    whole = shown.find("".join(plain_letters(text) for _, text in texts))
    done = max(0, whole)
    for start, text in texts:
        own = plain_letters(text)
        found = shown.find(own, done) if own else -1
        if found < 0:
            continue
        done = found + len(own)
        yield from _lines(page, textpage, start, text, [at for _, at in places[found:done]])
    textpage.close()


def _lines(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, start: int, text: str, places: Sequence[int]
) -> Iterator[Line]:
    """places: of each letter of the text, its index among the page's characters."""
    begin = end = 0
    box: Box = (0, 0, 0, 0)
    words: list[int] = []
    for first, last, word in _words(page, textpage, text, places):
        if words and _on_one_line(box, word):
            box = (box[0], min(box[1], word[1]), max(box[2], word[2]), max(box[3], word[3]))
        else:
            if words:
                yield [start + begin, start + end, *box, words]
            begin, box, words = first, word, []
        end = last
        if not words or text[first - 1].isspace():
            words += [start + first, word[0]]
    if words:
        yield [start + begin, start + end, *box, words]


def _words(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str, places: Sequence[int]
) -> Iterator[tuple[int, int, Box]]:
    """(start, end, box) of each word that has letters; one that a hyphen parted in its pieces."""
    done = 0
    for match in _WORD.finditer(text):
        letters = [at for at, character in enumerate(match[0], match.start()) if is_letter(character)]
        if not letters:
            continue
        own = places[done : done + len(letters)]
        done += len(letters)
        before, after = letters[0] - match.start(), match.end() - 1 - letters[-1]
        first = _box(page, textpage, _with_signs(textpage, own[0], -before, match[0][0]))
        last = _box(page, textpage, _with_signs(textpage, own[-1], after, match[0][-1]))
        if _on_one_line(first, last):
            yield match.start(), match.end(), _around(first, last)
            continue
        begin, box = match.start(), first
        for at, place in zip(letters, own, strict=True):
            letter = _box(page, textpage, place)
            if not _on_one_line(box, letter):
                yield begin, at, box
                begin, box = at, letter
            box = _around(box, letter)
        yield begin, match.end(), box


def _with_signs(textpage: pypdfium2.PdfTextPage, at: int, further: int, sign: str) -> int:
    """The character so much further on, where it is that sign; else the one at `at`."""
    return at + further if further and pdfium_c.FPDFText_GetUnicode(textpage, at + further) == ord(sign) else at


def _box(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, at: int) -> Box:
    """Of a character, with ascender and descender."""
    loose = pdfium_c.FS_RECTF()
    pdfium_c.FPDFText_GetLooseCharBox(textpage, at, loose)
    (x0, y0), (x1, y1) = (
        on_page(page, loose.left, loose.top, grid=GRID),
        on_page(page, loose.right, loose.bottom, grid=GRID),
    )
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _around(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _on_one_line(one: Box, other: Box) -> bool:
    """Side by side, the second one further on: columns and lines begin anew on the left."""
    apart = abs((one[1] + one[3]) - (other[1] + other[3])) / 2
    return apart < SAME_LINE * max(one[3] - one[1], other[3] - other[1], 1) and other[2] >= one[0]
