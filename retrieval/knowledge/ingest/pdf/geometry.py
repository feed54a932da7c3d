"""Rectangles, lines and matrices on a PDF's page, in points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SNAP = 3.0  # points that borders of one line of cells may lie apart


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
        return 2 * (min(self.top, other.top) - max(self.bottom, other.bottom)) > min(
            self.height, other.height
        )

    def beside(self, other: Rect) -> bool:
        """Whether both stand on one line, whichever way it runs."""
        across = min(self.top, other.top) - max(self.bottom, other.bottom)
        down = min(self.right, other.right) - max(self.left, other.left)
        return 2 * across > min(self.height, other.height) or 2 * down > min(
            self.width, other.width
        )


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
        corners = [
            self.point(x, y) for x in (rect.left, rect.right) for y in (rect.bottom, rect.top)
        ]
        xs = [x for x, _ in corners]
        ys = [y for _, y in corners]
        return Rect(min(xs), min(ys), max(xs), max(ys))


def joined_borders(borders: Iterable[Border]) -> list[Border]:
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


def rect_around(points: list[tuple[float, float]]) -> Rect:
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    return Rect(min(xs), min(ys), max(xs), max(ys))
