"""Tables of a PDF's page without lines: runs of rows that have their columns in common.

Text in columns that is no table differs from one by its lines, which fill their columns.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrieval.knowledge.ingest.pdf.rows import (
    Columns,
    GridRow,
    PageTable,
    WordRow,
    cell_of,
    line_of,
    rows_of,
)
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine

GAP = 0.75  # of a line's height, between two words: they may stand in different columns
NARROW = 0.6  # of a line's height: the least gap between two columns
PARTED = 2.2  # of a line's height, between two rows: another table
AWAY = 1.4  # of the usual step from row to row
LOOSE = 1.25  # of the least step: lines further apart stand in different rows
FULL = 0.8  # of a column's width: a line that fills it
PROSE_SHARE = 0.6  # of a column's lines that fill it: text in columns
PROSE_WORDS = 3.0  # of a cell on the average: less is a table
MAX_COLUMNS = 60
# What stands before the text of a list's entry: a bullet, "1.", "2.3", "(a)", "iv."
_LABEL = re.compile(r"\W{0,3}(?:\d{1,3}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivx]{1,5})?\W{0,2}")


@dataclass(frozen=True, slots=True)
class _Part:
    """Words of a row that stand near each other. lines: which of the page's each is of."""

    pieces: tuple[LinePiece, ...]
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


class ColumnFinder:
    """Finds runs of rows that have their columns in common, among the lines that no border holds."""

    def __init__(self, lines: Sequence[tuple[int, TextLine]]) -> None:
        self._lines = dict(lines)
        words = [(piece, at) for at, line in lines if line.turn == 0 for piece in line.pieces]
        self._rows = [_parted(row) for row in rows_of(words)]
        self._gone: set[int] = set()  # lines that are read again

    def read(self) -> list[Placed]:
        placed: list[Placed] = []
        begin = 0
        while begin < len(self._rows):
            end = self._end_of_run(begin)
            columns = columns_of(self._rows[begin:end])
            while (
                columns
                and end - begin > 1
                and (bad := self._misfit(begin, end, columns)) is not None
            ):
                end = bad
                columns = columns_of(self._rows[begin:end])
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
            placed = [column_span(part, columns) for part in split_at_columns(row, columns)]
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
            parts = split_at_columns(row, columns)
            across = across or len({line for part in parts for line in part.lines}) < len(parts)
            for part in parts:
                span = column_span(part, columns) or (0, 0)
                told.append((span[0], number, part))
        if not across:
            return []
        lines = {line for _, _, part in told for line in part.lines}
        first = min(lines)
        self._gone |= lines
        return [
            (
                (first, column + 1, number),
                line_of(part.pieces, self._lines[part.lines[0]], part.pieces[0].rect),
            )
            for column, number, part in told
        ]

    def _table(self, run: Sequence[_PartedRow], columns: Columns) -> PageTable:
        lines: list[list[list[tuple[LinePiece, int]]]] = []
        wide_rows = 0
        for number, row in enumerate(run):
            cells: list[list[tuple[LinePiece, int]]] = [[] for _ in columns]
            for part in split_at_columns(row, columns):
                first, last = column_span(part, columns) or (0, 0)
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
                GridRow([cell_of(cell, self._lines) for cell in cells], number < head)
                for number, cells in enumerate(rows)
            ],
            columns=columns,
            at=min(held),
        )

    def _bold_rows(self, rows: Sequence[Sequence[Sequence[tuple[LinePiece, int]]]]) -> int:
        count = 0
        while count < len(rows) and all(
            self._lines[line].is_bold for cell in rows[count] for _, line in cell
        ):
            count += 1
        return count if count < len(rows) else 0


_Line = list[list[tuple[LinePiece, int]]]  # the words of each of its cells


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


def parted_rows(words: Iterable[tuple[int, LinePiece, int]]) -> list[_PartedRow]:
    return [_parted(row) for row in rows_of([(piece, at) for _, piece, at in words])]


def _parted(row: WordRow) -> _PartedRow:
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


def columns_of(run: Sequence[_PartedRow]) -> Columns:
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
            (min(row.parts[at].left for row in full), max(row.parts[at].right for row in full))
            for at in range(count)
        ]
        least = 0.0 if len(full) > 2 else NARROW * full[0].height / 2
        if all(right[0] - left[1] >= least for left, right in itertools.pairwise(columns)):
            return columns
    return uncrossed([row for row in run if len(row.parts) > 1])


def uncrossed(rows: Sequence[_PartedRow]) -> Columns:
    spans = sorted((part.left, part.right) for row in rows for part in row.parts)
    columns: list[tuple[float, float]] = []
    height = max((row.height for row in rows), default=0.0)
    for left, right in spans:
        if columns and left - columns[-1][1] < NARROW * height:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns if 1 < len(columns) <= MAX_COLUMNS else []


def split_at_columns(row: _PartedRow, columns: Columns) -> list[_Part]:
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


def column_span(part: _Part, columns: Columns) -> tuple[int, int] | None:
    """The first and the last column that a part stands in; None: outside of all."""
    met = [
        at for at, (left, right) in enumerate(columns) if part.left < right and left < part.right
    ]
    if met:
        return met[0], met[-1]
    nearest = min(
        range(len(columns)),
        key=lambda at: min(abs(part.left - columns[at][1]), abs(part.right - columns[at][0])),
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
    return len(columns) == 2 and all(
        _LABEL.fullmatch(row.parts[0].text) for row in run if len(row.parts) > 1
    )


def _is_prose(run: Sequence[_PartedRow], columns: Columns) -> bool:
    """Whether in each column lines of several words fill it, as the lines of a text do."""
    cells: list[list[_Part]] = [[] for _ in columns]
    for row in run:
        for part in split_at_columns(row, columns):
            span = column_span(part, columns)
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
