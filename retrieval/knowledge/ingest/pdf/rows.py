"""Rows of words on a PDF's page, and the tables that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrieval.knowledge.ingest.pdf.geometry import SNAP, Rect
from retrieval.knowledge.ingest.pdf.runs import LinePiece, TextLine, TextRun, joined, space_between

SAME_ROW = 0.5  # of a line's height
Columns = Sequence[tuple[float, float]]  # the left and right side of each, in points


class GridRow(NamedTuple):
    """is_head: its type or its cells show that it names the columns. is_section: one cell over the whole width."""

    cells: list[TextRun]
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
class WordRow:
    """What stands on one height of the page. line: of each piece, which of the page's lines it is of."""

    pieces: list[LinePiece]
    lines: list[int]
    rect: Rect

    def add(self, piece: LinePiece, line: int) -> None:
        self.pieces.append(piece)
        self.lines.append(line)
        self.rect = self.rect.around(piece.rect)


def line_of(pieces: Sequence[LinePiece], line: TextLine, rect: Rect | None = None) -> TextLine:
    """Some words of a line, or of several that stand on one height. rect: of its first word, where it is no other."""
    parts = [part for piece in pieces for part in ("" if piece.goes_on else " ", piece.run)][1:]
    top, bottom = (rect.top, rect.bottom) if rect is not None else (line.top, line.bottom)
    return TextLine(joined(parts), line.height, line.is_bold, line.turn, top, bottom, tuple(pieces))


def cell_of(words: Sequence[tuple[LinePiece, int]], lines: Mapping[int, TextLine]) -> TextRun:
    """The words of a cell, line by line."""
    if not words:
        return TextRun("", ())
    ordered = list(words)
    if all(lines[at].turn == 0 for _, at in words):
        ordered = [
            pair for row in rows_of(words) for pair in zip(row.pieces, row.lines, strict=True)
        ]
    parts: list[TextRun | str] = []
    text = ""
    for piece, _ in ordered:
        if text and not piece.goes_on:
            parts.append(space_between(text, piece.run.text))
        parts.append(piece.run)
        text = piece.run.text
    return joined(parts)


def rows_of(words: Iterable[tuple[LinePiece, int]]) -> list[WordRow]:
    """From the top, each from the left."""
    rows: list[WordRow] = []
    for piece, line in sorted(words, key=lambda pair: -pair[0].rect.middle[1]):
        height = piece.rect.height
        if rows and abs(rows[-1].pieces[0].rect.middle[1] - piece.rect.middle[1]) <= SAME_ROW * max(
            height, 1.0
        ):
            rows[-1].add(piece, line)
        else:
            rows.append(WordRow([piece], [line], piece.rect))
    for row in rows:
        order = sorted(range(len(row.pieces)), key=lambda at: row.pieces[at].rect.left)
        row.pieces = [row.pieces[at] for at in order]
        row.lines = [row.lines[at] for at in order]
    return rows
