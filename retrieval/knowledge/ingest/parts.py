"""The parts in which people look at a document: pages of a PDF, of other kinds runs of blocks.

What is kept of a part is where its blocks and lines stand; its text is that of the chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from retrieval.engine.text.statements import MOST_COLUMNS
from retrieval.knowledge.ingest.blocks import (
    BLOCK_SEPARATOR,
    GRID,
    Block,
    Line,
    ParsedDocument,
    Table,
    row_places,
)
from retrieval.knowledge.ingest.read_document import BlockPlace, ReadPart

PART_CHARS = 12_000  # of a part that is no page, at most
HEADING_FROM = 2  # a part filled to 1/2 ends before a heading


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or a part of a long one, with its place in the document's text."""

    start: int
    end: int
    block: Block


def document_parts(document: ParsedDocument) -> tuple[ReadPart, ...]:
    """In order; together they hold every block."""
    pieces = list(_pieces(document.blocks))
    if not document.pages:
        return tuple(
            _part(number, run, run[0].start) for number, run in enumerate(_runs(pieces), 1)
        )
    by_page = {page: list(run) for page, run in groupby(pieces, key=lambda piece: piece.block.page)}
    parts: list[ReadPart] = []
    for number, page in enumerate(document.pages, 1):
        part = _part(number, by_page.get(number, []), parts[-1].char_end if parts else 0)
        parts.append(
            replace(part, page=number, width=page.width, height=page.height, lines=page.lines)
        )
    return tuple(parts)


def _part(number: int, pieces: Sequence[_Piece], start: int) -> ReadPart:
    """start: of one without pieces."""
    start, end = (pieces[0].start, pieces[-1].end) if pieces else (start, start)
    blocks: list[BlockPlace] = []
    for piece in pieces:
        names = piece.block.table.columns if piece.block.table else ()
        columns: list[Any] = [list(names)] if 0 < len(names) <= MOST_COLUMNS else []
        blocks.append(
            [piece.start - start, piece.end - start, piece.block.kind, piece.block.level, *columns]
        )
    page = pieces[0].block.page if pieces else None
    return ReadPart(number=number, char_start=start, char_end=end, page=page, blocks=tuple(blocks))


def _runs(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    run: list[_Piece] = []
    for piece in pieces:
        chars = piece.end - run[0].start if run else 0
        is_heading = piece.block.kind == "heading"
        is_full = chars > PART_CHARS or (is_heading and chars * HEADING_FROM > PART_CHARS)
        is_turned = bool(run) and piece.block.page != run[-1].block.page
        if is_turned or (is_full and any(other.block.kind != "heading" for other in run)):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _pieces(blocks: Sequence[Block]) -> Iterator[_Piece]:
    """A block that is longer than a part is several, which end with a line where they can; a table over several pages,
    one for each."""
    start = 0
    for block in blocks:
        if block.table and block.table.pages:
            yield from _pieces_by_page(block, block.table, start)
            start += len(block.text) + len(BLOCK_SEPARATOR)
            continue
        done = 0
        end = len(block.text)
        while end - done > PART_CHARS:
            cut = block.text.rfind("\n", done, done + PART_CHARS) + 1 or done + PART_CHARS
            yield _Piece(start + done, start + cut, block)
            done = cut
        yield _Piece(start + done, start + end, block)
        start += end + len(BLOCK_SEPARATOR)


def _pieces_by_page(block: Block, table: Table, start: int) -> Iterator[_Piece]:
    pages = table.pages or ()
    rows = row_places(table, block.text)
    for page, group in groupby(rows, key=lambda row: pages[max(row[2] - 1, 0) + table.head_rows]):
        places = list(group)
        end = places[-1][1]
        end -= block.text[:end].endswith("\n")
        yield _Piece(start + places[0][0], start + end, replace(block, page=page))


Box = tuple[float, float, float, float]


def boxes_between(lines: Sequence[Line], start: int, end: int) -> list[Box]:
    """Where the characters start … end stand: (left, top, right, bottom) of each line, as shares of the page.

    lines: of a `ReadPart`, from whose first character both are counted.
    """
    boxes: list[Box] = []
    for begin, finish, left, top, right, bottom, words in lines:
        if finish <= start or begin >= end:
            continue
        stops = [*zip(words[::2], words[1::2], strict=True), (finish, right)]
        x0 = left if start <= begin else _place(stops, start)
        x1 = right if end >= finish else _place(stops, end)
        if x1 > x0:
            boxes.append((x0 / GRID, top / GRID, x1 / GRID, bottom / GRID))
    return boxes


def _place(stops: Sequence[tuple[int, int]], at: int) -> int:
    """The left side of a character of a line; inside a word all characters count as equally wide."""
    for (begin, left), (end, right) in pairwise(stops):
        if begin <= at < end:
            return round(left + (right - left) * (at - begin) / (end - begin))
    return stops[-1][1] if at >= stops[-1][0] else stops[0][1]
