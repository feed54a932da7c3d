"""What is drawn on a PDF's page beside its text: the lines between the cells of tables, pictures, and which text they
leave visible."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium_c

from retrieval.knowledge.ingest.pdf.layers import Layers

MAX_OBJECTS = 30_000  # of a page, that are looked at
MAX_PATHS = 6_000  # of a page: what has more is a drawing, not tables
MAX_SEGMENTS = 400  # of a path: what has more is a drawing
MAX_DEPTH = 8  # of forms in forms
SNAP = 3.0  # points that borders of one line of cells may lie apart
THIN = 3.0  # points: a filled shape of this width is a line
SHORT = 4.0  # points: no border of a cell is shorter
LEAST_TYPE = 1.5  # points: nobody reads smaller type
SAME_COLOUR = 12  # of 255, in each part: not to be told apart
OPAQUE = 255
INVISIBLE_TEXT = 3  # a text render mode
Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)


class Rect(NamedTuple):
    """In points, upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.bottom <= y <= self.top

    def covers(self, other: Rect, tolerance: float = 1.0) -> bool:
        return (
            self.left - tolerance <= other.left
            and other.right <= self.right + tolerance
            and self.bottom - tolerance <= other.bottom
            and other.top <= self.top + tolerance
        )

    def around(self, other: Rect) -> Rect:
        return Rect(
            min(self.left, other.left),
            min(self.bottom, other.bottom),
            max(self.right, other.right),
            max(self.top, other.top),
        )

    def is_level(self, other: Rect) -> bool:
        """Whether both stand on one line that runs across."""
        return 2 * (min(self.top, other.top) - max(self.bottom, other.bottom)) > min(self.height, other.height)

    def beside(self, other: Rect) -> bool:
        """Whether both stand on one line, whichever way it runs."""
        across = min(self.top, other.top) - max(self.bottom, other.bottom)
        down = min(self.right, other.right) - max(self.left, other.left)
        return 2 * across > min(self.height, other.height) or 2 * down > min(self.width, other.width)


def turned(rect: Rect, degrees: int) -> Rect:
    """Turned clockwise about the origin, by a multiple of 90."""
    left, bottom, right, top = rect
    match degrees % 360:
        case 90:
            return Rect(bottom, -right, top, -left)
        case 180:
            return Rect(-right, -top, -left, -bottom)
        case 270:
            return Rect(-top, left, -bottom, right)
    return rect


NOWHERE = Rect(0.0, 0.0, 0.0, 0.0)


class Border(NamedTuple):
    """A straight line. at: its place across its direction. start, end: along it. In points, as the page is shown."""

    at: float
    start: float
    end: float


@dataclass(slots=True)
class Drawings:
    """page: its visible part. hidden, at_the_edge: addresses of pdfium's text objects of which nothing is seen, and of
    which a part may stand outside of the page. pictures: as the page is shown. across: the highest
    last. down: the leftmost first."""

    page: Rect = NOWHERE
    across: list[Border] = field(default_factory=list)
    down: list[Border] = field(default_factory=list)
    pictures: list[Rect] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    at_the_edge: set[int] = field(default_factory=set)


