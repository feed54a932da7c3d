"""A document in the parts in which people look at it: pages of a PDF, of other kinds runs of blocks.

What is kept of a part is where its blocks and lines stand; its text is that of the chunks. Plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrieval.ingest.blocks import BLOCK_SEPARATOR, GRID, Block, BlockKind, Line, PageLines, ParsedDocument
from retrieval.ingest.chunking import TextChunk

BlockPlace = list[int | str | list[str]]
PART_CHARS = 12_000  # of a part that is no page, at most
HEADING_FROM = 2  # a part filled to 1/2 ends before a heading


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """number: from 1; of a PDF its page. char_start … char_end: its place in the document's text.

    blocks: [start, end, kind, level] each, and of a table with labelled rows its columns. lines: as of `PageLines`. All
    starts and ends count from char_start.
    """

    number: int
    char_start: int
    char_end: int
    page: int | None = None
    width: float | None = None
    height: float | None = None
    blocks: tuple[BlockPlace, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """What a file gives.

    title: what the document calls itself, "" where it doesn't. summary: "" for a document of one chunk.
    """

    title: str
    page_count: int | None
    language: str
    summary: str
    chunk_tokens: int
    chunks: tuple[TextChunk, ...]
    parts: tuple[DocumentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    kind: BlockKind
    level: int
    page: int | None
    columns: tuple[str, ...] = ()

    def counted_from(self, start: int) -> BlockPlace:
        place: BlockPlace = [self.start - start, self.end - start, self.kind, self.level]
        return [*place, list(self.columns)] if self.columns else place


def document_parts(document: ParsedDocument) -> tuple[DocumentPart, ...]:
    """In order; together they hold every block."""
    pieces = list(_pieces(document.blocks))
    if document.pages:
        return tuple(_page_parts(pieces, document.pages))
    return tuple(
        DocumentPart(
            number=number,
            char_start=run[0].start,
            char_end=run[-1].end,
            page=run[0].page,
            blocks=tuple(piece.counted_from(run[0].start) for piece in run),
        )
        for number, run in enumerate(_runs(pieces), 1)
    )


def _page_parts(pieces: Sequence[_Piece], pages: Sequence[PageLines]) -> Iterator[DocumentPart]:
    at = end = 0
    for number, page in enumerate(pages, 1):
        first = at
        while at < len(pieces) and pieces[at].page == number:
            at += 1
        start = pieces[first].start if at > first else end
        end = pieces[at - 1].end if at > first else end
        yield DocumentPart(
            number=number,
            char_start=start,
            char_end=end,
            page=number,
            width=page.width,
            height=page.height,
            blocks=tuple(piece.counted_from(start) for piece in pieces[first:at]),
            lines=tuple(_moved(line, start) for line in page.lines),
        )


def _moved(line: Line, start: int) -> Line:
    begin, end, *box, words = line
    assert isinstance(begin, int) and isinstance(end, int) and isinstance(words, list)
    moved = [value if at % 2 else value - start for at, value in enumerate(words)]
    return [begin - start, end - start, *box, moved]


def _runs(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    run: list[_Piece] = []
    for piece in pieces:
        chars = piece.end - run[0].start if run else 0
        full = chars > PART_CHARS or (piece.kind == "heading" and chars * HEADING_FROM > PART_CHARS)
        if run and full and any(other.kind != "heading" for other in run):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _pieces(blocks: Sequence[Block]) -> Iterator[_Piece]:
    """The blocks with their places; one that is longer than a part in several, which end with a line where they can."""
    start = 0
    for block in blocks:
        end = start + len(block.text)
        done = start
        while end - done > PART_CHARS:
            cut = block.text.rfind("\n", done - start, done - start + PART_CHARS) + 1
            cut = start + cut if cut > done - start else done + PART_CHARS
            yield _Piece(done, cut, block.kind, block.level, block.page, block.columns)
            done = cut
        yield _Piece(done, end, block.kind, block.level, block.page, block.columns)
        start = end + len(BLOCK_SEPARATOR)


# ------------------------------------------------------------------------------------------------ places on a page
Box = tuple[float, float, float, float]


def boxes_between(lines: Sequence[Line], start: int, end: int) -> list[Box]:
    """Where the characters start … end stand: (left, top, right, bottom) of each line, as shares of the page.

    lines: of a `DocumentPart`, from whose first character both are counted.
    """
    boxes: list[Box] = []
    for begin, finish, left, top, right, bottom, words in lines:
        assert isinstance(begin, int) and isinstance(finish, int) and isinstance(words, list)
        assert isinstance(left, int) and isinstance(top, int) and isinstance(right, int) and isinstance(bottom, int)
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
