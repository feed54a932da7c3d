"""What pdfium knows about an object that is drawn on a page."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Iterator

import pypdfium2.raw as pdfium_c

from retrieval.knowledge.ingest.pdf.geometry import IDENTITY, Matrix, Rect, rect_around

LEAST_TYPE = 1.5  # points: nobody reads smaller type
SAME_COLOUR = 12  # of 255, in each part: not to be told apart
Colour = tuple[int, int, int]
Segment = tuple[tuple[float, float], tuple[float, float]]  # from one place to another
WHITE: Colour = (255, 255, 255)


def address_of(drawn: object) -> int:
    return ctypes.cast(drawn, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def bounds_of(drawn: object) -> Rect:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium_c.FPDFPageObj_GetBounds(drawn, left, bottom, right, top)
    return Rect(left.value, bottom.value, right.value, top.value)


def matrix_of(drawn: object) -> Matrix:
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(drawn, matrix):
        return IDENTITY
    return Matrix(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def colour_of(drawn: object, get: object) -> tuple[int, int, int, int] | None:
    """Red, green, blue and alpha; None where it has no single one."""
    parts = [ctypes.c_uint() for _ in range(4)]
    if not get(drawn, *parts):  # type: ignore[operator]
        return None
    red, green, blue, alpha = (part.value for part in parts)
    return red, green, blue, alpha


def is_clear(colour: tuple[int, int, int, int] | None) -> bool:
    return colour is not None and colour[3] == 0


def is_same_colour(one: Colour, other: Colour) -> bool:
    return all(abs(first - second) <= SAME_COLOUR for first, second in zip(one, other, strict=True))


def is_tiny(drawn: object, rect: Rect, matrix: Matrix) -> bool:
    if min(rect.width, rect.height) > 2 * LEAST_TYPE:
        return False
    size = ctypes.c_float()
    pdfium_c.FPDFTextObj_GetFontSize(drawn, size)
    placed = matrix_of(drawn).then(matrix)
    return size.value * math.hypot(placed.c, placed.d) < LEAST_TYPE


def is_straight(start: tuple[float, float], end: tuple[float, float]) -> bool:
    return min(abs(start[0] - end[0]), abs(start[1] - end[1])) < 1


def segments_of(drawn: object, matrix: Matrix) -> Iterator[Segment]:
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


def subpaths(segments: Iterable[Segment]) -> Iterator[Rect]:
    """The rectangle around each run of lines that go on where the one before ended."""
    points: list[tuple[float, float]] = []
    for start, end in segments:
        if points and points[-1] != start:
            yield rect_around(points)
            points = []
        points += [start, end]
    if points:
        yield rect_around(points)