class Matrix(NamedTuple):
    """As PDF has it: x' = a·x + c·y + e, y' = b·x + d·y + f."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def then(self, other: Matrix) -> Matrix:
        if other == IDENTITY:
            return self
        return Matrix(
            self.a * other.a + self.b * other.c,
            self.a * other.b + self.b * other.d,
            self.c * other.a + self.d * other.c,
            self.c * other.b + self.d * other.d,
            self.e * other.a + self.f * other.c + other.e,
            self.e * other.b + self.f * other.d + other.f,
        )

    def point(self, x: float, y: float) -> tuple[float, float]:
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def rect(self, rect: Rect) -> Rect:
        if self == IDENTITY:
            return rect
        corners = [self.point(x, y) for x in (rect.left, rect.right) for y in (rect.bottom, rect.top)]
        xs = [x for x, _ in corners]
        ys = [y for _, y in corners]
        return Rect(min(xs), min(ys), max(xs), max(ys))


def _joined_borders(borders: Iterable[Border]) -> list[Border]:
    """Those on one line that touch or overlap are one."""
    result: list[Border] = []
    ordered = sorted(borders)
    begin = 0
    while begin < len(ordered):
        end = begin + 1
        while end < len(ordered) and ordered[end].at - ordered[end - 1].at <= SNAP / 2:
            end += 1
        same = sorted(ordered[begin:end], key=lambda border: border.start)
        current = same[0]
        for border in same[1:]:
            if border.start <= current.end + SNAP:
                current = Border(current.at, current.start, max(current.end, border.end))
            else:
                result.append(current)
                current = border
        result.append(current)
        begin = end
    return result


IDENTITY = Matrix()


class _Text(NamedTuple):
    address: int
    rect: Rect
    colour: Colour | None
    at: int


class _Shape(NamedTuple):
    """colour: None where it is no single opaque one. is_cover: a rectangle, of which all is opaque."""

    rect: Rect
    colour: Colour | None
    is_cover: bool
    at: int


class _Reader:
    """Reads a page's objects in the order in which they are drawn."""

    def __init__(self, page: pypdfium2.PdfPage, drawings: Drawings, layers: Layers, rotation: int) -> None:
        self.drawings = drawings
        self._layers = layers
        self._page = page
        self._rotation = rotation
        self._texts: list[_Text] = []
        self._invisible: list[_Text] = []
        self._shapes: list[_Shape] = []
        self._read = 0
        self._paths = 0

    def read(self) -> None:
        self._objects(self._page.raw, IDENTITY, 0, is_shown=True)
        if self._read > MAX_OBJECTS or self._paths > MAX_PATHS:
            self.drawings.across.clear()
            self.drawings.down.clear()
        self.drawings.across = _joined_borders(self.drawings.across)
        self.drawings.down = _joined_borders(self.drawings.down)
        self._look_for_hidden()

    def _objects(self, parent: object, matrix: Matrix, depth: int, *, is_shown: bool) -> None:
        is_form = depth > 0
        count = pdfium_c.FPDFFormObj_CountObjects if is_form else pdfium_c.FPDFPage_CountObjects
        get = pdfium_c.FPDFFormObj_GetObject if is_form else pdfium_c.FPDFPage_GetObject
        for at in range(count(parent)):
            self._read += 1
            if self._read > MAX_OBJECTS:
                return
            drawn = get(parent, at)
            kind = pdfium_c.FPDFPageObj_GetType(drawn)
            is_seen = is_shown and not self._layers.hides(drawn)
            if kind == pdfium_c.FPDF_PAGEOBJ_FORM:
                if depth < MAX_DEPTH:
                    self._objects(drawn, _matrix(drawn).then(matrix), depth + 1, is_shown=is_seen)
                continue
            if not is_seen:
                self.drawings.hidden.add(_address(drawn))
                continue
            match kind:
                case pdfium_c.FPDF_PAGEOBJ_TEXT:
                    self._text(drawn, matrix)
                case pdfium_c.FPDF_PAGEOBJ_PATH:
                    self._path(drawn, matrix)
                case pdfium_c.FPDF_PAGEOBJ_IMAGE:
                    rect = matrix.rect(_bounds(drawn))
                    self.drawings.pictures.append(turned(rect, self._rotation))
                    self._shapes.append(_Shape(rect, None, False, self._read))
                case pdfium_c.FPDF_PAGEOBJ_SHADING:
                    self._shapes.append(_Shape(matrix.rect(_bounds(drawn)), None, False, self._read))

    # -------------------------------------------------------------------------------------------- text
    def _text(self, drawn: object, matrix: Matrix) -> None:
        rect = matrix.rect(_bounds(drawn))
        mode = pdfium_c.FPDFTextObj_GetTextRenderMode(drawn)
        address = _address(drawn)
        page = self.drawings.page
        is_outside = (
            rect.right < page.left or rect.left > page.right or rect.top < page.bottom or rect.bottom > page.top
        )
        if is_outside or _is_tiny(drawn, rect, matrix):
            self.drawings.hidden.add(address)
            return
        if not page.covers(rect, 0):
            self.drawings.at_the_edge.add(address)
        if mode == INVISIBLE_TEXT:
            self._invisible.append(_Text(address, rect, None, self._read))
            return
        colour = _colour(drawn, pdfium_c.FPDFPageObj_GetFillColor) if mode == 0 else None
        if colour is not None and colour[3] == 0:
            self.drawings.hidden.add(address)
            return
        self._texts.append(_Text(address, rect, colour[:3] if colour else None, self._read))

    def _look_for_hidden(self) -> None:
        """Text under a rectangle, in the colour of what is below it, or invisible with no picture of it."""
        covers = [shape for shape in self._shapes if shape.is_cover]
        drawn = {WHITE, *(shape.colour for shape in self._shapes if shape.colour is not None)}
        doubtful: dict[Colour, bool] = {}
        for text in self._texts:
            is_doubtful = False
            if text.colour is not None:
                if text.colour not in doubtful:
                    doubtful[text.colour] = any(_is_same(text.colour, colour) for colour in drawn)
                is_doubtful = doubtful[text.colour] and self._is_on_its_colour(text, text.colour)
            if is_doubtful or any(shape.at > text.at and shape.rect.covers(text.rect) for shape in covers):
                self.drawings.hidden.add(text.address)
        pictures = [turned(rect, -self._rotation) for rect in self.drawings.pictures]
        for text in self._invisible:
            if not any(rect.holds(*text.rect.middle) for rect in pictures):
                self.drawings.hidden.add(text.address)

    def _is_on_its_colour(self, text: _Text, colour: Colour) -> bool:
        below: Colour | None = WHITE
        x, y = text.rect.middle
        for shape in self._shapes:
            if shape.at < text.at and shape.rect.holds(x, y):
                below = shape.colour
        return below is not None and _is_same(colour, below)

    # -------------------------------------------------------------------------------------------- paths
    def _path(self, drawn: object, matrix: Matrix) -> None:
        self._paths += 1
        rect = matrix.rect(_bounds(drawn))
        if self._paths > MAX_PATHS or max(rect.width, rect.height) < SHORT:
            return
        fill = ctypes.c_int()
        stroke = ctypes.c_int()
        pdfium_c.FPDFPath_GetDrawMode(drawn, fill, stroke)
        if not fill.value and not stroke.value:
            return
        shown = turned(rect, self._rotation)
        count = pdfium_c.FPDFPath_CountSegments(drawn)
        segments = list(_segments(drawn, _matrix(drawn).then(matrix))) if count <= MAX_SEGMENTS else []
        if stroke.value and not _is_clear(_colour(drawn, pdfium_c.FPDFPageObj_GetStrokeColor)):
            for start, end in segments:
                self._border(start, end)
        if not fill.value:
            return
        colour = _colour(drawn, pdfium_c.FPDFPageObj_GetFillColor)
        if _is_clear(colour):
            return
        is_rectangle = 0 < count <= 6 and all(_is_straight(start, end) for start, end in segments)
        if min(shown.width, shown.height) <= THIN:
            if is_rectangle:
                self._thin(shown)
            return
        opaque = colour[:3] if colour is not None and colour[3] == OPAQUE else None
        is_cover = is_rectangle and opaque is not None and not pdfium_c.FPDFPageObj_HasTransparency(drawn)
        self._shapes.append(_Shape(rect, opaque, is_cover, self._read))
        if 6 < count <= MAX_SEGMENTS and not stroke.value:  # several thin rectangles in one path
            for part in _subpaths(segments):
                box = turned(part, self._rotation)
                if min(box.width, box.height) <= THIN:
                    self._thin(box)

    def _thin(self, shown: Rect) -> None:
        if shown.width >= max(SHORT, shown.height):
            self.drawings.across.append(Border((shown.top + shown.bottom) / 2, shown.left, shown.right))
        elif shown.height >= SHORT:
            self.drawings.down.append(Border((shown.left + shown.right) / 2, shown.bottom, shown.top))

    def _border(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        if not _is_straight(start, end):
            return
        xs = sorted((start[0], end[0]))
        ys = sorted((start[1], end[1]))
        shown = turned(Rect(xs[0], ys[0], xs[1], ys[1]), self._rotation)
        self._thin(shown)


def page_drawings(page: pypdfium2.PdfPage, layers: Layers) -> Drawings:
    """Raises nothing for what is odd: a page whose objects can't be read has no drawings."""
    rotation = page.get_rotation()
    media = Rect(*page.get_mediabox())
    crop = Rect(*page.get_cropbox())
    visible = Rect(
        max(media.left, crop.left),
        max(media.bottom, crop.bottom),
        min(media.right, crop.right),
        min(media.top, crop.top),
    )
    drawings = Drawings(page=visible if visible.width > 0 and visible.height > 0 else media)
    _Reader(page, drawings, layers, rotation).read()
    return drawings


# ------------------------------------------------------------------------------------------------ pdfium's values
def _address(drawn: object) -> int:
    return ctypes.cast(drawn, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _bounds(drawn: object) -> Rect:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium_c.FPDFPageObj_GetBounds(drawn, left, bottom, right, top)
    return Rect(left.value, bottom.value, right.value, top.value)


def _matrix(drawn: object) -> Matrix:
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(drawn, matrix):
        return IDENTITY
    return Matrix(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _colour(drawn: object, get: object) -> tuple[int, int, int, int] | None:
    """Red, green, blue and alpha; None where it has no single one."""
    parts = [ctypes.c_uint() for _ in range(4)]
    if not get(drawn, *parts):  # type: ignore[operator]
        return None
    red, green, blue, alpha = (part.value for part in parts)
    return red, green, blue, alpha


def _is_clear(colour: tuple[int, int, int, int] | None) -> bool:
    return colour is not None and colour[3] == 0


def _is_same(one: Colour, other: Colour) -> bool:
    return all(abs(first - second) <= SAME_COLOUR for first, second in zip(one, other, strict=True))


def _is_tiny(drawn: object, rect: Rect, matrix: Matrix) -> bool:
    if min(rect.width, rect.height) > 2 * LEAST_TYPE:
        return False
    size = ctypes.c_float()
    pdfium_c.FPDFTextObj_GetFontSize(drawn, size)
    placed = _matrix(drawn).then(matrix)
    return size.value * math.hypot(placed.c, placed.d) < LEAST_TYPE


def _is_straight(start: tuple[float, float], end: tuple[float, float]) -> bool:
    return min(abs(start[0] - end[0]), abs(start[1] - end[1])) < 1


def _segments(drawn: object, matrix: Matrix) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The lines of a path; a curve is the line between its ends."""
    first = here = (0.0, 0.0)
    x = ctypes.c_float()
    y = ctypes.c_float()
    for at in range(pdfium_c.FPDFPath_CountSegments(drawn)):
        segment = pdfium_c.FPDFPath_GetPathSegment(drawn, at)
        if not pdfium_c.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        point = matrix.point(x.value, y.value)
        if pdfium_c.FPDFPathSegment_GetType(segment) == pdfium_c.FPDF_SEGMENT_MOVETO:
            first = point
        else:
            yield here, point
        here = point
        if pdfium_c.FPDFPathSegment_GetClose(segment) and here != first:
            yield here, first
            here = first


def _subpaths(segments: list[tuple[tuple[float, float], tuple[float, float]]]) -> Iterator[Rect]:
    """The rectangle around each run of lines that go on where the one before ended."""
    points: list[tuple[float, float]] = []
    for start, end in segments:
        if points and points[-1] != start:
            yield _around(points)
            points = []
        points += [start, end]
    if points:
        yield _around(points)


def _around(points: list[tuple[float, float]]) -> Rect:
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    return Rect(min(xs), min(ys), max(xs), max(ys))
