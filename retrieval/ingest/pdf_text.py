"""The lines of a PDF's page as pdfium gives them: their characters with their places, their type, their cells; and
its tables: lines whose cells stand below each other."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium_c

from ragsite.core.text import strip_for_reading
from retrieval.ingest.blocks import GRID, Box, Word, around, on_one_line

ALIGNED = 3.0  # points that the sides or middles of one column's cells may lie apart
ROW = -1
MAX_FONT_NAME = 200  # bytes
CELL_GAP = 1.2  # of a line's height, between two words: they stand in different cells
SAME_BASELINE = 0.5  # of a line's height
WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_HYPHENS = "\ufffe\x02\u00ad"  # pdfium's marks for a hyphen that parts a word
_RAW_LINE = re.compile(r"[^\r\n]+")
_BLANKS = re.compile(r"(?<=\S)\s+(?=\S)")
_BOLD = re.compile(r"bold|black|heavy", re.I)
_WORD = re.compile(rf"[{WIDE}]|[^\s{WIDE}]+")
# What stands before the text of a list's entry: a bullet, "1.", "2.3", "(a)", "iv."
_LABEL = re.compile(r"\W{0,3}(?:\d{1,3}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivx]{1,5})?\W{0,2}")


@dataclass(frozen=True, slots=True)
class Run:
    """Text of a page. places: of each character, pdfium's index of it on the page; -1: it was put in."""

    text: str
    places: tuple[int, ...]

    def part(self, start: int, end: int) -> Run:
        """Those characters, without white space around them."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        end = start + len(text.strip())
        return Run(self.text[start:end], self.places[start:end])


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line that stands far from the others. left, right: in points."""

    run: Run
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class TextLine:
    """height: of its characters with ascender and descender, in points; 0: not known. is_bold: all of it. top, bottom:
    in points from the page's foot. cells: its parts that stand far from each other; of several it may be a table's row.
    """

    run: Run
    height: float = 0.0
    is_bold: bool = False
    top: float = 0.0
    bottom: float = 0.0
    cells: tuple[Cell, ...] = ()

    @property
    def text(self) -> str:
        return self.run.text


def joined(parts: Sequence[Run | str]) -> Run:
    """One after the other; a string is put in between."""
    runs = [part if isinstance(part, Run) else Run(part, (-1,) * len(part)) for part in parts]
    return Run("".join(run.text for run in runs), tuple(place for run in runs for place in run.places))


def text_lines(textpage: pypdfium2.PdfTextPage) -> Iterator[TextLine]:
    """Those that are not blank; a word that a hyphen parted is whole again, in the first of its lines."""
    page, parted = _characters(textpage), list[Run | str]()
    for match in _RAW_LINE.finditer(page.text):
        raw = page.part(*match.span())
        shown = [at for at, character in enumerate(raw.text) if _is_shown(character)]
        parted.append(Run("".join(raw.text[at] for at in shown), tuple(raw.places[at] for at in shown)))
        if match[0].endswith(tuple(_HYPHENS)):
            continue
        run = joined(parted)
        if run.text:
            first, last = (_box(textpage, run.places[at]) for at in (0, -1))
            height = max(first.top - first.bottom, last.top - last.bottom)
            is_bold = all(_is_bold(textpage, run.places[at]) for at in (0, -1))
            cells = _cells(textpage, run) if len(parted) == 1 else ()
            yield TextLine(run, height, is_bold, first.top, last.bottom, cells)
        parted = []
    if parted:
        yield TextLine(joined(parted))


def _is_shown(character: str) -> bool:
    return character not in _HYPHENS and bool(strip_for_reading(character))


def words(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, start: int, run: Run) -> Iterator[Word]:
    """Where the words of a text stand; one that a hyphen parted in its pieces. start: the text's place in that of the
    page."""
    for match in _WORD.finditer(run.text):
        known = [at for at in range(*match.span()) if run.places[at] >= 0]
        if not known:
            continue
        begins = match.start() == 0 or run.text[match.start() - 1].isspace()
        first, last = (_box_on_page(page, textpage, run.places[at]) for at in (known[0], known[-1]))
        if on_one_line(first, last):
            yield Word(start + match.start(), start + match.end(), around(first, last), begins)
            continue
        for at in known:
            box = _box_on_page(page, textpage, run.places[at])
            yield Word(start + at, start + at + 1, box, begins=at == known[0])


