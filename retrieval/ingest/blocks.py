"""What a parser gives: a document as a run of blocks, in reading order."""

from __future__ import annotations

from collections.abc import Sequence
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
    rows are written as `column: cell; …` (`retrieval.text.labelled_rows`), "" for one without a name."""

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    page: int | None = None
    columns: tuple[str, ...] = ()


Line = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLines:
    """Where a page's text stands. width, height: in points.

    lines: [start, end, left, top, right, bottom, words] each: characters of the document's text, places in steps of the
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
