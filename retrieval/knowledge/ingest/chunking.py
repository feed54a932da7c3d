"""Cuts a parsed document into chunks: by headings first, then by blocks, then by sentences, Chinese ones included.

A chunk is a piece of the extracted text as it stands there: pieces follow each other without a gap, and within a
section each begins with the last sentences of the one before it. Code stays whole where it fits. A small table is one
chunk; a larger one is cut between its rows, which name their columns, and each chunk knows which rows it holds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from retrieval.engine.text.sentences import sentence_pieces
from retrieval.engine.values import HEADING_JOIN
from retrieval.knowledge.ingest.blocks import (
    BLOCK_SEPARATOR,
    Block,
    ParsedDocument,
    Table,
    row_places,
)
from retrieval.knowledge.ingest.read_document import TextChunk

MAX_HEADING_CHARS = 500
SMALL_SECTION = 4  # a section below 1/4 of a chunk joins its neighbour
PAGE_BREAK_FROM = 2  # a chunk filled to 1/2 ends with its page, so that its citation names one page
WINDOW_CHARS_PER_TOKEN = (
    6  # no script has more characters in a token, so that the overlap's window is long enough
)
# Where a text is cut, from the best place to the worst; between lines and clauses stand its sentences. What parts two
# pieces stays with the first.
LINE_ENDS = (r"\n\n+", r"\n")
CLAUSE_ENDS = (r"[；;]\s*", r"[，、：,:]\s*", r"\s+", "")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_CLAUSE_START = re.compile(r"(?<=[，、：,:])\s*|\s+")


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of the extracted text. whole: a table, a row or code, of which the next chunk repeats nothing. row: its
    number in a table that is cut, 0 for its caption and head; table: that table."""

    start: int
    end: int
    tokens: int
    page: int | None
    whole: bool = False
    row: int = 0
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class _Pack:
    """The spans of a chunk. start: where its text begins, with what it repeats of the one before it."""

    start: int
    spans: Sequence[_Span]

    @property
    def table_part(self) -> tuple[Table, tuple[int, int, int]] | None:
        """The first table that it holds a part of, and its rows; None where all of it is here."""
        table = next((span.table for span in self.spans if span.row), None)
        if table is None:
            return None
        numbers = [span.row for span in self.spans if span.table is table and span.row]
        return table, (numbers[0], numbers[-1], len(table.rows) - table.head_rows)


@dataclass(slots=True)
class _Section:
    """bare: only headings so far, no text under them. begins_file: as of `Block`."""

    path: tuple[str, ...]
    spans: list[_Span]
    bare: bool = True
    begins_file: bool = False

    @property
    def tokens(self) -> int:
        return sum(span.tokens for span in self.spans)


