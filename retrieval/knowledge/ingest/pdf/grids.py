"""Tables of a PDF's page whose cells are parted by lines. A cell that spans several places stands in each of them."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from retrieval.knowledge.ingest.pdf.drawings import Drawings
from retrieval.knowledge.ingest.pdf.geometry import SNAP, Border, Rect
from retrieval.knowledge.ingest.pdf.rows import (
    Columns,
    GridRow,
    PageTable,
    are_same,
    cell_of,
    rows_of,
)
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine, TextRun

CLOSED = 0.7  # of a cell's side: what is drawn of it parts two cells
MAX_BORDERS = 1_500  # of a page: what has more is a drawing
SHORTEST = 8.0  # points: a line that reaches further beyond its table's outermost line is the border of a cell
DISTINCT_SHARE = 0.4  # of the places of a grid: of fewer cells is a drawing
FILLED_SHARE = 0.25  # of its cells: where fewer hold words
MAX_GRID = 40_000  # cells of a page's grids


@dataclass(slots=True)
class Grid:
    """The borders of cells that hang together. xs from the left, ys from the top."""

    across: list[Border]
    down: list[Border]
    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.xs = _snapped(border.at for border in self.down)
        self.ys = _snapped(border.at for border in self.across)[::-1]
        # Lines between the cells alone reach as far as the cells at the edge do.
        edges = [border.start for border in self.across], [border.end for border in self.across]
        self.xs = _with_edges(self.xs, min(edges[0]), max(edges[1]))
        edges = [border.start for border in self.down], [border.end for border in self.down]
        self.ys = _with_edges(self.ys[::-1], min(edges[0]), max(edges[1]))[::-1]

    def table(
        self,
        lines: Mapping[int, TextLine],
        pieces: Sequence[tuple[LinePiece, int]],
        used: set[int],
        *,
        goes_on: Columns | None,
    ) -> PageTable | None:
        """None where it is no table. Takes its words."""
        if len(self.xs) < 3 or len(self.ys) < 2:
            return None
        cells = self._merged()
        held, taken = self._held(cells, pieces, used)
        if self._is_drawing(cells, held):
            return None
        rows, starts = self._rows(cells, held, lines)
        columns = tuple(itertools.pairwise(self.xs))
        if len(rows) < 2 and not (goes_on and are_same(columns, goes_on)):
            return None
        used.update(taken)
        head = self._head_rows(rows, cells, starts, held, lines)
        grid_rows = []
        for number, (runs, start) in enumerate(zip(rows, starts, strict=True)):
            if any(run.text for run in runs):
                is_section = len(set(self._cells_of_row(cells, start))) == 1
                grid_rows.append(GridRow(runs, number < head, is_section))
        return PageTable(
            rows=grid_rows, columns=columns, at=min(pieces[number][1] for number in taken)
        )

    @property
    def _width(self) -> int:
        """In cells."""
        return len(self.xs) - 1

    def _cells_of_row(self, cells: Sequence[int], row: int) -> Sequence[int]:
        return cells[row * self._width : (row + 1) * self._width]

    def _held(
        self, cells: Sequence[int], pieces: Sequence[tuple[LinePiece, int]], used: set[int]
    ) -> tuple[dict[int, list[tuple[LinePiece, int]]], list[int]]:
        """The words of each cell, and the numbers of the pieces that lie in the grid as a whole."""
        held: dict[int, list[tuple[LinePiece, int]]] = {}
        taken: list[int] = []
        for number, (whole, at) in enumerate(pieces):
            if number in used:
                continue
            placed = [(part, self._place(part.rect)) for part in self._parts(whole)]
            if any(place is None for _, place in placed):
                continue
            taken.append(number)
            for part, place in placed:
                held.setdefault(cells[place or 0], []).append((part, at))
        return held, taken

    def _is_drawing(self, cells: Sequence[int], held: Collection[int]) -> bool:
        """Whether words stand in one column alone, or in few cells, or the cells are few for such a grid."""
        distinct = len(set(cells))
        if len({cell % self._width for cell in held}) < 2:
            return True
        return distinct < DISTINCT_SHARE * len(cells) or len(held) < FILLED_SHARE * distinct

    def _rows(
        self,
        cells: Sequence[int],
        held: Mapping[int, list[tuple[LinePiece, int]]],
        lines: Mapping[int, TextLine],
    ) -> tuple[list[list[TextRun]], list[int]]:
        """The texts of each row, and the grid's row that it is of."""
        height = len(self.ys) - 1
        rows: list[list[TextRun]] = []
        starts: list[int] = []
        for row in range(height):
            several = [held.get(cell, []) for cell in self._cells_of_row(cells, row)]
            is_body = height <= 2 and row == height - 1
            bands = self._unruled_rows(several) if is_body else [several]
            for band in bands:
                rows.append([cell_of(words, lines) for words in band])
                starts.append(row)
        return rows, starts

    def _merged(self) -> list[int]:
        """Which cell each place of the grid is of, row by row: places without a border between them are one cell."""
        width = len(self.xs) - 1
        height = len(self.ys) - 1
        cell_of = list(range(width * height))

        def root(place: int) -> int:
            while cell_of[place] != place:
                place = cell_of[place]
            return place

        across = _by_place(self.across, self.ys)
        down = _by_place(self.down, self.xs)
        for row, column in itertools.product(range(height), range(width)):
            place = row * width + column
            left = self.xs[column]
            right = self.xs[column + 1]
            top = self.ys[row]
            bottom = self.ys[row + 1]
            if column + 1 < width and not _is_closed(down[column + 1], bottom, top):
                one, other = sorted((root(place), root(place + 1)))
                cell_of[other] = one
            if row + 1 < height and not _is_closed(across[row + 1], left, right):
                one, other = sorted((root(place), root(place + width)))
                cell_of[other] = one
        return [root(place) for place in range(width * height)]

    def _place(self, rect: Rect) -> int | None:
        x, y = rect.middle
        if not self.xs[0] - 1 <= x <= self.xs[-1] + 1 or not self.ys[-1] - 1 <= y <= self.ys[0] + 1:
            return None
        column = min(max(bisect_right(self.xs, x) - 1, 0), len(self.xs) - 2)
        row = next((at for at in range(len(self.ys) - 1) if y >= self.ys[at + 1]), len(self.ys) - 2)
        return row * (len(self.xs) - 1) + column

    def _parts(self, piece: LinePiece) -> Iterator[LinePiece]:
        """A word that a border cuts is two: no blank was written between two cells."""
        left, bottom, right, top = piece.rect
        count = len(piece.run.text)
        cuts = [
            x
            for x in self.xs[1:-1]
            if left + 2 < x < right - 2 and self._cuts(x, (bottom + top) / 2)
        ]
        if not cuts or count < 2:
            yield piece
            return
        places = [left, *cuts, right]
        chars = [round(count * (x - left) / (right - left)) for x in places]
        for (start, end), (x0, x1) in zip(
            itertools.pairwise(chars), itertools.pairwise(places), strict=True
        ):
            if end > start:
                yield LinePiece(piece.run.part(start, end), Rect(x0, bottom, x1, top))

    def _cuts(self, x: float, y: float) -> bool:
        return any(
            abs(border.at - x) <= SNAP and border.start <= y <= border.end for border in self.down
        )

    def _unruled_rows(
        self, cells: Sequence[list[tuple[LinePiece, int]]]
    ) -> list[list[list[tuple[LinePiece, int]]]]:
        """A band without lines between its rows: a row begins wherever its first column has another line."""
        rows = rows_of([pair for cell in cells for pair in cell])
        if len(rows) < 3:
            return [list(cells)]
        parts: list[list[list[tuple[LinePiece, int]]]] = []
        for row in rows:
            placed: list[list[tuple[LinePiece, int]]] = [[] for _ in cells]
            for pair in zip(row.pieces, row.lines, strict=True):
                column = next(at for at, cell in enumerate(cells) if pair in cell)
                placed[column].append(pair)
            if placed[0] or not parts:
                parts.append(placed)
            else:
                for cell, more in zip(parts[-1], placed, strict=True):
                    cell += more
        return parts

    def _head_rows(
        self,
        rows: Sequence[Sequence[TextRun]],
        cells: Sequence[int],
        starts: Sequence[int],
        held: dict[int, list[tuple[LinePiece, int]]],
        lines: Mapping[int, TextLine],
    ) -> int:
        """The first rows that are set apart by their type or their colour, with those that their cells reach into."""
        set_apart = 0
        while set_apart < len(rows) - 1 and self._is_set_apart(
            starts[set_apart], cells, held, lines
        ):
            set_apart += 1
        if set_apart == len(rows) - 1:  # all of it looks alike
            return 0
        reach = self._reach(cells, starts)
        if reach and reach < len(rows) - 1:
            return max(set_apart, reach + 1)
        return set_apart

    def _reach(self, cells: Sequence[int], starts: Sequence[int]) -> int:
        """The last row that the cells of the first rows reach into, or that a cell over several columns stands above."""
        reach = 0
        for row, start in enumerate(starts[:-1]):
            if row > reach:
                break
            own = set(self._cells_of_row(cells, start))
            if 1 < len(own) < self._width:
                reach = max(reach, row + 1)
            lowest = max(place // self._width for place, cell in enumerate(cells) if cell in own)
            reach = max(reach, lowest - starts[0])
            if row == 0 and not reach:
                break
        return reach

    def _is_set_apart(
        self,
        row: int,
        cells: Sequence[int],
        held: dict[int, list[tuple[LinePiece, int]]],
        lines: Mapping[int, TextLine],
    ) -> bool:
        width = len(self.xs) - 1
        words = [
            pair for column in range(width) for pair in held.get(cells[row * width + column], [])
        ]
        if not words:
            return False
        return all(lines[at].is_bold for _, at in words)


def grids(drawings: Drawings) -> Iterator[Grid]:
    """Borders that meet each other, from the top."""
    across = drawings.across
    down = drawings.down
    if len(across) + len(down) > MAX_BORDERS:
        return
    groups: list[int] = list(range(len(across) + len(down)))

    def root(at: int) -> int:
        while groups[at] != at:
            groups[at] = groups[groups[at]]
            at = groups[at]
        return at

    for one, flat in enumerate(across):
        for other, upright in enumerate(down, len(across)):
            if meets(flat, upright):
                groups[root(one)] = root(other)
    found: dict[int, tuple[list[Border], list[Border]]] = {}
    for at, border in enumerate([*across, *down]):
        found.setdefault(root(at), ([], []))[at >= len(across)].append(border)
    grids = [
        Grid(flat, upright)
        for flat, upright in found.values()
        if len(flat) > 1 and len(upright) > 1
    ]
    # The smaller first: a table in a cell of a layout is a table.
    grids.sort(key=lambda grid: (grid.ys[0] - grid.ys[-1]) * (grid.xs[-1] - grid.xs[0]))
    cells = 0
    for grid in grids:
        cells += len(grid.xs) * len(grid.ys)
        if cells <= MAX_GRID:
            yield grid


def meets(flat: Border, upright: Border) -> bool:
    is_within = flat.start - SNAP <= upright.at <= flat.end + SNAP
    return is_within and upright.start - SNAP <= flat.at <= upright.end + SNAP


def _snapped(places: Iterable[float]) -> list[float]:
    """In order, those that lie near each other once."""
    snapped: list[float] = []
    for place in sorted(places):
        if not snapped or place - snapped[-1] > SNAP:
            snapped.append(place)
    return snapped


def _with_edges(places: list[float], first: float, last: float) -> list[float]:
    before = [first] if places[0] - first > SHORTEST else []
    after = [last] if last - places[-1] > SHORTEST else []
    return [*before, *places, *after]


def _by_place(borders: Iterable[Border], places: Sequence[float]) -> list[list[Border]]:
    by_place: list[list[Border]] = [[] for _ in places]
    for border in borders:
        nearest = min(range(len(places)), key=lambda at: abs(places[at] - border.at))
        by_place[nearest].append(border)
    return by_place


def _is_closed(borders: Sequence[Border], start: float, end: float) -> bool:
    covered = sum(max(0.0, min(end, border.end) - max(start, border.start)) for border in borders)
    return covered >= CLOSED * (end - start)
