"""The lines of a PDF's page as pdfium gives them: their characters and words with their places, and their type.

What a viewer does not show is left out: text beyond the page's edge, invisible or in the colour of its background
(`drawings` tells which); invisible text over a picture stays, as it is what was read in a scan.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import pypdfium2
import pypdfium2.raw as pdfium_c

from retrieval.knowledge.ingest.blocks import GRID, Box, Word, around, on_one_line
from retrieval.knowledge.ingest.pdf.drawings import Drawings
from retrieval.knowledge.ingest.pdf.geometry import Rect, turned
from retrieval.knowledge.ingest.pdf.runs import (
    HYPHENS,
    WIDE,
    LinePiece,
    TextLine,
    TextRun,
    joined,
    shown,
)

MAX_FONT_NAME = 200  # bytes
TOUCHING = 0.25  # of a line's height: characters of one word lie nearer to each other
FINER = 100  # of a step, in which pdfium tells a place
PACE = 100  # points
ASKEW = 10  # degrees: what is turned further stands across the page
USUAL_WIDTH = 0.5  # of a character, of its line's height
_RAW_LINE = re.compile(r"[^\r\n]+")
_BOLD = re.compile(r"bold|black|heavy", re.I)
_WORD = re.compile(rf"[{WIDE}]|[^\s{WIDE}]+")
_NOT_BLANK = re.compile(r"\S+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_BLANKS = re.compile(r"\s+")
_WIDE_CHARACTER = re.compile(f"[{WIDE}]")


class PageText:
    """A page's characters by number: pdfium's, then those that were put in (`add`). To be closed.

    added: where those stand that were put in before, in points of the page. Raises pypdfium2.PdfiumError.
    """

    def __init__(self, page: pypdfium2.PdfPage, added: Sequence[pdfium_c.FS_RECTF] = ()) -> None:
        self.page = page
        self.textpage = page.get_textpage()
        self.added = list(added)
        self._rotation = page.get_rotation()
        self._count = self.textpage.count_chars()
        self._boxes: dict[int, pdfium_c.FS_RECTF] = {}

    def close(self) -> None:
        self.textpage.close()

    def lines(self, drawings: Drawings) -> list[TextLine]:
        """Those that are not blank; a word that a hyphen parted is whole again, in the first of its lines."""
        text = self._characters(drawings)
        parted: list[TextRun | str] = []
        lines: list[TextLine] = []
        for match in _RAW_LINE.finditer(text.text):
            *whole, last = map(self._from_the_left, self._level_parts(text.part(*match.span())))
            for part in map(shown, whole):
                if part.text:
                    lines.append(self.line(joined([*parted, part])))
                    parted = []
            parted.append(shown(last))
            if match[0].endswith(tuple(HYPHENS)):
                continue
            run = joined(parted)
            if run.text:
                lines.append(self.line(run))
            parted = []
        if parted:
            lines.append(self.line(joined(parted)))
        return lines

    def line(self, run: TextRun) -> TextLine:
        """run: with a place for its first and its last character."""
        first = self.rect(run.places[0])
        last = self.rect(run.places[-1])
        turn = 90 if self._is_vertical(run) else self._turn(run.places[0])
        upright = [turned(rect, -turn) for rect in (first, last)]
        return TextLine(
            run=run,
            height=max(rect.top - rect.bottom for rect in upright),
            is_bold=self._is_bold(run.places[0]) and self._is_bold(run.places[-1]),
            turn=turn,
            top=upright[0].top,
            bottom=upright[1].bottom,
        )

    def with_pieces(self, line: TextLine) -> TextLine:
        return replace(line, pieces=tuple(self._pieces(line.run)))

    def add(self, text: str, box: pdfium_c.FS_RECTF) -> TextRun:
        """Text that is no content of the page, like a form's value. box: where it stands, in points of the page."""
        across = min(
            (box.right - box.left) / max(1, len(text)), USUAL_WIDTH * (box.top - box.bottom)
        )
        first = self._count + len(self.added)
        for at in range(len(text)):
            left = box.left + at * across
            self.added.append(
                pdfium_c.FS_RECTF(left=left, top=box.top, right=left + across, bottom=box.bottom)
            )
        return TextRun(text, tuple(range(first, first + len(text))))

    def words(self, start: int, run: TextRun) -> Iterator[Word]:
        """Where the words of a text stand; one that a hyphen parted in its pieces. start: the text's place in that of
        the page."""
        for match in _WORD.finditer(run.text):
            known = [at for at in range(*match.span()) if run.places[at] >= 0]
            if not known:
                continue
            begins = match.start() == 0 or run.text[match.start() - 1].isspace()
            first, last = (self._box_on_page(run.places[at]) for at in (known[0], known[-1]))
            if on_one_line(first, last):
                yield Word(start + match.start(), start + match.end(), around(first, last), begins)
                continue
            for at in known:
                box = self._box_on_page(run.places[at])
                yield Word(start + at, start + at + 1, box, begins=at == known[0])

    def rect(self, place: int) -> Rect:
        """Of a character in points, with ascender and descender, as the page is shown; empty where it is not known."""
        box = self._box(place)
        return turned(Rect(box.left, box.bottom, box.right, box.top), self._rotation)

    # -------------------------------------------------------------------------------------------- pdfium's characters
    def _characters(self, drawings: Drawings) -> TextRun:
        text: list[str] = []
        places: list[int] = []
        has_hidden = bool(drawings.hidden or drawings.at_the_edge)
        half = 0  # of a character beyond the basic plane, which pdfium tells in two
        for at in range(self._count):
            code = pdfium_c.FPDFText_GetUnicode(self.textpage, at)
            if 0xD800 <= code < 0xDC00:
                half = code
                continue
            if 0xDC00 <= code < 0xE000:
                code = 0x10000 + ((half - 0xD800) << 10) + code - 0xDC00 if half else 0xFFFD
            half = 0
            if code and not (has_hidden and self._is_hidden(at, drawings)):
                text.append(chr(code))
                places.append(at)
        return self._with_whole_turned_words(TextRun("".join(text), tuple(places)))

    def _with_whole_turned_words(self, run: TextRun) -> TextRun:
        """pdfium takes letters of turned text that were placed one by one for words or lines of their own."""
        parts: list[TextRun | str] = []
        done = 0
        for blanks in _BLANKS.finditer(run.text):
            start, end = blanks.span()
            if start == 0 or end == len(run.text) or not self._turn(run.places[start - 1]):
                continue
            if any(
                not pdfium_c.FPDFText_IsGenerated(self.textpage, place)
                for place in run.places[start:end]
            ):
                continue
            between = self._between_turned(run.places[start - 1], run.places[end])
            if between is not None:
                parts += [TextRun(run.text[done:start], run.places[done:start]), between]
                done = end
        return joined([*parts, TextRun(run.text[done:], run.places[done:])]) if parts else run

    def _between_turned(self, before: int, after: int) -> str | None:
        """What parts two characters of one turned line; None where they stand in different ones."""
        turn = self._turn(before)
        if turn % 90 or turn != self._turn(after):
            return None
        first = turned(self.rect(before), -turn)
        second = turned(self.rect(after), -turn)
        gap = second.left - first.right
        if not first.is_level(second) or not -first.height < gap <= first.height:
            return None
        return "" if gap <= TOUCHING * first.height else " "

    def _is_hidden(self, at: int, drawings: Drawings) -> bool:
        text_object = pdfium_c.FPDFText_GetTextObject(self.textpage, at)
        address = ctypes.cast(text_object, ctypes.c_void_p).value
        if address in drawings.hidden:
            return True
        if address not in drawings.at_the_edge:
            return False
        box = self._box(at)
        return not drawings.page.holds((box.left + box.right) / 2, (box.bottom + box.top) / 2)

    def _pieces(self, run: TextRun) -> Iterator[LinePiece]:
        """A piece that a hyphen parted over two lines is two."""
        for match in _NOT_BLANK.finditer(run.text):
            start, end = match.span()
            first = self.rect(run.places[start])
            last = self.rect(run.places[end - 1])
            if first.beside(last):
                yield LinePiece(run.part(start, end), first.around(last))
                continue
            rects = [self.rect(place) for place in run.places[start:end]]
            begin = 0
            for at in range(1, len(rects) + 1):
                if at == len(rects) or not rects[at - 1].beside(rects[at]):
                    yield LinePiece(
                        run.part(start + begin, start + at),
                        rects[begin].around(rects[at - 1]),
                        begin > 0,
                    )
                    begin = at

    def _level_parts(self, run: TextRun) -> list[TextRun]:
        """pdfium takes turned text for the end of a line beside it, and for one line what stands below each other in a
        narrow column of a table."""
        shown = [at for at, character in enumerate(run.text) if not character.isspace()]
        if len(shown) < 2 or self.rect(run.places[shown[0]]).is_level(
            self.rect(run.places[shown[-1]])
        ):
            return [run]
        parts: list[TextRun] = []
        for turn, group in itertools.groupby(shown, key=lambda at: self._turn(run.places[at])):
            places = list(group)
            part = run.part(places[0], places[-1] + 1)
            parts += (
                [part] if turn or _WIDE_CHARACTER.search(part.text) else self._stacked_parts(part)
            )
        return parts

    def _from_the_left(self, run: TextRun) -> TextRun:
        """The words of a level line as they stand: programs draw those of another font, as symbols, at its end."""
        spans = [match.span() for match in _NOT_BLANK.finditer(run.text)]
        lefts = [self.rect(run.places[start]).left for start, _ in spans]
        if lefts == sorted(lefts) or _RIGHT_TO_LEFT.search(run.text) or self._turn(run.places[0]):
            return run
        rects = [
            self.rect(run.places[start]).around(self.rect(run.places[end - 1]))
            for start, end in spans
        ]
        order = sorted(range(len(spans)), key=lefts.__getitem__)
        height = rects[0].height
        gaps = [
            rects[after].left - rects[before].right for before, after in itertools.pairwise(order)
        ]
        if min(gaps) < -TOUCHING * height or not all(rects[0].is_level(rect) for rect in rects):
            return run
        parts: list[TextRun | str] = [run.part(*spans[order[0]])]
        for gap, at in zip(gaps, order[1:], strict=True):
            parts += [" " if gap > TOUCHING * height / 2 else "", run.part(*spans[at])]
        return joined(parts)

    def _stacked_parts(self, run: TextRun) -> list[TextRun]:
        parts: list[TextRun] = []
        begin = 0
        above = self.rect(run.places[0])
        for at, character in enumerate(run.text):
            if character.isspace():
                continue
            rect = self.rect(run.places[at])
            is_below = not above.is_level(rect) and rect.left < above.right
            if is_below and run.text[at - 1] not in HYPHENS:
                parts.append(run.part(begin, at))
                begin = at
            above = rect
        return [*parts, run.part(begin, len(run.text))]

    def _is_vertical(self, run: TextRun) -> bool:
        """Whether its second character stands below the first one, as in vertical Chinese or Japanese text."""
        shown = [
            place
            for character, place in zip(run.text[:3], run.places, strict=False)
            if not character.isspace()
        ]
        if len(shown) < 2:
            return False
        first = self.rect(shown[0])
        second = self.rect(shown[1])
        return second.top <= first.bottom + TOUCHING * first.height and first.holds(
            second.middle[0], first.middle[1]
        )

    def _turn(self, place: int) -> int:
        if not 0 <= place < self._count:
            return 0
        angle = math.degrees(pdfium_c.FPDFText_GetCharAngle(self.textpage, place)) + self._rotation
        right_angle = round(angle / 90) * 90
        return (right_angle if abs(angle - right_angle) <= ASKEW else round(angle)) % 360

    def _is_bold(self, place: int) -> bool:
        if not 0 <= place < self._count:
            return False
        name = ctypes.create_string_buffer(MAX_FONT_NAME)
        length = pdfium_c.FPDFText_GetFontInfo(
            self.textpage, place, name, MAX_FONT_NAME, ctypes.c_int()
        )
        return bool(_BOLD.search(name.raw[: min(length, MAX_FONT_NAME)].decode("utf-8", "replace")))

    def _box(self, place: int) -> pdfium_c.FS_RECTF:
        if place >= self._count:
            return self.added[place - self._count]
        box = self._boxes.get(place)
        if box is None:
            box = pdfium_c.FS_RECTF()
            pdfium_c.FPDFText_GetLooseCharBox(self.textpage, place, box)
            self._boxes[place] = box
        return box

    def _box_on_page(self, place: int) -> Box:
        """In steps of what is shown of the page, which may be cut and turned."""
        (x, across_x, down_x), (y, across_y, down_y) = self._steps
        box = self._box(place)
        xs = sorted(x + across_x * across + down_x * down for across, down in _corners(box))
        ys = sorted(y + across_y * across + down_y * down for across, down in _corners(box))
        return _step(xs[0]), _step(ys[0]), _step(xs[1]), _step(ys[1])

    @cached_property
    def _steps(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """How a point of the page becomes steps: where its origin lies, and how far a point across and one up lead."""
        x = ctypes.c_int()
        y = ctypes.c_int()
        found = []
        size = GRID * FINER
        for across, down in ((0, 0), (PACE, 0), (0, PACE)):
            pdfium_c.FPDF_PageToDevice(self.page, 0, 0, size, size, 0, across, down, x, y)
            found.append((x.value / FINER, y.value / FINER))
        origin, right, up = found
        along = [
            (origin[at], (right[at] - origin[at]) / PACE, (up[at] - origin[at]) / PACE)
            for at in (0, 1)
        ]
        return along[0], along[1]


def _corners(box: pdfium_c.FS_RECTF) -> tuple[tuple[float, float], tuple[float, float]]:
    return (box.left, box.top), (box.right, box.bottom)


def _step(place: float) -> int:
    return min(GRID, max(0, round(place)))
