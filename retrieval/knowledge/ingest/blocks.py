"""What a parser gives: a document as a run of blocks, in reading order, and where its words stand on their pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragsite.core.messages import Sentence
from retrieval.engine.text.statements import HEAD_END, column_names, head_line, labelled_row

BlockKind = Literal["heading", "paragraph", "list_item", "table", "code", "note"]
BLOCK_SEPARATOR = "\n\n"
TITLE_WITHIN_BLOCKS = 5
GRID = 10_000  # steps across a page


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A grid: every row has the same number of cells, each on one line; what spans several stands in each of them.

    head_rows: how many leading rows name the columns, 0: none does. caption: what names the table, "" for nothing.
    first_row: the number of the first row below the head, as its program shows it; None where rows have no numbers.
    pages: on which page each row stands, where they are not all on the block's. `tables_of` makes them of any grid.
    """

    rows: tuple[tuple[str, ...], ...]
    head_rows: int = 0
    caption: str = ""
    first_row: int | None = None
    pages: tuple[int, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What names each column, "" where nothing does; () of a table without a head."""
        return column_names(self.rows[: self.head_rows])

    @property
    def text(self) -> str:
        """The caption, the names of the columns, then each row as `column: cell; …`, without a head as `cell | …`."""
        columns = self.columns
        lines = [self.caption, head_line(columns)]
        lines += [
            labelled_row(columns, row) if columns else HEAD_END.join(filter(None, row))
            for row in self.rows[self.head_rows :]
        ]
        return "\n".join(filter(None, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`text` as people see it, without blank lines around it. A table's is that of its grid: `table_block` makes one.

    level: 1–6 of headings, from 1 of list items. label: a heading's words without markup, for the heading path; a list
    item's label as it is shown, which its text begins with ("2.2", "(b)"). page: from 1, None where the format has no
    pages. table: None of a table whose text stays as it was written. begins_file: of a heading, the name of a file in
    this one, like an attachment: no passage holds what stands before it, too.
    """

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    page: int | None = None
    table: Table | None = None
    begins_file: bool = False


def row_places(table: Table, text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, number) of what stands before the rows, as number 0, and of each row, in the text of its table; each
    with the line's end."""
    lines = text.splitlines(keepends=True)
    before = len(lines) - (len(table.rows) - table.head_rows)
    start = 0
    if before > 0:
        start = sum(map(len, lines[:before]))
        yield 0, start, 0
    for number, line in enumerate(lines[before:], 1):
        yield start, start + len(line), number
        start += len(line)


def table_block(table: Table, *, page: int | None = None) -> Block:
    """Of one column, a paragraph with a line for each cell."""
    if len(table.rows[0]) == 1 and not table.head_rows:
        return Block(text=table.text, page=page)
    return Block(text=table.text, kind="table", page=page, table=table)


Line = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLines:
    """Where a page's text stands. width, height: in points; 0 of a page that could not be read.

    lines: [start, end, left, top, right, bottom, words] each: characters of the page's text, places in steps of the
    page (`GRID`) from its top left corner; words: start and left side of each, one after the other.
    """

    width: float
    height: float
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The extracted text is the blocks' texts joined by `BLOCK_SEPARATOR`; chunk offsets point into it.

    title: what the document calls itself, "" where it doesn't. pages: where the text of each stands, for a PDF. unread:
    what a viewer shows and no block holds, each with its place (`retrieval.knowledge.ingest.unread`).
    """

    blocks: tuple[Block, ...]
    title: str = ""
    page_count: int | None = None
    pages: tuple[PageLines, ...] = ()
    unread: tuple[Sentence, ...] = ()

    @property
    def text(self) -> str:
        return BLOCK_SEPARATOR.join(block.text for block in self.blocks)


def first_title(blocks: Sequence[Block]) -> str:
    """A top heading near the beginning, else ""."""
    tops = (
        block.label
        for block in blocks[:TITLE_WITHIN_BLOCKS]
        if block.kind == "heading" and block.level == 1
    )
    return next(tops, "")


# ------------------------------------------------------------------------------------------------ places of words
Box = tuple[int, int, int, int]  # left, top, right, bottom in steps of the page (`GRID`)
SAME_LINE = 0.5  # of a line's height: words whose middles are nearer stand on one line


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the document's text, or a part of one. begins: the part before it ends with white space."""

    start: int
    end: int
    box: Box
    begins: bool = True


def lines_of(words: Iterable[Word]) -> Iterator[Line]:
    """The words in their order, as lines of `PageLines`."""
    line: list[Word] = []
    box: Box = (0, 0, 0, 0)
    for word in words:
        if line and not on_one_line(box, word.box):
            yield _line(line, box)
            line = []
        box = around(box, word.box) if line else word.box
        line.append(word)
    if line:
        yield _line(line, box)


def around(one: Box, other: Box) -> Box:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def on_one_line(one: Box, other: Box) -> bool:
    """Side by side, the second one further on: columns and lines start again on the left."""
    apart = abs((one[1] + one[3]) - (other[1] + other[3])) / 2
    return apart < SAME_LINE * max(one[3] - one[1], other[3] - other[1], 1) and other[2] >= one[0]


def _line(words: list[Word], box: Box) -> Line:
    starts = [
        value
        for at, word in enumerate(words)
        if word.begins or not at
        for value in (word.start, word.box[0])
    ]
    return [words[0].start, words[-1].end, *box, starts]
