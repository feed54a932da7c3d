"""What is drawn on a PDF's page beside its text: the lines between the cells of tables, pictures, and which text they
leave visible."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium_c

from retrieval.knowledge.ingest.pdf.geometry import (
    IDENTITY,
    NOWHERE,
    Border,
    Matrix,
    Rect,
    joined_borders,
    turned,
)
from retrieval.knowledge.ingest.pdf.layers import Layers
from retrieval.knowledge.ingest.pdf.page_objects import (
    WHITE,
    Colour,
    Segment,
    address_of,
    bounds_of,
    colour_of,
    is_clear,
    is_same_colour,
    is_straight,
    is_tiny,
    matrix_of,
    segments_of,
    subpaths,
)

MAX_OBJECTS = 30_000  # of a page, that are looked at
MAX_PATHS = 6_000  # of a page: what has more is a drawing, not tables
MAX_SEGMENTS = 400  # of a path: what has more is a drawing
RECTANGLE = 6  # segments of its path, at most
MAX_DEPTH = 8  # of forms in forms
THIN = 3.0  # points: a filled shape of this width is a line
SHORT = 4.0  # points: no border of a cell is shorter
OPAQUE = 255
INVISIBLE_TEXT = 3  # a text render mode


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

    def __init__(
        self, page: pypdfium2.PdfPage, drawings: Drawings, layers: Layers, rotation: int
    ) -> None:
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
        self.drawings.across = joined_borders(self.drawings.across)
        self.drawings.down = joined_borders(self.drawings.down)
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
                    self._objects(drawn, matrix_of(drawn).then(matrix), depth + 1, is_shown=is_seen)
                continue
            if not is_seen:
                self.drawings.hidden.add(address_of(drawn))
                continue
            match kind:
                case pdfium_c.FPDF_PAGEOBJ_TEXT:
                    self._text(drawn, matrix)
                case pdfium_c.FPDF_PAGEOBJ_PATH:
                    self._path(drawn, matrix)
                case pdfium_c.FPDF_PAGEOBJ_IMAGE:
                    rect = matrix.rect(bounds_of(drawn))
                    self.drawings.pictures.append(turned(rect, self._rotation))
                    self._shapes.append(_Shape(rect, None, False, self._read))
                case pdfium_c.FPDF_PAGEOBJ_SHADING:
                    self._shapes.append(
                        _Shape(matrix.rect(bounds_of(drawn)), None, False, self._read)
                    )

    # -------------------------------------------------------------------------------------------- text
    def _text(self, drawn: object, matrix: Matrix) -> None:
        rect = matrix.rect(bounds_of(drawn))
        mode = pdfium_c.FPDFTextObj_GetTextRenderMode(drawn)
        address = address_of(drawn)
        page = self.drawings.page
        is_outside = (
            rect.right < page.left
            or rect.left > page.right
            or rect.top < page.bottom
            or rect.bottom > page.top
        )
        if is_outside or is_tiny(drawn, rect, matrix):
            self.drawings.hidden.add(address)
            return
        if not page.covers(rect, 0):
            self.drawings.at_the_edge.add(address)
        if mode == INVISIBLE_TEXT:
            self._invisible.append(_Text(address, rect, None, self._read))
            return
        colour = colour_of(drawn, pdfium_c.FPDFPageObj_GetFillColor) if mode == 0 else None
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
                    doubtful[text.colour] = any(
                        is_same_colour(text.colour, colour) for colour in drawn
                    )
                is_doubtful = doubtful[text.colour] and self._is_on_its_colour(text, text.colour)
            if is_doubtful or any(
                shape.at > text.at and shape.rect.covers(text.rect) for shape in covers
            ):
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
        return below is not None and is_same_colour(colour, below)

    # -------------------------------------------------------------------------------------------- paths
    def _path(self, drawn: object, matrix: Matrix) -> None:
        self._paths += 1
        rect = matrix.rect(bounds_of(drawn))
        if self._paths > MAX_PATHS or max(rect.width, rect.height) < SHORT:
            return
        fill = ctypes.c_int()
        stroke = ctypes.c_int()
        pdfium_c.FPDFPath_GetDrawMode(drawn, fill, stroke)
        if not fill.value and not stroke.value:
            return
        count = pdfium_c.FPDFPath_CountSegments(drawn)
        segments = (
            list(segments_of(drawn, matrix_of(drawn).then(matrix))) if count <= MAX_SEGMENTS else []
        )
        if stroke.value and not is_clear(colour_of(drawn, pdfium_c.FPDFPageObj_GetStrokeColor)):
            for start, end in segments:
                self._border(start, end)
        if fill.value:
            self._filled(drawn, rect, segments, count=count, is_stroked=bool(stroke.value))

    def _filled(
        self,
        drawn: object,
        rect: Rect,
        segments: Sequence[Segment],
        *,
        count: int,
        is_stroked: bool,
    ) -> None:
        """A thin rectangle is a border; everything else may hide what is below it. segments: none of a path that has too
        many; count: of all."""
        colour = colour_of(drawn, pdfium_c.FPDFPageObj_GetFillColor)
        if is_clear(colour):
            return
        shown = turned(rect, self._rotation)
        is_straight_path = all(is_straight(start, end) for start, end in segments)
        is_rectangle = 0 < count <= RECTANGLE and is_straight_path
        if min(shown.width, shown.height) <= THIN:
            if is_rectangle:
                self._thin(shown)
            return
        opaque = colour[:3] if colour is not None and colour[3] == OPAQUE else None
        has_transparency = pdfium_c.FPDFPageObj_HasTransparency(drawn)
        is_cover = is_rectangle and opaque is not None and not has_transparency
        self._shapes.append(_Shape(rect, opaque, is_cover, self._read))
        if RECTANGLE < count <= MAX_SEGMENTS and not is_stroked:
            self._thin_parts(segments)

    def _thin_parts(self, segments: Sequence[Segment]) -> None:
        """Several thin rectangles in one path."""
        for part in subpaths(segments):
            box = turned(part, self._rotation)
            if min(box.width, box.height) <= THIN:
                self._thin(box)

    def _thin(self, shown: Rect) -> None:
        if shown.width >= max(SHORT, shown.height):
            self.drawings.across.append(
                Border((shown.top + shown.bottom) / 2, shown.left, shown.right)
            )
        elif shown.height >= SHORT:
            self.drawings.down.append(
                Border((shown.left + shown.right) / 2, shown.bottom, shown.top)
            )

    def _border(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        if not is_straight(start, end):
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
