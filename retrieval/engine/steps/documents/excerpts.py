"""A whole document as a run of excerpts, made of all its chunks: what stands under one heading in one chunk.

A small document is one chunk with all its headings inside, a large section is many chunks under one heading; both ways
the sections are those that its reader sees. What two neighbouring chunks repeat of each other is taken once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from retrieval.engine.text.quoting import attribute, estimate_tokens, neutralise
from retrieval.engine.text.statements import (
    blocks_of,
    headed_statements_of,
    heading_label,
)
from retrieval.engine.values import HEADING_JOIN, StoredChunk
from retrieval.knowledge.ingest.text import heading_level

STATEMENT_CHARS = 400  # of a quoted sentence
_LINK = re.compile(
    r"!?\[([^\[\]]{0,200})\]\([^()\s]{1,400}\)"
)  # Markdown's: its words are what is said


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a section, a sentence of it, or a note on it. `section`: its number among all that were read, from 0.
    heading: the innermost; empty: it stands under none."""

    text: str
    heading: str
    section: int
    chunk: StoredChunk

    @property
    def statements(self) -> list[Excerpt]:
        """Its sentences, list items and table rows, each on one line and without markup."""
        plain = (
            " ".join(neutralise(_LINK.sub(r"\1", one.text)).split())
            for one in headed_statements_of(self.text)
        )
        cut = (
            text if len(text) <= STATEMENT_CHARS else text[:STATEMENT_CHARS].rstrip() + "…"
            for text in plain
        )
        return [replace(self, text=text) for text in cut if any(map(str.isalpha, text))]

    def quoted(self, marker: int) -> str:
        return f'<passage id="{marker}" section="{attribute(self.heading)}">\n{neutralise(self.text)}\n</passage>'

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.quoted(1000) + "\n\n")


def excerpts_of(chunks: Sequence[StoredChunk], *, first: int = 0) -> list[Excerpt]:
    """`chunks`: of one document, in order. first: the number of its first section."""
    excerpts: list[Excerpt] = []
    heading = ""
    end = 0
    outer = None
    section = first - 1
    for chunk in chunks:
        title = label_of(chunk.title)
        text = _own_text(chunk, end)
        end = max(end, chunk.char_end)
        above = tuple(
            part for part in chunk.heading.split(HEADING_JOIN) if part and label_of(part) != title
        )
        begins = above != outer
        heading = above[-1] if begins and above else "" if begins else heading
        outer = above
        for line, part in _headed(text, {label_of(part) for part in above}):
            if line and label_of(line) not in (title, label_of(heading)):
                heading = line
                begins = True
            if part.strip():
                section += begins or not heading or section < first
                begins = False
                excerpts.append(Excerpt(part.strip(), heading, section, chunk))
    return excerpts


def _own_text(chunk: StoredChunk, end: int) -> str:
    """Without what the chunk before it holds already, up to the place `end` of the document."""
    repeated = end - chunk.char_start if chunk.char_end > chunk.char_start else 0
    return chunk.text[repeated:] if 0 < repeated < len(chunk.text) else chunk.text


def _headed(text: str, known: Set[str]) -> Iterable[tuple[str, str]]:
    """(heading, the text below it) in order; the first heading may be empty. known: headings that the chunk is under,
    which stand in its text as lines like others."""
    heading = ""
    start = 0
    for block in blocks_of(text):
        line = text[block.start : block.end].strip()
        alone = block.kind == "text" and "\n" not in line
        line = heading_label(line) if block.kind == "heading" else line
        if block.kind == "heading" or (
            alone and (heading_level(line) > 0 or label_of(line) in known)
        ):
            yield heading, text[start : block.start]
            heading = line
            start = block.end
    yield heading, text[start:]


def label_of(text: str) -> str:
    """What headings and words are compared by."""
    return "".join(char for char in text.casefold() if char.isalnum())
