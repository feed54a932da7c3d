"""The tables of a PDF's page: by the lines between their cells, else by columns that all of their rows have in common.

A cell that spans several stands in each of them. Text in columns that is no table is told from one by its lines, which
fill their columns.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retrieval.knowledge.ingest.pdf.drawings import SNAP, Border, Drawings, Rect
from retrieval.knowledge.ingest.pdf.text import Piece, Run, TextLine, joined, space_between

CLOSED = 0.7  # of a cell's side: what is drawn of it parts two cells
MAX_BORDERS = 1_500  # of a page: what has more is a drawing
SHORTEST = 8.0  # points: a line that reaches further beyond its table's outermost line is the border of a cell
MIN_RULES = 4  # below each other, of one length: they part the rows of a table
DISTINCT_SHARE = 0.4  # of the places of a grid: of fewer cells is a drawing
FILLED_SHARE = 0.25  # of its cells: where fewer hold words
MAX_GRID = 40_000  # cells of a page's grids
GAP = 0.75  # of a line's height, between two words: they may stand in different columns
CLEAR_GAP = 1.2  # of a line's height: they do
NARROW = 0.6  # of a line's height: the least gap between two columns
PARTED = 2.2  # of a line's height, between two rows: another table
AWAY = 1.4  # of the usual step from row to row
LOOSE = 1.25  # of the least step: lines further apart stand in different rows
SAME_ROW = 0.5  # of a line's height
FULL = 0.8  # of a column's width: a line that fills it
PROSE_SHARE = 0.6  # of a column's lines that fill it: text in columns
PROSE_WORDS = 3.0  # of a cell on the average: less is a table
MAX_COLUMNS = 60
# What stands before the text of a list's entry: a bullet, "1.", "2.3", "(a)", "iv."
_LABEL = re.compile(r"\W{0,3}(?:\d{1,3}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivx]{1,5})?\W{0,2}")


Columns = Sequence[tuple[float, float]]  # the left and right side of each, in points


class GridRow(NamedTuple):
    """is_head: its type or its cells show that it names the columns. is_section: one cell over the whole width."""

    cells: list[Run]
    is_head: bool = False
    is_section: bool = False


@dataclass(frozen=True, slots=True)
class PageTable:
    """rows: all equally long. at: which line of the page it begins with."""

    rows: list[GridRow]
    columns: Columns
    at: int

    def goes_on_from(self, columns: Columns) -> bool:
        """Whether its columns are those of a table that the page before ends with."""
        return are_same(self.columns, columns)


def are_same(columns: Columns, other: Columns) -> bool:
    """Whether they stand at the same places."""
    return len(columns) == len(other) and all(
        min(abs(one[0] - another[0]), abs(one[1] - another[1])) <= 2 * SNAP
        for one, another in zip(columns, other, strict=True)
    )


@dataclass(slots=True)
class _Row:
    """What stands on one height of the page. line: of each piece, which of the page's lines it is of."""

    pieces: list[Piece]
    lines: list[int]
    rect: Rect

    def add(self, piece: Piece, line: int) -> None:
        self.pieces.append(piece)
        self.lines.append(line)
        self.rect = self.rect.around(piece.rect)


def page_layout(
    page_lines: Sequence[TextLine], drawings: Drawings, *, goes_on: Columns | None = None
) -> list[TextLine | PageTable]:
    """The page's tables, and what is left of its lines, in reading order.

    page_lines: with their pieces. goes_on: the columns of a table that the page before ends with.
    """
    lines = dict(enumerate(page_lines))
    pieces = [(piece, at) for at, line in lines.items() for piece in line.pieces]
    placed: list[tuple[tuple[int, int, int], TextLine | PageTable]] = []
    used: set[int] = set()  # of the pieces
    for grid in _grids(drawings):
        table = grid.table(lines, pieces, used, goes_on=goes_on)
        if table is not None:
            placed.append(((table.at, 0, 0), table))
    for rules in _row_rules(drawings):
        table = _ruled_table(rules, lines, pieces, used)
        if table is not None:
            placed.append(((table.at, 0, 0), table))
    placed += _Columns(_lines_left(lines, pieces, used)).read()
    placed.sort(key=lambda pair: pair[0])
    return [item for _, item in placed]


