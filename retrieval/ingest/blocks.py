"""What a parser gives: a document as a run of blocks, in reading order, and where its words stand on their pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

BlockKind = Literal["heading", "paragraph", "table", "code"]
BLOCK_SEPARATOR = "\n\n"
TITLE_WITHIN_BLOCKS = 5
GRID = 10_000  # steps across a page


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`text` as people see it, without blank lines around it. level: 1–6, headings only. page: from 1, None where
    the format has no pages. label: a heading's words without markup, for the heading path. columns: of a table whose
    rows are written as `column: cell; …` (`retrieval.text.statements`), "" for one without a name."""

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    page: int | None = None
    columns: tuple[str, ...] = ()


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

    title: what the document calls itself, "" where it doesn't. pages: where the text of each stands, for a PDF.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    page_count: int | None = None
    pages: tuple[PageLines, ...] = ()

    @property
    def text(self) -> str:
        return BLOCK_SEPARATOR.join(block.text for block in self.blocks)


def first_title(blocks: Sequence[Block]) -> str:
    """A top heading near the beginning, else ""."""
    tops = (block.label for block in blocks[:TITLE_WITHIN_BLOCKS] if block.kind == "heading" and block.level == 1)
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
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def on_one_line(one: Box, other: Box) -> bool:
    """Side by side, the second one further on: columns and lines begin anew on the left."""
    apart = abs((one[1] + one[3]) - (other[1] + other[3])) / 2
    return apart < SAME_LINE * max(one[3] - one[1], other[3] - other[1], 1) and other[2] >= one[0]


def _line(words: list[Word], box: Box) -> Line:
    starts = [value for at, word in enumerate(words) if word.begins or not at for value in (word.start, word.box[0])]
    return [words[0].start, words[-1].end, *box, starts]
