"""Tables of a PDF's page: lines whose cells stand below each other."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.ingest.pdf_text import Cell, TextLine

ALIGNED = 3.0  # points that the sides or middles of one column's cells may lie apart
ROW = -1


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
