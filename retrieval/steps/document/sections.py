"""A document as a run of sections, made of its chunks: what stands under one heading, each sentence with its chunk.

A small document is one chunk with all its headings inside, a large section is many chunks under one heading; both ways
the sections are those that its reader sees. What two neighbouring chunks repeat of each other is taken once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby

from retrieval.ingest.headings import heading_level
from retrieval.text.markdown import passage_blocks
from retrieval.text.quoting import neutralise
from retrieval.text.statements import as_table, headed_statements_of
from retrieval.text.tokens import estimate_tokens
from retrieval.values import StoredChunk

HEADING_JOIN = " › "
LONGEST_UNHEADED = 1200  # tokens of text without headings that make one section; longer ones are parted at their chunks
TITLE_MARGIN = 12  # characters that a line may have beside the title that it repeats
STATEMENT_CHARS = 400  # of a quoted sentence

_WORD = re.compile(r"[^\W\d_]")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{1,400}\)")  # Markdown's: its words are what is said
# A short line with a number and without a full stop, alone in its paragraph: "第一條 假別", "§ 3 Fees", "2 Scope".
_NUMBERED = re.compile(
    r"(?:第[\d一二三四五六七八九十百]{1,5}[条條章节節]|[一二三四五六七八九十]{1,3}、"
    r"|[（(][一二三四五六七八九十]{1,3}[)）]|§ ?\d{1,3}|\d{1,2} (?=[A-Z\u4e00-\u9fff]))"
    r" ?[^\s\d][^。；;！!？?，,:：]{0,40}"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a section, out of one chunk. `text`: as it stands there."""

    chunk: StoredChunk
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, list item or table row, on one line and without markup."""

    text: str
    chunk: StoredChunk


@dataclass(slots=True)
class Section:
    """`path`: its headings, outermost first, without the document's title; empty for text that stands under none."""

    path: tuple[str, ...]
    pieces: list[Piece] = field(default_factory=list)

    @property
    def heading(self) -> str:
        return self.path[-1] if self.path else ""

    @property
    def tokens(self) -> int:
        return sum(estimate_tokens(piece.text) for piece in self.pieces)

    def statements(self) -> list[Statement]:
        return [
            Statement(text if len(text) <= STATEMENT_CHARS else text[:STATEMENT_CHARS].rstrip() + "…", piece.chunk)
            for piece in self.pieces
            for text in _sentences(piece.text)
        ]

    def leads(self) -> list[Statement]:
        """The first sentence of each paragraph, list or table."""
        return [
            Statement(sentences[0][:STATEMENT_CHARS], piece.chunk)
            for piece in self.pieces
            for block in passage_blocks(piece.text)
            if block.kind != "heading"
            and (sentences := _sentences(piece.text[block.start : block.end]))
            and not _is_title(sentences[0], piece.chunk.title)
        ]


def _sentences(text: str) -> list[str]:
    runs = groupby(text.split("\n"), key=_is_bare_row)
    rows = "\n".join(line for bare, run in runs for line in (as_table([*run]) if bare else run))
    plain = (" ".join(neutralise(_LINK.sub(r"\1", one.text)).split()) for one in headed_statements_of(rows))
    return [statement for statement in plain if _WORD.search(statement)]


def _is_title(sentence: str, title: str) -> bool:
    return bool(title) and _label(title) in _label(sentence) and len(sentence) < len(title) + TITLE_MARGIN


def _is_bare_row(line: str) -> bool:
    """A table's row without its outer bars, as tables of other files than Markdown are written down."""
    return " | " in line and not line.lstrip().startswith("|")


def sections_of(chunks: Sequence[StoredChunk]) -> list[Section]:
    """`chunks`: of one document, in order."""
    sections: list[Section] = []
    end, outer = 0, None
    for chunk in chunks:
        title = _label(chunk.title)
        text = _own_text(chunk, end)
        end = max(end, chunk.char_end)
        above = tuple(part for part in chunk.heading.split(HEADING_JOIN) if part and _label(part) != title)
        current = sections[-1] if sections and outer == above else None
        outer = above
        for heading, part in _headed(text, above):
            label = _label(heading)
            if heading and label != title:
                path = above if above and _label(above[-1]) == label else (*above, heading)
                current = Section(path)
                sections.append(current)
            elif current is None:
                current = Section(above)
                sections.append(current)
            if part.strip():
                current.pieces.append(Piece(chunk, part))
    return [part for section in sections if section.pieces for part in _parted(section)]


def _own_text(chunk: StoredChunk, end: int) -> str:
    """Without what the chunk before it holds already, up to the place `end` of the document."""
    repeated = end - chunk.char_start if chunk.char_end > chunk.char_start else 0
    return chunk.text[repeated:] if 0 < repeated < len(chunk.text) else chunk.text


def _headed(text: str, above: Sequence[str]) -> Iterable[tuple[str, str]]:
    """(heading, the text below it) in order; the first heading may be empty."""
    known = {_label(heading) for heading in above}
    heading, start, found = "", 0, False
    for block in passage_blocks(text):
        lines = block.content.strip().split("\n")
        label = block.label if block.kind == "heading" else lines[0].strip()
        is_heading = block.kind == "heading" or (
            block.kind == "text" and len(lines) == 1 and _reads_as_heading(label, known)
        )
        if is_heading:
            if found or text[start : block.start].strip():
                yield heading, text[start : block.start]
            heading, start, found = label, block.end, True
    yield heading, text[start:]


def _reads_as_heading(line: str, known: Set[str]) -> bool:
    if heading_level(line) > 0 or _label(line) in known:
        return True
    return bool(_NUMBERED.fullmatch(line.replace("\u3000", " "))) and not line.endswith(".")


def _parted(section: Section) -> list[Section]:
    if section.path or section.tokens <= LONGEST_UNHEADED:
        return [section]
    return [Section((), [piece]) for piece in section.pieces]


def _label(heading: str) -> str:
    return "".join(char for char in heading.casefold() if char.isalnum())