class Chunker:
    """chunk_tokens: what a chunk holds at most, overlap included, by `count_tokens`, which must not count less for two
    texts apart than for both together. table_tokens: what one that is a table holds at most, where that is more."""

    def __init__(
        self,
        *,
        chunk_tokens: int,
        overlap_tokens: int,
        count_tokens: Callable[[str], int],
        table_tokens: int = 0,
    ) -> None:
        # It loads much, and many processes never split a text.
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        self._limit = chunk_tokens
        self._table_limit = max(chunk_tokens, table_tokens)
        self._overlap = overlap_tokens
        self._count = count_tokens
        self._piece_tokens = max(1, chunk_tokens - overlap_tokens)
        self._lines, self._clauses = (
            RecursiveCharacterTextSplitter(
                separators=list(separators),
                is_separator_regex=True,
                keep_separator="end",
                strip_whitespace=False,  # pieces put together must give the text again: offsets depend on it
                chunk_size=self._piece_tokens,
                chunk_overlap=0,  # the library counts its overlap in whole pieces; ours goes by sentences, below
                length_function=count_tokens,
            )
            for separators in (LINE_ENDS, CLAUSE_ENDS)
        )

    def split(self, document: ParsedDocument) -> list[TextChunk]:
        """The chunks in order; none for a document without text."""
        text = document.text
        chunks: list[TextChunk] = []
        for section in self._joined(self._sections(document.blocks)):
            for pack in self._pack(section.spans, text):
                start, end = _without_blank_lines(
                    text, pack.start, min(pack.spans[-1].end, len(text))
                )
                if start >= end:
                    continue
                path = section.path
                table_rows = None
                if part := pack.table_part:
                    table, table_rows = part
                    path = (*path, table.caption) if table.caption and table_rows[0] > 1 else path
                chunks.append(
                    TextChunk(
                        seq=len(chunks),
                        text=text[start:end],
                        heading=HEADING_JOIN.join(path)[:MAX_HEADING_CHARS],
                        char_start=start,
                        char_end=end,
                        token_count=self._count(text[start:end]),
                        page=pack.spans[0].page,
                        page_end=pack.spans[-1].page,
                        table_rows=table_rows,
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
                headings = [
                    *(entry for entry in headings if entry[0] < block.level),
                    (block.level, block.label),
                ]
                section = _Section(
                    tuple(label for _, label in headings), [], begins_file=block.begins_file
                )
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
        most = (
            self._table_limit
            if block.table
            else self._limit
            if block.kind in ("table", "code")
            else 0
        )
        whole = tokens <= most
        if whole or tokens <= self._limit - self._overlap:
            yield _Span(offset, offset + len(text), tokens, block.page, whole)
        elif block.table:
            yield from self._row_spans(block, block.table, offset)
        else:
            yield from self._piece_spans(text, _Span(offset, 0, 0, block.page))

    def _piece_spans(self, text: str, span: _Span) -> Iterator[_Span]:
        """Of a text that is too long; all else as in `span`, which begins where the text does."""
        start = span.start
        for piece in self._pieces(text):
            yield replace(span, start=start, end=start + len(piece), tokens=self._count(piece))
            start += len(piece)

    def _row_spans(self, block: Block, table: Table, offset: int) -> Iterator[_Span]:
        """Its caption and head, then each row by itself; one that is too long in pieces."""
        for start, end, row in row_places(table, block.text):
            line = block.text[start:end] + (BLOCK_SEPARATOR if end == len(block.text) else "")
            page = table.pages[max(row - 1, 0) + table.head_rows] if table.pages else block.page
            span = _Span(
                offset + start,
                offset + start + len(line),
                self._count(line),
                page,
                True,
                row,
                table,
            )
            if span.tokens <= self._limit:
                yield span
            else:
                yield from self._piece_spans(line, span)

    def _pieces(self, text: str) -> Iterator[str]:
        """Of a block that is too long: lines where they fit, else sentences, else clauses."""
        for lines in self._lines.split_text(text):
            if self._count(lines) <= self._piece_tokens:
                yield lines
                continue
            held = ""
            for sentence in sentence_pieces(lines):
                if held and self._count(held + sentence) > self._piece_tokens:
                    yield held
                    held = ""
                if self._count(sentence) > self._piece_tokens:
                    yield from self._clauses.split_text(sentence)
                else:
                    held += sentence
            if held:
                yield held

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
            elif section.begins_file:
                yield held
                held = section
            elif (
                min(held.tokens, section.tokens) < small
                and held.tokens + section.tokens <= self._limit
            ):
                held.spans.extend(section.spans)
                held = _Section(_common(held.path, section.path), held.spans, bare=False)
            else:
                yield held
                held = section
        if held is not None:
            yield held

    def _pack(self, spans: Sequence[_Span], text: str) -> Iterator[_Pack]:
        """The chunks of a section."""
        start = spans[0].start
        first = used = 0
        for at, span in enumerate(spans):
            if at > first:
                previous = spans[at - 1]
                turned = span.page != previous.page and used * PAGE_BREAK_FROM >= self._limit
                # What introduces a table stays with it.
                introduces = span.tokens > self._limit and used * SMALL_SECTION < self._limit
                most = self._table_limit if introduces else self._limit
                if used + span.tokens > most or turned:
                    yield _Pack(start, spans[first:at])
                    first = at
                    repeats = not previous.whole and not span.whole
                    start = self._overlap_start(text, start, span.start) if repeats else span.start
                    used = self._count(text[start : span.start])
            used += span.tokens
        yield _Pack(start, spans[first:])

    def _overlap_start(self, text: str, earliest: int, end: int) -> int:
        """Where the last sentences before `end` begin that fit the overlap; failing them, the last clauses."""
        window = max(earliest + 1, end - self._overlap * WINDOW_CHARS_PER_TOKEN)
        sentences = itertools.accumulate(
            map(len, sentence_pieces(text[window:end])), initial=window
        )
        clauses = (match.end() for match in _CLAUSE_START.finditer(text, window, end))
        for begin in itertools.chain(itertools.islice(sentences, 1, None), clauses):
            if (
                begin < end
                and text[begin:end].strip()
                and self._count(text[begin:end]) <= self._overlap
            ):
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
