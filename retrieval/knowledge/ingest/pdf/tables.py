"""The tables of a PDF's page.

By the lines between their cells, by those between their rows, or by columns that all of their rows have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval.knowledge.ingest.pdf.columns import ColumnFinder
from retrieval.knowledge.ingest.pdf.drawings import Drawings
from retrieval.knowledge.ingest.pdf.grids import grids
from retrieval.knowledge.ingest.pdf.row_rules import row_rules, ruled_table
from retrieval.knowledge.ingest.pdf.rows import Columns, PageTable, line_of
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine

CLEAR_GAP = 1.2  # of a line's height: they do


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
    for grid in grids(drawings):
        table = grid.table(lines, pieces, used, goes_on=goes_on)
        if table is not None:
            placed.append(((table.at, 0, 0), table))
    for rules in row_rules(drawings):
        table = ruled_table(rules, lines, pieces, used)
        if table is not None:
            placed.append(((table.at, 0, 0), table))
    placed += ColumnFinder(_lines_left(lines, pieces, used)).read()
    placed.sort(key=lambda pair: pair[0])
    return [item for _, item in placed]


def _lines_left(
    lines: Mapping[int, TextLine], pieces: Sequence[tuple[LinePiece, int]], used: set[int]
) -> list[tuple[int, TextLine]]:
    """The lines, without the words that tables hold."""
    kept: dict[int, list[LinePiece]] = {at: [] for at in lines}
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
