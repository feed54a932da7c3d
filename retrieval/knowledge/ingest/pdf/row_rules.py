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
from retrieval.knowledge.ingest.pdf.rows import GridRow, PageTable, cell_of
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine

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
    left = rules[0].start - SNAP
    right = rules[0].end + SNAP
    ys = [rule.at for rule in rules]
    bands: list[list[tuple[int, LinePiece, int]]] = [[] for _ in rules]
    above: list[tuple[int, LinePiece, int]] = []
    for number, (piece, at) in enumerate(pieces):
        x, y = piece.rect.middle
        if number in used or lines[at].turn or not left <= x <= right or y < ys[-1]:
            continue
        if y < ys[0]:
            bands[sum(y < place for place in ys)].append((number, piece, at))
        elif y - ys[0] <= PARTED * piece.rect.height:
            above.append((number, piece, at))
    columns = uncrossed([row for band in bands for row in parted_rows(band)])
    lowest = parted_rows(above)[-1:]
    head = split_at_columns(lowest[0], columns) if lowest and len(lowest[0].parts) > 1 else []
    if head and all(column_span(part, columns) for part in head):
        bands[0] = [entry for entry in above if entry[1].rect.middle[1] <= lowest[0].top]
    rows: list[list[list[tuple[LinePiece, int]]]] = []
    taken: list[tuple[int, int]] = []
    for band in bands:
        cells: list[list[tuple[LinePiece, int]]] = [[] for _ in columns]
        for row in parted_rows(band) if columns else ():
            for part in split_at_columns(row, columns):
                column, _ = column_span(part, columns) or (0, 0)
                cells[column] += list(zip(part.pieces, part.lines, strict=True))
        if sum(map(bool, cells)) > 1:
            rows.append(cells)
            taken += [(number, at) for number, _, at in band]
    if len(columns) < 2 or len(rows) < MIN_RULES - 1:
        return None
    used.update(number for number, _ in taken)
    return PageTable(
        rows=[GridRow([cell_of(cell, lines) for cell in cells]) for cells in rows],
        columns=columns,
        at=min(at for _, at in taken),
    )
