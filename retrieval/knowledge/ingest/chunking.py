"""Cuts a parsed document into chunks: by headings first, then by blocks, then by sentences, Chinese ones included.

A chunk is a piece of the extracted text as it stands there: pieces follow each other without a gap, and within a
section each begins with the last sentences of the one before it. Tables and code stay whole where they fit.

And into the parts in which people look at it: pages of a PDF, of other kinds runs of blocks. What is kept of a part is
where its blocks and lines stand; its text is that of the chunks.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, Literal

from ragsite.core.rag_settings import IngestSettings
from retrieval.engine.text.quoting import estimate_tokens, estimate_word_pieces
from retrieval.engine.text.statements import MOST_COLUMNS
from retrieval.engine.values import HEADING_JOIN
from retrieval.knowledge.ingest.blocks import BLOCK_SEPARATOR, GRID, Block, Line, ParsedDocument

MAX_HEADING_CHARS = 500
SMALL_SECTION = 4  # a section below 1/4 of a chunk joins its neighbour
PAGE_BREAK_FROM = 2  # a chunk filled to 1/2 ends with its page, so that its citation names one page

WINDOW_CHARS_PER_TOKEN = 6  # no script has more characters in a token, so that the overlap's window is long enough

# From the best place to cut to the worst; each stays with the text before it.
SEPARATORS = (
    r"\n\n+",
    r"\n",
    r"(?<=[。！？…])[”’」』）]*",
    r"(?<=[.!?])[\"')\]]*\s+",
    r"[；;]\s*",
    r"[，、：,:]\s*",
    r"\s+",
    "",
)
_SENTENCE_START = re.compile(r"\n+|(?<=[。！？…；])[”’」』）]*|(?<=[.!?;])[\"')\]]*\s+")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_CLAUSE_START = re.compile(r"(?<=[，、：,:])\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    """text == document.text[char_start:char_end]. heading: path of headings, outermost first. page … page_end: where it
    begins and ends, from 1."""

    seq: int
    text: str
    heading: str
    char_start: int
    char_end: int
    token_count: int
    page: int | None = None
    page_end: int | None = None


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of the extracted text. `whole`: a table or code, of which nothing is repeated in the next chunk."""

    start: int
    end: int
    tokens: int
    page: int | None
    whole: bool = False


@dataclass(slots=True)
class _Section:
    """bare: only headings so far, no text under them."""

    path: tuple[str, ...]
    spans: list[_Span]
    bare: bool = True

    @property
    def tokens(self) -> int:
        return sum(span.tokens for span in self.spans)


