"""Tables out of a grid of cells, whatever it came from: where each begins and ends, and which rows name its columns.

A sheet, a CSV file or a table of a text document may hold several: an empty row, a row that is a new head, a cell over
the whole width, and columns beside each other with heads of their own begin another one. What stands alone above a
table is its caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.statements import MOST_COLUMNS, column_names
from retrieval.knowledge.ingest.blocks import Table

MAX_COLUMN_NAME_CHARS = 60
MAX_CAPTION_CHARS = 200  # a longer line above a table is a text of its own
MAX_HEAD_ROWS = 3  # that are guessed
MAX_GRID_CELLS = 2_000_000  # of a table, those that spans fill included
MAX_DEPTH = 6  # of tables beside each other above tables beside each other
CAPTION_JOIN = " · "
LOOKED_AT_ROWS = 50  # of a table, to see what its columns hold
YEAR = re.compile(r"(?:19|20)\d\d(?:\s?[/–-]\s?\d{2,4})?")  # a number that may name a column
# A number with what may stand around it: a sign or a currency, and a short unit.
_VALUE = re.compile(r"[^\w\s]{0,3}(?:[A-Z]{3} ?)?[-+−]?[$€£¥]?\s?\d[\d\s.,:/'’–-]*\s?\S{0,5}")
_ERROR = re.compile(
    r"#(?:[A-Z][A-Z\d/]{1,14}[!?]|[A-Z]/[A-Z])"
)  # what is shown of a number that can't be calculated


class SpannedCell(NamedTuple):
    """A cell as HTML and Word write it. rows, columns: that it spans, from 1."""

    text: str
    rows: int = 1
    columns: int = 1


class TableRow(NamedTuple):
    """A row of a grid. number: as its program shows it. is_head: it is known to name columns. is_section: it is one
    cell over the whole width, which names the rows below."""

    cells: tuple[str, ...]
    number: int | None = None
    page: int | None = None
    is_head: bool = False
    is_section: bool = False

    @property
    def filled(self) -> int:
        return sum(map(bool, self.cells))


def grid_of(rows: Iterable[Sequence[SpannedCell]]) -> list[TableRow]:
    """The rows with their spans filled in, all equally long. Raises DocumentUnreadableError for too many cells."""
    grid: list[dict[int, str]] = []
    widths: list[int] = []  # of the only cell of a row, else 0
    open_spans: dict[int, tuple[int, str]] = {}  # column → (rows to go, text)
    size = 0
    for cells in rows:
        line = {column: text for column, (_, text) in open_spans.items()}
        is_alone = len(cells) == 1 and not line
        open_spans = {
            column: (left - 1, text) for column, (left, text) in open_spans.items() if left > 1
        }
        column = 0
        for cell in cells:
            while column in line:
                column += 1
            for _ in range(max(1, min(cell.columns, MOST_COLUMNS))):
                line.setdefault(column, cell.text)
                if cell.rows > 1:
                    open_spans[column] = (cell.rows - 1, cell.text)
                column += 1
        grid.append(line)
        widths.append(column if is_alone else 0)
        size += len(line)
        if size > MAX_GRID_CELLS:
            reason = worded(
                "A table has more than {max_cells:,} cells; split it.", max_cells=MAX_GRID_CELLS
            )
            raise DocumentUnreadableError(reason)
    width = max((column + 1 for line in grid for column in line), default=0)
    return [
        TableRow(
            tuple(line.get(column, "") for column in range(width)), is_section=alone == width > 1
        )
        for line, alone in zip(grid, widths, strict=True)
    ]


def tables_of(
    rows: Sequence[TableRow], *, caption: str = "", expects_head: bool = True
) -> list[Table]:
    """In order, rows of the same head that are parted by an empty row included; a text of its own is a table of one
    column.

    Where no row is known as a head, the first ones of a table are where they read like one. expects_head: also if its
    columns hold nothing but words, and are two: a CSV file begins with names, a form in a text document does not.
    """
    tables: list[Table] = []
    head: tuple[tuple[str, ...], ...] = ()
    for run in _runs(list(rows), depth=0):
        for table in _tables_of_run(run, head, caption=caption, expects_head=expects_head):
            tables.append(table)
            head = table.rows[: table.head_rows]
    return tables


# ------------------------------------------------------------------------------------------------ where tables end
def _runs(rows: list[TableRow], *, depth: int) -> Iterator[list[TableRow]]:
    """Rows and columns without an empty row or column that parts two tables."""
    for is_empty, group in groupby(rows, key=lambda row: not row.filled):
        if is_empty:
            continue
        run = _trimmed(list(group))
        cut = _border(run) if depth < MAX_DEPTH else 0
        if not cut:
            yield run
            continue
        for side in (slice(None, cut), slice(cut, None)):
            yield from _runs([row._replace(cells=row.cells[side]) for row in run], depth=depth + 1)


def _trimmed(run: list[TableRow]) -> list[TableRow]:
    """Without empty columns on the left and the right."""
    used = [at for at, column in enumerate(_columns(run)) if any(column)]
    return [row._replace(cells=row.cells[used[0] : used[-1] + 1]) for row in run]


def _columns(run: Sequence[TableRow]) -> list[tuple[str, ...]]:
    return list(zip(*(row.cells for row in run), strict=True))


def _border(run: Sequence[TableRow]) -> int:
    """The empty column that parts two tables with heads of their own; 0: there is none.

    Both sides name two columns at least, and the right one begins with words, which name its rows.
    """
    columns = _columns(run)
    for at, column in enumerate(columns):
        if at < 2 or any(column) or len(columns) - at < 3:
            continue
        left = [row._replace(cells=row.cells[:at]) for row in run[:LOOKED_AT_ROWS]]
        right = [row._replace(cells=row.cells[at + 1 :]) for row in run[:LOOKED_AT_ROWS]]
        labels = [cell for cell in columns[at + 1][1:LOOKED_AT_ROWS] if cell]
        if labels and not any(map(is_value, labels)) and _head_rows(left) and _head_rows(right):
            return at
    return 0


# ------------------------------------------------------------------------------------------------ one after the other
def _tables_of_run(
    run: list[TableRow], inherited: tuple[tuple[str, ...], ...], *, caption: str, expects_head: bool
) -> Iterator[Table]:
    """inherited: the head of the table above, for rows that go on after an empty one."""
    lines, run = _lines_above(run)
    named = [line for line in lines if len(line.cells[0]) <= MAX_CAPTION_CHARS]
    for line in lines:
        if line not in named:
            yield _table([], [line], "")
    if not run:
        if named:
            yield _table([], named, "")
        return
    heads = _known_head(run) or _head_rows(run, expects_head=expects_head)
    head = [row.cells for row in _filled_to_the_right(run[:heads])]
    if not head and inherited and len(inherited[0]) == len(run[0].cells):
        head = list(inherited)
    caption = _joined_caption([caption, *(line.cells[0] for line in named)])
    yield from _tables_below(run, heads, head, caption)


def _tables_below(
    run: Sequence[TableRow], start: int, head: list[tuple[str, ...]], caption: str
) -> Iterator[Table]:
    """The rows of a run from `start` on: another table begins with a new head, and with a row that names a section."""
    body: list[TableRow] = []
    section = ""
    at = start
    while at < len(run):
        row = run[at]
        heads = _new_head(run, at, body, head)
        if not heads and not row.is_section and row.cells not in head:
            body.append(row)
            at += 1
            continue
        if body:
            yield _table(head, body, _joined_caption([caption, section]))
        body = []
        if heads:
            head = [other.cells for other in _filled_to_the_right(run[at : at + heads])]
            section = ""
        elif row.is_section:
            section = row.cells[0]
        at += heads or 1
    if body or start == len(run):
        yield _table(head, body, _joined_caption([caption, section]))


def _joined_caption(parts: Iterable[str]) -> str:
    return CAPTION_JOIN.join(filter(None, parts))


def _lines_above(run: list[TableRow]) -> tuple[list[TableRow], list[TableRow]]:
    """Rows of a single cell before a table of several columns, and the table."""
    if len(run[0].cells) == 1:
        return [], run
    at = 0
    while at < len(run) and not run[at].is_head and (run[at].filled == 1 or run[at].is_section):
        at += 1
    lines = [row._replace(cells=(next(filter(None, row.cells)),)) for row in run[:at]]
    return lines, _trimmed(run[at:]) if at < len(run) else []


def _table(head: Sequence[tuple[str, ...]], body: Sequence[TableRow], caption: str) -> Table:
    pages = tuple(row.page for row in body if row.page is not None)
    return Table(
        rows=(*head, *(row.cells for row in body)),
        head_rows=len(head),
        caption=caption,
        first_row=body[0].number if body else None,
        pages=(*pages[:1] * len(head), *pages)
        if len(pages) == len(body) and len(set(pages)) > 1
        else None,
    )


# ------------------------------------------------------------------------------------------------ heads
def is_value(cell: str) -> bool:
    """Whether a cell reads like a number with its unit, which names no column."""
    if len(cell) > MAX_COLUMN_NAME_CHARS or YEAR.fullmatch(cell):
        return False
    return bool(_VALUE.fullmatch(cell) or _ERROR.fullmatch(cell))


def _known_head(run: Sequence[TableRow]) -> int:
    count = 0
    while count < len(run) and run[count].is_head:
        count += 1
    return count


def _head_rows(run: Sequence[TableRow], *, expects_head: bool = True) -> int:
    """How many of the first rows name the columns: as few as tell them apart; 0 where they do not read like names."""
    run = run[:LOOKED_AT_ROWS]
    if len(run) < 2 or len(run[0].cells) < 2 or any(row.is_head for row in run):
        return 0
    for count in range(1, min(MAX_HEAD_ROWS, len(run) - 1) + 1):
        if not _are_names(run[count - 1], run[count:]):
            return 0
        names = column_names([row.cells for row in _filled_to_the_right(run[:count])])
        given = [name for name in names if name]
        is_complete = len(given) == len(names) or not any(
            _goes_below(name, cell) for name, cell in zip(names, run[count].cells, strict=True)
        )
        if len(set(given)) == len(given) > 1 and (
            is_complete or not _are_names(run[count], run[count + 1 :])
        ):
            has_figures = any(map(_holds_values, _columns(run[count:])))
            return count if expects_head or has_figures or len(names) > 2 else 0
    return 0


def _goes_below(name: str, cell: str) -> bool:
    return not name and bool(cell)


def _are_names(row: TableRow, below: Sequence[TableRow]) -> bool:
    """A value is a name only above words, like the hours of a timetable."""
    if row.is_section or not below or max(map(len, row.cells)) > MAX_COLUMN_NAME_CHARS:
        return False
    columns = _columns(below)
    return not any(
        is_value(cell) and (cell.isdigit() or _holds_values(columns[at]))
        for at, cell in enumerate(row.cells)
    )


def _holds_values(column: Sequence[str]) -> bool:
    """Half of it or more."""
    filled = [cell for cell in column if cell]
    return bool(filled) and 2 * sum(map(is_value, filled)) >= len(filled)


def _filled_to_the_right(head: Sequence[TableRow]) -> list[TableRow]:
    """A name above several columns that was not written as one cell: it stands above those that the last row names."""
    if len(head) < 2:
        return list(head)
    last = head[-1].cells
    filled = []
    for row in head[:-1]:
        cells = list(row.cells)
        for at in range(1, len(cells)):
            if not cells[at] and last[at] and last[at - 1] and cells[at - 1]:
                cells[at] = cells[at - 1]
        filled.append(row._replace(cells=tuple(cells)))
    return [*filled, head[-1]]


def _new_head(
    run: Sequence[TableRow], at: int, body: Sequence[TableRow], head: Sequence[tuple[str, ...]]
) -> int:
    """How many rows from there name the columns of another table; 0: the row is one of this table's."""
    if run[at].is_head:
        known = _known_head(run[at:])
        return 0 if [row.cells for row in run[at : at + known]] == list(head) else known
    below = run[at + 1 : at + 1 + LOOKED_AT_ROWS]
    if not body or not head or not _are_names(run[at], below):
        return 0
    names = [cell for cell in run[at].cells if cell]
    if len(set(names)) < max(2, len(names)):
        return 0
    above = body[-LOOKED_AT_ROWS:]
    columns = _columns(above)
    figures = [
        column
        for column, cell in zip(columns, run[at].cells, strict=True)
        if cell and all(map(is_value, column))
    ]
    # One word below figures may be "none"; two, or rows as long as this one from here on, are names.
    width = run[at].filled
    is_other_width = all(row.filled != width for row in above) and all(
        row.filled == width for row in below
    )
    return int(len(figures) > 1 or (is_other_width and len(below) > 1))