def _characters(textpage: pypdfium2.PdfTextPage) -> Run:
    text: list[str] = []
    places: list[int] = []
    half = 0  # of a character beyond the basic plane, which pdfium tells in two
    for at in range(textpage.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(textpage, at)
        if 0xD800 <= code < 0xDC00:
            half = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((half - 0xD800) << 10) + code - 0xDC00 if half else 0xFFFD
        half = 0
        if code:
            text.append(chr(code))
            places.append(at)
    return Run("".join(text), tuple(places))


def _cells(textpage: pypdfium2.PdfTextPage, line: Run) -> tuple[Cell, ...]:
    """In their order; none for an entry of a list whose label is set apart."""
    first, last = _box(textpage, line.places[0]), _box(textpage, line.places[-1])
    cells: list[Cell] = []
    start, left = 0, first.left
    for blanks in _BLANKS.finditer(line.text):
        before, after = (_box(textpage, line.places[at]) for at in (blanks.start() - 1, blanks.end()))
        height = before.top - before.bottom
        is_level = abs(after.bottom - before.bottom) < SAME_BASELINE * height
        if is_level and after.left - before.right > CELL_GAP * height:
            cells.append(Cell(line.part(start, blanks.start()), left, before.right))
            start, left = blanks.end(), after.left
    cells.append(Cell(line.part(start, len(line.text)), left, last.right))
    return () if len(cells) == 2 and _LABEL.fullmatch(cells[0].run.text) else tuple(cells)


def _is_bold(textpage: pypdfium2.PdfTextPage, place: int) -> bool:
    name = ctypes.create_string_buffer(MAX_FONT_NAME)
    length = pdfium_c.FPDFText_GetFontInfo(textpage, place, name, MAX_FONT_NAME, ctypes.c_int())
    return bool(_BOLD.search(name.raw[: min(length, MAX_FONT_NAME)].decode("utf-8", "replace")))


def _box(textpage: pypdfium2.PdfTextPage, place: int) -> pdfium_c.FS_RECTF:
    """Of a character in points, with ascender and descender; empty where pdfium does not know it."""
    box = pdfium_c.FS_RECTF()
    pdfium_c.FPDFText_GetLooseCharBox(textpage, place, box)
    return box


def _box_on_page(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, place: int) -> Box:
    """In steps of what is shown of the page, which may be cut and turned."""
    box, x, y = _box(textpage, place), ctypes.c_int(), ctypes.c_int()
    corners = []
    for across, down in ((box.left, box.top), (box.right, box.bottom)):
        pdfium_c.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, across, down, x, y)
        corners.append((min(GRID, max(0, x.value)), min(GRID, max(0, y.value))))
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


# ------------------------------------------------------------------------------------------------ tables
def table_rows(lines: Sequence[TextLine]) -> dict[int, int]:
    """The lines that make up tables: ROW, else the column whose cell of the row above goes on in the line.

    A table has three rows, or two that have two columns in common behind the first one.
    """
    rows: dict[int, int] = {}
    run: list[int] = []  # of the table at hand
    shared = 0
    for at, line in enumerate(lines):
        above = lines[run[-1]].cells if run else ()
        common, column = _shared_columns(above, line.cells), _goes_on(above, line.cells)
        if common or (column > 0 and at - 1 in rows):
            shared = max(shared, common)
        else:
            _settle(rows, run, shared)
            run, shared = [], 0
        if len(line.cells) > 1:
            run.append(at)
            rows[at] = ROW
        elif run:
            rows[at] = column
    _settle(rows, run, shared)
    return rows


def _settle(rows: dict[int, int], run: Sequence[int], shared: int) -> None:
    """Takes out again what is no table."""
    if run and len(run) < 3 and shared < 2:
        for at in [at for at in rows if at >= run[0]]:
            del rows[at]


def _goes_on(row: Sequence[Cell], line: Sequence[Cell]) -> int:
    """The column behind the first one below which the line's only part begins, or -1."""
    if len(line) != 1:
        return -1
    return next((at for at, cell in enumerate(row) if at and abs(cell.left - line[0].left) <= ALIGNED), -1)


def _shared_columns(first: Sequence[Cell], second: Sequence[Cell]) -> int:
    """Columns behind the first one that both have: their left sides, right sides or middles are at one place."""
    return sum(any(_below_each_other(one, other) for other in second[1:]) for one in first[1:])


def _below_each_other(one: Cell, other: Cell) -> bool:
    left, right = one.left - other.left, one.right - other.right
    return min(abs(left), abs(right), abs(left + right) / 2) <= ALIGNED