class Chunker:
    """chunk_tokens: what a chunk holds at most, overlap included, by `count_tokens`, which must not count less for two
    texts apart than for both together."""

    def __init__(self, *, chunk_tokens: int, overlap_tokens: int, count_tokens: Callable[[str], int]) -> None:
        # It loads much, and many processes never split a text.
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        self._limit = chunk_tokens
        self._overlap = overlap_tokens
        self._count = count_tokens
        self._splitter = RecursiveCharacterTextSplitter(
            separators=list(SEPARATORS),
            is_separator_regex=True,
            keep_separator="end",
            strip_whitespace=False,  # pieces put together must give the text again: offsets depend on it
            chunk_size=max(1, chunk_tokens - overlap_tokens),
            chunk_overlap=0,  # the library counts its overlap in whole pieces; ours goes by sentences, below
            length_function=count_tokens,
        )

    def split(self, document: ParsedDocument) -> list[TextChunk]:
        """The chunks in order; none for a document without text."""
        text = document.text
        starts = list(
            itertools.accumulate((len(one.text) + len(BLOCK_SEPARATOR) for one in document.blocks), initial=0)
        )
        chunks: list[TextChunk] = []
        for section in self._joined(self._sections(document.blocks)):
            for overlap_start, own_start, end in self._pack(section.spans, text):
                start, end = _without_blank_lines(text, overlap_start, min(end, len(text)))
                if start >= end:
                    continue
                chunks.append(
                    TextChunk(
                        seq=len(chunks),
                        text=text[start:end],
                        heading=HEADING_JOIN.join(section.path)[:MAX_HEADING_CHARS],
                        char_start=start,
                        char_end=end,
                        token_count=self._count(text[start:end]),
                        page=document.blocks[bisect_right(starts, max(start, own_start)) - 1].page,
                        page_end=document.blocks[bisect_right(starts, end - 1) - 1].page,
                    )
                )
        return chunks

    def _sections(self, blocks: Sequence[Block]) -> Iterator[_Section]:
        """One for each heading and what stands under it; text before the first heading is one too."""
        headings: list[tuple[int, str]] = []
        section = _Section((), [])
        offset = 0
        for block in blocks:
            if block.kind == "heading":
                if section.spans:
                    yield section
                headings = [*(entry for entry in headings if entry[0] < block.level), (block.level, block.label)]
                section = _Section(tuple(label for _, label in headings), [])
            else:
                section.bare = False
            section.spans.extend(self._spans(block, offset))
            offset += len(block.text) + len(BLOCK_SEPARATOR)
        if section.spans:
            yield section

    def _spans(self, block: Block, offset: int) -> Iterator[_Span]:
        """The block with the separator after it, whole if it fits, else in pieces."""
        text = block.text + BLOCK_SEPARATOR
        tokens = self._count(text)
        whole = block.kind in ("table", "code") and tokens <= self._limit
        if whole or tokens <= self._limit - self._overlap:
            yield _Span(offset, offset + len(text), tokens, block.page, whole)
            return
        for piece in self._splitter.split_text(text):
            yield _Span(offset, offset + len(piece), self._count(piece), block.page)
            offset += len(piece)

    def _joined(self, sections: Iterator[_Section]) -> Iterator[_Section]:
        """Headings without text join what follows; small sections join their neighbours while all fit in one chunk."""
        held: _Section | None = None
        small = self._limit // SMALL_SECTION
        for section in sections:
            if held is None:
                held = section
            elif held.bare:
                held.spans.extend(section.spans)  # in place: a file may hold nothing but headings
                held = _Section(section.path, held.spans, section.bare)
            elif min(held.tokens, section.tokens) < small and held.tokens + section.tokens <= self._limit:
                held.spans.extend(section.spans)
                held = _Section(_common(held.path, section.path), held.spans, bare=False)
            else:
                yield held
                held = section
        if held is not None:
            yield held

    def _pack(self, spans: Sequence[_Span], text: str) -> Iterator[tuple[int, int, int]]:
        """(start with overlap, start of its own text, end) of each chunk of a section."""
        start = own = spans[0].start
        used = 0
        previous: _Span | None = None
        for span in spans:
            turned = previous is not None and span.page != previous.page and used * PAGE_BREAK_FROM >= self._limit
            if previous is not None and (used + span.tokens > self._limit or turned):
                yield start, own, span.start
                own = span.start
                start = own if previous.whole or span.whole else self._overlap_start(text, start, own)
                used = self._count(text[start:own])
            used += span.tokens
            previous = span
        yield start, own, spans[-1].end

    def _overlap_start(self, text: str, earliest: int, end: int) -> int:
        """Where the last sentences before `end` begin that fit the overlap; failing them, the last clauses."""
        window = max(earliest + 1, end - self._overlap * WINDOW_CHARS_PER_TOKEN)
        for border in (_SENTENCE_START, _CLAUSE_START):
            for match in border.finditer(text, window, end):
                begin = match.end()
                if begin < end and text[begin:end].strip() and self._count(text[begin:end]) <= self._overlap:
                    return begin
        return end