def _lines_left(
    lines: Mapping[int, TextLine], pieces: Sequence[tuple[Piece, int]], used: set[int]
) -> list[tuple[int, TextLine]]:
    """The lines, without the words that tables hold."""
    kept: dict[int, list[Piece]] = {at: [] for at in lines}
    cut: set[int] = set()
    for number, (piece, at) in enumerate(pieces):
        if number in used:
            cut.add(at)
        else:
            kept[at].append(piece)
    left: list[tuple[int, TextLine]] = []
    for at, line in lines.items():
        if at not in cut:
            left.append((at, line))
        elif kept[at]:
            left.append((at, line_of(kept[at], line)))
    return left


def line_of(pieces: Sequence[Piece], line: TextLine, rect: Rect | None = None) -> TextLine:
    """Some words of a line, or of several that stand on one height. rect: of its first word, where it is no other."""
    parts = [part for piece in pieces for part in ("" if piece.goes_on else " ", piece.run)][1:]
    top, bottom = (rect.top, rect.bottom) if rect is not None else (line.top, line.bottom)
    return TextLine(joined(parts), line.height, line.is_bold, line.turn, top, bottom, tuple(pieces))


# ------------------------------------------------------------------------------------------------ by their lines
@dataclass(slots=True)
class _Grid:
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
        pieces: Sequence[tuple[Piece, int]],
        used: set[int],
        *,
        goes_on: Columns | None,
    ) -> PageTable | None:
        """None where it is no table. Takes its words."""
        if len(self.xs) < 3 or len(self.ys) < 2:
            return None
        cells = self._merged()
        held: dict[int, list[tuple[Piece, int]]] = {}
        taken: list[int] = []
        for number, (whole, at) in enumerate(pieces):
            if number in used:
                continue
            parts = list(self._parts(whole))
            placed = [(part, self._place(part.rect)) for part in parts]
            if any(place is None for _, place in placed):
                continue
            taken.append(number)
            for part, place in placed:
                held.setdefault(cells[place or 0], []).append((part, at))
        distinct = len(set(cells))
        if len({cell % (len(self.xs) - 1) for cell in held}) < 2:
            return None
        if distinct < DISTINCT_SHARE * len(cells) or len(held) < FILLED_SHARE * distinct:
            return None  # a drawing
        width = len(self.xs) - 1
        rows: list[list[Run]] = []
        starts: list[int] = []  # the grid's row of each row
        for row in range(len(self.ys) - 1):
            several = [held.get(cells[row * width + column], []) for column in range(width)]
            is_body = len(self.ys) <= 3 and row == len(self.ys) - 2
            bands = self._unruled_rows(several) if is_body else [several]
            for band in bands:
                rows.append([_cell(words, lines) for words in band])
                starts.append(row)
        columns = tuple(itertools.pairwise(self.xs))
        if len(rows) < 2 and not (goes_on and are_same(columns, goes_on)):
            return None
        used.update(taken)
        head = self._head_rows(rows, cells, starts, held, lines)
        return PageTable(
            rows=[
                GridRow(runs, number < head, len({cells[start * width + at] for at in range(width)}) == 1)
                for number, (runs, start) in enumerate(zip(rows, starts, strict=True))
                if any(run.text for run in runs)
            ],
            columns=columns,
            at=min(pieces[number][1] for number in taken),
        )

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

    def _parts(self, piece: Piece) -> Iterator[Piece]:
        """A word that a border cuts is two: no blank was written between two cells."""
        left, bottom, right, top = piece.rect
        count = len(piece.run.text)
        cuts = [x for x in self.xs[1:-1] if left + 2 < x < right - 2 and self._cuts(x, (bottom + top) / 2)]
        if not cuts or count < 2:
            yield piece
            return
        places = [left, *cuts, right]
        chars = [round(count * (x - left) / (right - left)) for x in places]
        for (start, end), (x0, x1) in zip(itertools.pairwise(chars), itertools.pairwise(places), strict=True):
            if end > start:
                yield Piece(piece.run.part(start, end), Rect(x0, bottom, x1, top))

    def _cuts(self, x: float, y: float) -> bool:
        return any(abs(border.at - x) <= SNAP and border.start <= y <= border.end for border in self.down)

    def _unruled_rows(self, cells: Sequence[list[tuple[Piece, int]]]) -> list[list[list[tuple[Piece, int]]]]:
        """A band without lines between its rows: a row begins wherever its first column has another line."""
        rows = _rows([pair for cell in cells for pair in cell])
        if len(rows) < 3:
            return [list(cells)]
        parts: list[list[list[tuple[Piece, int]]]] = []
        for row in rows:
            placed: list[list[tuple[Piece, int]]] = [[] for _ in cells]
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
        rows: Sequence[Sequence[Run]],
        cells: Sequence[int],
        starts: Sequence[int],
        held: dict[int, list[tuple[Piece, int]]],
        lines: Mapping[int, TextLine],
    ) -> int:
        """The first rows that are set apart by their type or their colour, with those that their cells reach into."""
        width = len(self.xs) - 1
        set_apart = 0
        while set_apart < len(rows) - 1 and self._is_set_apart(starts[set_apart], cells, held, lines):
            set_apart += 1
        if set_apart == len(rows) - 1:  # all of it looks alike
            return 0
        reach = 0
        for row, start in enumerate(starts[:-1]):
            if row > reach:
                break
            for column in range(width):
                cell = cells[start * width + column]
                spans = [at // width for at, other in enumerate(cells) if other == cell]
                is_wide = any(
                    at // width == start and other == cell and at % width != column for at, other in enumerate(cells)
                )
                is_whole = len({cells[start * width + at] for at in range(width)}) == 1
                if is_wide and not is_whole:
                    reach = max(reach, row + 1)
                reach = max(reach, max(spans) - starts[0])
            if row == 0 and not reach:
                break
        if reach and reach < len(rows) - 1:
            return max(set_apart, reach + 1)
        return set_apart

    def _is_set_apart(
        self, row: int, cells: Sequence[int], held: dict[int, list[tuple[Piece, int]]], lines: Mapping[int, TextLine]
    ) -> bool:
        width = len(self.xs) - 1
        words = [pair for column in range(width) for pair in held.get(cells[row * width + column], [])]
        if not words:
            return False
        return all(lines[at].is_bold for _, at in words)


def _grids(drawings: Drawings) -> Iterator[_Grid]:
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
            if _meets(flat, upright):
                groups[root(one)] = root(other)
    found: dict[int, tuple[list[Border], list[Border]]] = {}
    for at, border in enumerate([*across, *down]):
        found.setdefault(root(at), ([], []))[at >= len(across)].append(border)
    grids = [_Grid(flat, upright) for flat, upright in found.values() if len(flat) > 1 and len(upright) > 1]
    # The smaller first: a table in a cell of a layout is a table.
    grids.sort(key=lambda grid: (grid.ys[0] - grid.ys[-1]) * (grid.xs[-1] - grid.xs[0]))
    cells = 0
    for grid in grids:
        cells += len(grid.xs) * len(grid.ys)
        if cells <= MAX_GRID:
            yield grid


# ------------------------------------------------------------------------------------------------ by lines below rows
def _row_rules(drawings: Drawings) -> Iterator[list[Border]]:
    """Lines of one length below each other, from the top, that no other line meets."""
    groups: list[list[Border]] = []
    if len(drawings.across) > MAX_BORDERS:
        return
    for border in sorted(drawings.across, key=lambda border: -border.at):
        if any(_meets(border, other) for other in drawings.down):
            continue
        for group in groups:
            if abs(group[0].start - border.start) <= SNAP and abs(group[0].end - border.end) <= SNAP:
                group.append(border)
                break
        else:
            groups.append([border])
    yield from (group for group in groups if len(group) >= MIN_RULES)


def _meets(flat: Border, upright: Border) -> bool:
    is_within = flat.start - SNAP <= upright.at <= flat.end + SNAP
    return is_within and upright.start - SNAP <= flat.at <= upright.end + SNAP


def _ruled_table(
    rules: Sequence[Border],
    lines: Mapping[int, TextLine],
    pieces: Sequence[tuple[Piece, int]],
    used: set[int],
) -> PageTable | None:
    """A row between each two lines, and one above the first; None where they part no rows of several columns."""
    left = rules[0].start - SNAP
    right = rules[0].end + SNAP
    ys = [rule.at for rule in rules]
    bands: list[list[tuple[int, Piece, int]]] = [[] for _ in rules]
    above: list[tuple[int, Piece, int]] = []
    for number, (piece, at) in enumerate(pieces):
        x, y = piece.rect.middle
        if number in used or lines[at].turn or not left <= x <= right or y < ys[-1]:
            continue
        if y < ys[0]:
            bands[sum(y < place for place in ys)].append((number, piece, at))
        elif y - ys[0] <= PARTED * piece.rect.height:
            above.append((number, piece, at))
    columns = _uncrossed([row for band in bands for row in _parted_rows(band)])
    lowest = _parted_rows(above)[-1:]
    if lowest and len(lowest[0].parts) > 1 and all(_column_span(part, columns) for part in _split(lowest[0], columns)):
        bands[0] = [entry for entry in above if entry[1].rect.middle[1] <= lowest[0].top]
    rows: list[list[list[tuple[Piece, int]]]] = []
    taken: list[tuple[int, int]] = []
    for band in bands:
        cells: list[list[tuple[Piece, int]]] = [[] for _ in columns]
        for row in _parted_rows(band) if columns else ():
            for part in _split(row, columns):
                column, _ = _column_span(part, columns) or (0, 0)
                cells[column] += list(zip(part.pieces, part.lines, strict=True))
        if sum(map(bool, cells)) > 1:
            rows.append(cells)
            taken += [(number, at) for number, _, at in band]
    if len(columns) < 2 or len(rows) < MIN_RULES - 1:
        return None
    used.update(number for number, _ in taken)
    return PageTable(
        rows=[GridRow([_cell(cell, lines) for cell in cells]) for cells in rows],
        columns=columns,
        at=min(at for _, at in taken),
    )


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


def _cell(words: Sequence[tuple[Piece, int]], lines: Mapping[int, TextLine]) -> Run:
    """The words of a cell, line by line."""
    if not words:
        return Run("", ())
    ordered = list(words)
    if all(lines[at].turn == 0 for _, at in words):
        ordered = [pair for row in _rows(words) for pair in zip(row.pieces, row.lines, strict=True)]
    parts: list[Run | str] = []
    text = ""
    for piece, _ in ordered:
        if text and not piece.goes_on:
            parts.append(space_between(text, piece.run.text))
        parts.append(piece.run)
        text = piece.run.text
    return joined(parts)


def _rows(words: Iterable[tuple[Piece, int]]) -> list[_Row]:
    """From the top, each from the left."""
    rows: list[_Row] = []
    for piece, line in sorted(words, key=lambda pair: -pair[0].rect.middle[1]):
        height = piece.rect.height
        if rows and abs(rows[-1].pieces[0].rect.middle[1] - piece.rect.middle[1]) <= SAME_ROW * max(height, 1.0):
            rows[-1].add(piece, line)
        else:
            rows.append(_Row([piece], [line], piece.rect))
    for row in rows:
        order = sorted(range(len(row.pieces)), key=lambda at: row.pieces[at].rect.left)
        row.pieces = [row.pieces[at] for at in order]
        row.lines = [row.lines[at] for at in order]
    return rows


# ------------------------------------------------------------------------------------------------ by their columns
@dataclass(frozen=True, slots=True)
class _Part:
    """Words of a row that stand near each other. lines: which of the page's each is of."""

    pieces: tuple[Piece, ...]
    lines: tuple[int, ...]

    @property
    def left(self) -> float:
        return self.pieces[0].rect.left

    @property
    def right(self) -> float:
        return self.pieces[-1].rect.right

    @property
    def text(self) -> str:
        return " ".join(piece.run.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class _PartedRow:
    parts: tuple[_Part, ...]
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return max(1.0, self.top - self.bottom)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


Placed = tuple[tuple[int, int, int], TextLine | PageTable]


class _Columns:
    """Finds runs of rows that have their columns in common, among the lines that no border holds."""

    def __init__(self, lines: Sequence[tuple[int, TextLine]]) -> None:
        self._lines = dict(lines)
        words = [(piece, at) for at, line in lines if line.turn == 0 for piece in line.pieces]
        self._rows = [_parted(row) for row in _rows(words)]
        self._gone: set[int] = set()  # lines that are told anew

    def read(self) -> list[Placed]:
        placed: list[Placed] = []
        begin = 0
        while begin < len(self._rows):
            end = self._end_of_run(begin)
            columns = _columns(self._rows[begin:end])
            while columns and end - begin > 1 and (bad := self._misfit(begin, end, columns)) is not None:
                end = bad
                columns = _columns(self._rows[begin:end])
            run = self._rows[begin:end]
            if not columns or not _is_enough(run, columns):
                begin += 1
                continue
            if _is_prose(run, columns):
                placed += self._column_by_column(run, columns)
            elif not _is_list(run, columns):
                table = self._table(run, columns)
                placed.append(((table.at, 0, 0), table))
            begin = end
        placed += [((at, 0, 0), line) for at, line in self._lines.items() if at not in self._gone]
        return placed

    def _end_of_run(self, begin: int) -> int:
        """Behind the last row that may belong to a table that begins there."""
        if len(self._rows[begin].parts) < 2:
            return begin
        end = begin + 1
        while end < len(self._rows):
            above = self._rows[end - 1]
            row = self._rows[end]
            if above.bottom - row.top > PARTED * max(above.height, row.height):
                break
            end += 1
        return end

    def _misfit(self, begin: int, end: int, columns: Columns) -> int | None:
        """The first row that is none of a table of these columns."""
        for at in range(begin, end):
            row = self._rows[at]
            placed = [_column_span(part, columns) for part in _split(row, columns)]
            if any(span is None for span in placed):
                return at
            known = [span for span in placed if span is not None]
            is_wide = any(first != last for first, last in known)
            is_alone = len(known) == 1
            if is_wide and (is_alone or at - begin > 2):
                return at
            if is_alone and known[0][0] == 0 and self._is_text(at, begin, end, columns[0]):
                return at
        return None

    def _is_text(self, at: int, begin: int, end: int, column: tuple[float, float]) -> bool:
        """Whether a row that stands in the first column alone is text below the table, not a row of it."""
        row = self._rows[at]
        if at + 1 == end or len(self._rows[at + 1].parts) < 2:
            return True
        step = self._rows[at - 1].middle - row.middle if at > begin else 0.0
        is_apart = step > AWAY * max(_pitch(self._rows[begin:at]), row.height)
        return is_apart or row.parts[0].left < column[0] - row.height

    def _column_by_column(self, run: Sequence[_PartedRow], columns: Columns) -> list[Placed]:
        """Text in columns; as pdfium tells it, unless its lines go across."""
        told: list[tuple[int, int, _Part]] = []
        across = False
        for number, row in enumerate(run):
            parts = _split(row, columns)
            across = across or len({line for part in parts for line in part.lines}) < len(parts)
            for part in parts:
                span = _column_span(part, columns) or (0, 0)
                told.append((span[0], number, part))
        if not across:
            return []
        lines = {line for _, _, part in told for line in part.lines}
        first = min(lines)
        self._gone |= lines
        return [
            ((first, column + 1, number), line_of(part.pieces, self._lines[part.lines[0]], part.pieces[0].rect))
            for column, number, part in told
        ]

    def _table(self, run: Sequence[_PartedRow], columns: Columns) -> PageTable:
        lines: list[list[list[tuple[Piece, int]]]] = []
        wide_rows = 0
        for number, row in enumerate(run):
            cells: list[list[tuple[Piece, int]]] = [[] for _ in columns]
            for part in _split(row, columns):
                first, last = _column_span(part, columns) or (0, 0)
                if last > first:
                    wide_rows = number + 1
                for column in range(first, last + 1):
                    cells[column] += list(zip(part.pieces, part.lines, strict=True))
            lines.append(cells)
        rows = _joined_rows(run, lines)
        held = {line for row in run for part in row.parts for line in part.lines}
        self._gone |= held
        head = min(wide_rows + 1, len(rows) - 1) if wide_rows else self._bold_rows(rows)
        return PageTable(
            rows=[
                GridRow([_cell(cell, self._lines) for cell in cells], number < head)
                for number, cells in enumerate(rows)
            ],
            columns=columns,
            at=min(held),
        )

    def _bold_rows(self, rows: Sequence[Sequence[Sequence[tuple[Piece, int]]]]) -> int:
        count = 0
        while count < len(rows) and all(self._lines[line].is_bold for cell in rows[count] for _, line in cell):
            count += 1
        return count if count < len(rows) else 0


_Line = list[list[tuple[Piece, int]]]  # the words of each of its cells


def _joined_rows(run: Sequence[_PartedRow], lines: Sequence[_Line]) -> list[_Line]:
    """Lines that are one row: near each other, with one line in the first column; or what goes on in a later column."""
    steps = [one.middle - other.middle for one, other in itertools.pairwise(run)]
    least = min(steps, default=0.0)
    blocks: list[list[int]] = [[0]]
    for at, step in enumerate(steps, 1):
        if step > LOOSE * least:
            blocks.append([])
        blocks[-1].append(at)
    pitch = _pitch(run)
    is_loose = any(len(block) > 1 for block in blocks) and len(blocks) > 2
    rows: list[_Line] = []
    for block in blocks:
        firsts = sum(bool(lines[at][0]) for at in block)
        whole = sum(all(lines[at][1:]) for at in block)  # several: the first cell spans rows
        for at in block:
            filled = sum(map(bool, lines[at]))
            is_one_row = is_loose and firsts == 1 and whole < 2 and at != block[0]
            goes_on = at > 0 and not lines[at][0] and (filled == 1 or steps[at - 1] < 0.9 * pitch)
            if rows and (is_one_row or (goes_on and not (is_loose and at == block[0]))):
                for cell, more in zip(rows[-1], lines[at], strict=True):
                    cell += more
            else:
                rows.append(lines[at])
    return rows


def _parted_rows(words: Iterable[tuple[int, Piece, int]]) -> list[_PartedRow]:
    return [_parted(row) for row in _rows([(piece, at) for _, piece, at in words])]


def _parted(row: _Row) -> _PartedRow:
    """Its words by the gaps between them."""
    height = sorted(piece.rect.height for piece in row.pieces)[len(row.pieces) // 2]
    parts: list[_Part] = []
    begin = 0
    for at in range(1, len(row.pieces) + 1):
        is_end = at == len(row.pieces)
        if is_end or row.pieces[at].rect.left - row.pieces[at - 1].rect.right > GAP * height:
            parts.append(_Part(tuple(row.pieces[begin:at]), tuple(row.lines[begin:at])))
            begin = at
    return _PartedRow(tuple(parts), row.rect.top, row.rect.bottom)


def _columns(run: Sequence[_PartedRow]) -> Columns:
    """Of the rows with the most parts, where they agree; else what no row crosses. [] for none."""
    counts = sorted((len(row.parts) for row in run), reverse=True)
    if not counts or counts[0] < 2:
        return []
    for count in dict.fromkeys(counts):
        full = [row for row in run if len(row.parts) == count]
        if count < 2 or count > MAX_COLUMNS:
            continue
        if len(full) < 2:
            continue
        columns = [
            (min(row.parts[at].left for row in full), max(row.parts[at].right for row in full)) for at in range(count)
        ]
        least = 0.0 if len(full) > 2 else NARROW * full[0].height / 2
        if all(right[0] - left[1] >= least for left, right in itertools.pairwise(columns)):
            return columns
    return _uncrossed([row for row in run if len(row.parts) > 1])


def _uncrossed(rows: Sequence[_PartedRow]) -> Columns:
    spans = sorted((part.left, part.right) for row in rows for part in row.parts)
    columns: list[tuple[float, float]] = []
    height = max((row.height for row in rows), default=0.0)
    for left, right in spans:
        if columns and left - columns[-1][1] < NARROW * height:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns if 1 < len(columns) <= MAX_COLUMNS else []


def _split(row: _PartedRow, columns: Columns) -> list[_Part]:
    """The row's parts; one that reaches into the next column is two where a gap stands there."""
    parts: list[_Part] = []
    for part in row.parts:
        begin = 0
        for at in range(1, len(part.pieces)):
            left = part.pieces[at - 1].rect
            right = part.pieces[at].rect
            is_border = any(
                left.right <= after[0] + 1
                and before[1] - 1 <= right.left
                and left.left < before[1]
                and right.right > after[0]
                for before, after in itertools.pairwise(columns)
            )
            if is_border and right.left - left.right > 0.4 * row.height:
                parts.append(_Part(part.pieces[begin:at], part.lines[begin:at]))
                begin = at
        parts.append(_Part(part.pieces[begin:], part.lines[begin:]))
    return parts


def _column_span(part: _Part, columns: Columns) -> tuple[int, int] | None:
    """The first and the last column that a part stands in; None: outside of all."""
    met = [at for at, (left, right) in enumerate(columns) if part.left < right and left < part.right]
    if met:
        return met[0], met[-1]
    nearest = min(
        range(len(columns)), key=lambda at: min(abs(part.left - columns[at][1]), abs(part.right - columns[at][0]))
    )
    left, right = columns[nearest]
    return (nearest, nearest) if part.left - right < 20 and left - part.right < 20 else None


def _pitch(run: Sequence[_PartedRow]) -> float:
    """The usual distance between two rows of several cells."""
    full = [row for row in run if len(row.parts) > 1]
    steps = sorted(one.middle - other.middle for one, other in itertools.pairwise(full))
    return steps[len(steps) // 2] if steps else 0.0


def _is_enough(run: Sequence[_PartedRow], columns: Columns) -> bool:
    """Three rows; or two of three columns, or of two that are far apart."""
    full = sum(len(row.parts) > 1 for row in run)
    return full >= 3 or (full == 2 and len(columns) > 2)


def _is_list(run: Sequence[_PartedRow], columns: Columns) -> bool:
    """Entries whose labels are set apart."""
    return len(columns) == 2 and all(_LABEL.fullmatch(row.parts[0].text) for row in run if len(row.parts) > 1)


def _is_prose(run: Sequence[_PartedRow], columns: Columns) -> bool:
    """Whether in each column lines of several words fill it, as the lines of a text do."""
    cells: list[list[_Part]] = [[] for _ in columns]
    for row in run:
        for part in _split(row, columns):
            span = _column_span(part, columns)
            if span is not None and span[0] == span[1]:
                cells[span[0]].append(part)
    for (left, right), parts in zip(columns, cells, strict=True):
        full = sum(part.right - part.left >= FULL * (right - left) for part in parts)
        words = sum(_words(part.text) for part in parts)
        if not parts or full < PROSE_SHARE * len(parts) or words < PROSE_WORDS * len(parts):
            return False
    return True


def _words(text: str) -> float:
    """An East Asian character counts half a word."""
    wide = sum(character >= "\u2e80" for character in text)
    return wide / 2 if 2 * wide > len(text) else len(text.split())
