"""What reading a file gives: its chunks, the parts in which people look at it, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass

from ragsite.core.messages import Sentence
from retrieval.knowledge.ingest.blocks import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    """text == document.text[char_start:char_end]. heading: path of headings, outermost first, and the caption of a cut
    table. page … page_end: where it begins and ends, from 1. table_rows: (first, last, of how many) rows of a
    table that it holds a part of, from 1."""

    seq: int
    text: str
    heading: str
    char_start: int
    char_end: int
    token_count: int
    page: int | None = None
    page_end: int | None = None
    table_rows: tuple[int, int, int] | None = None


BlockPlace = list[int | str | list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPart:
    """number: from 1; of a PDF its page. page: a slide, too. char_start … char_end: its place in the document's text.

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

    title: what the document calls itself, "" where it doesn't. summary: "" for a document of one chunk. unread: what a
    viewer shows and no chunk holds. word_count: of the whole text.
    """

    title: str
    page_count: int | None
    language: str
    summary: str
    chunks: tuple[TextChunk, ...]
    parts: tuple[ReadPart, ...] = ()
    unread: tuple[Sentence, ...] = ()
    word_count: int = 0