def _common(first: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The headings above both; those of the first where they share none."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, other, strict=False))
    return tuple(left for left, _ in pairs) or first


def _without_blank_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Blank lines at the beginning and white space at the end belong to no chunk; indentation stays."""
    if match := _BLANK_LINES.match(text, start, end):
        start = match.end()
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# ------------------------------------------------------------------------------------------------ size
# Of a model's context. The rest is for title and headings, which are embedded with every chunk, and for what the
# estimate of word pieces falls short of: 19 % at the 99th percentile of technical documentation.
READ_SHARE = 0.85
# A model that reads so many times the wanted size reads every chunk: tables drawn with dashes have 3.5 tokens where
# `estimate_tokens` sees one, and nothing real has more.
SURELY_READ = 3.5
LEAST_TOKENS = 16
Unit = Literal["tokens", "word_pieces"]
COUNTERS: dict[Unit, Callable[[str], int]] = {"tokens": estimate_tokens, "word_pieces": estimate_word_pieces}


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """tokens: what a chunk holds at most, `overlap` tokens of the one before included, counted in `unit`.

    A plain value: it goes to the process that cuts the document.
    """

    tokens: int
    overlap: int
    unit: Unit = "tokens"

    @property
    def count_tokens(self) -> Callable[[str], int]:
        return COUNTERS[self.unit]


def chunk_size(settings: IngestSettings, *, context: int | None) -> ChunkSize:
    """context: how many tokens of a text the embedding model reads; None: all, or it isn't known.

    A model of small context is of BERT's kind, so for it tokens are counted as word pieces: technical documents have up
    to twice as many as `estimate_tokens` thinks.
    """
    target = settings.chunk_tokens
    if context is None or context * READ_SHARE >= target * SURELY_READ:
        return ChunkSize(target, settings.chunk_overlap_tokens)
    tokens = max(LEAST_TOKENS, min(target, int(context * READ_SHARE)))
    return ChunkSize(tokens, settings.chunk_overlap_tokens * tokens // target, "word_pieces")


# ------------------------------------------------------------------------------------------------ parts
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
    chunks: tuple[TextChunk, ...]
    parts: tuple[DocumentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or a part of a long one, with its place in the document's text."""

    start: int
    end: int
    block: Block


def document_parts(document: ParsedDocument) -> tuple[DocumentPart, ...]:
    """In order; together they hold every block."""
    pieces = list(_pieces(document.blocks))
    if not document.pages:
        return tuple(_part(number, run, run[0].start) for number, run in enumerate(_runs(pieces), 1))
    by_page = {page: list(run) for page, run in groupby(pieces, key=lambda piece: piece.block.page)}
    parts: list[DocumentPart] = []
    for number, page in enumerate(document.pages, 1):
        part = _part(number, by_page.get(number, []), parts[-1].char_end if parts else 0)
        parts.append(replace(part, page=number, width=page.width, height=page.height, lines=page.lines))
    return tuple(parts)


def _part(number: int, pieces: Sequence[_Piece], start: int) -> DocumentPart:
    """start: of one without pieces."""
    start, end = (pieces[0].start, pieces[-1].end) if pieces else (start, start)
    blocks: list[BlockPlace] = []
    for piece in pieces:
        names = piece.block.table.columns if piece.block.table else ()
        columns: list[Any] = [list(names)] if 0 < len(names) <= MOST_COLUMNS else []
        blocks.append([piece.start - start, piece.end - start, piece.block.kind, piece.block.level, *columns])
    page = pieces[0].block.page if pieces else None
    return DocumentPart(number=number, char_start=start, char_end=end, page=page, blocks=tuple(blocks))


def _runs(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    run: list[_Piece] = []
    for piece in pieces:
        chars = piece.end - run[0].start if run else 0
        is_heading = piece.block.kind == "heading"
        is_full = chars > PART_CHARS or (is_heading and chars * HEADING_FROM > PART_CHARS)
        if is_full and any(other.block.kind != "heading" for other in run):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _pieces(blocks: Sequence[Block]) -> Iterator[_Piece]:
    """A block that is longer than a part is several, which end with a line where they can."""
    start = 0
    for block in blocks:
        done, end = 0, len(block.text)
        while end - done > PART_CHARS:
            cut = block.text.rfind("\n", done, done + PART_CHARS) + 1 or done + PART_CHARS
            yield _Piece(start + done, start + cut, block)
            done = cut
        yield _Piece(start + done, start + end, block)
        start += end + len(BLOCK_SEPARATOR)


# ------------------------------------------------------------------------------------------------ places on a page
Box = tuple[float, float, float, float]


def boxes_between(lines: Sequence[Line], start: int, end: int) -> list[Box]:
    """Where the characters start … end stand: (left, top, right, bottom) of each line, as shares of the page.

    lines: of a `DocumentPart`, from whose first character both are counted.
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
