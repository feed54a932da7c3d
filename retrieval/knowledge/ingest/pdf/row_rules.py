"""Tables of a PDF's page with lines between their rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retrieval.knowledge.ingest.pdf.columns import (
    PARTED,
    column_span,
    parted_rows,
    split_at_columns,
    uncrossed,
)
from retrieval.knowledge.ingest.pdf.drawings import Drawings
from retrieval.knowledge.ingest.pdf.geometry import SNAP, Border
from retrieval.knowledge.ingest.pdf.grids import MAX_BORDERS, meets
from retrieval.knowledge.ingest.pdf.rows import Columns, GridRow, PageTable, cell_of
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine

Numbered = tuple[
    int, LinePiece, int
]  # its number among the page's, a piece, the number of its line
Cells = list[list[tuple[LinePiece, int]]]  # of a row, by column
MIN_RULES = 4  # below each other, of one length: they part the rows of a table


def row_rules(drawings: Drawings) -> Iterator[list[Border]]:
    """Lines of one length below each other, from the top, that no other line meets."""
    groups: list[list[Border]] = []
    if len(drawings.across) > MAX_BORDERS:
        return
    for border in sorted(drawings.across, key=lambda border: -border.at):
        if any(meets(border, other) for other in drawings.down):
            continue
        for group in groups:
            if (
                abs(group[0].start - border.start) <= SNAP
                and abs(group[0].end - border.end) <= SNAP
            ):
                group.append(border)
                break
        else:
            groups.append([border])
    yield from (group for group in groups if len(group) >= MIN_RULES)


def ruled_table(
    rules: Sequence[Border],
    lines: Mapping[int, TextLine],
    pieces: Sequence[tuple[LinePiece, int]],
    used: set[int],
) -> PageTable | None:
    """A row between each two lines, and one above the first; None where they part no rows of several columns."""
    bands, above = _bands(rules, lines, pieces, used)
    columns = uncrossed([row for band in bands for row in parted_rows(band)])
    if len(columns) < 2:
        return None
    head = _head(above, columns)
    if head:
        bands[0] = head
    rows: list[Cells] = []
    taken: list[Numbered] = []
    for band in bands:
        cells = _cells(band, columns)
        if sum(map(bool, cells)) > 1:
            rows.append(cells)
            taken += band
    if len(rows) < MIN_RULES - 1:
        return None
    used.update(number for number, _, _ in taken)
    return PageTable(
        rows=[GridRow([cell_of(cell, lines) for cell in cells]) for cells in rows],
        columns=columns,
        at=min(at for _, _, at in taken),
    )


def _bands(
    rules: Sequence[Border],
    lines: Mapping[int, TextLine],
    pieces: Sequence[tuple[LinePiece, int]],
    used: set[int],
) -> tuple[list[list[Numbered]], list[Numbered]]:
    """The words below each line, and those close above the first."""
    left = rules[0].start - SNAP
    right = rules[0].end + SNAP
    top = rules[0].at
    lowest = rules[-1].at
    bands: list[list[Numbered]] = [[] for _ in rules]
    above: list[Numbered] = []
    for number, (piece, at) in enumerate(pieces):
        x, y = piece.rect.middle
        is_elsewhere = not left <= x <= right or y < lowest
        if is_elsewhere or number in used or lines[at].turn:
            continue
        if y < top:
            bands[sum(y < rule.at for rule in rules)].append((number, piece, at))
        elif y - top <= PARTED * piece.rect.height:
            above.append((number, piece, at))
    return bands, above


def _head(above: Sequence[Numbered], columns: Columns) -> list[Numbered]:
    """The lowest row above the first line with all below it, where each of its parts fits a column; else nothing."""
    rows = parted_rows(above)
    if not rows or len(rows[-1].parts) < 2:
        return []
    parts = split_at_columns(rows[-1], columns)
    if not all(column_span(part, columns) for part in parts):
        return []
    return [entry for entry in above if entry[1].rect.middle[1] <= rows[-1].top]


def _cells(band: Sequence[Numbered], columns: Columns) -> Cells:
    cells: Cells = [[] for _ in columns]
    for row in parted_rows(band):
        for part in split_at_columns(row, columns):
            column, _ = column_span(part, columns) or (0, 0)
            cells[column] += zip(part.pieces, part.lines, strict=True)
    return cells
