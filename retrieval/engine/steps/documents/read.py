"""A whole document as a run of excerpts, made of all its chunks: what stands under one heading in one chunk.

A small document is one chunk with all its headings inside, a large section is many chunks under one heading; both ways
the sections are those that its reader sees. What two neighbouring chunks repeat of each other is taken once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ragsite.core.messages import worded
from retrieval.engine.ports import DocumentReader
from retrieval.engine.steps.step import Deps, step, try_call
from retrieval.engine.text.phrases import Language, in_script_of
from retrieval.engine.text.quoting import attribute, estimate_tokens, neutralise
from retrieval.engine.text.statements import blocks_of, headed_statements_of, heading_label
from retrieval.engine.trace import note
from retrieval.engine.values import HEADING_JOIN, DocumentRef, Scores, SearchFilters, SearchScope, Source, StoredChunk
from retrieval.knowledge.ingest.text import heading_level

MOST_CHUNKS = 4000  # of one document: about 2,000 pages of text
STATEMENT_CHARS = 400  # of a quoted sentence
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{1,400}\)")  # Markdown's: its words are what is said
MOST_SOURCES = 40  # passages that one answer may cite
MOST_PARTS = 40  # calls that read a document
PART_TOKENS = 2400  # of one call, where MOST_PARTS of them are enough: more take a small model long
PROMPT_TOKENS = 300  # of the instructions around a part
GIVE_UP = 3  # calls that fail from the first on: this model can't do it


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
        plain = (" ".join(neutralise(_LINK.sub(r"\1", one.text)).split()) for one in headed_statements_of(self.text))
        cut = (text if len(text) <= STATEMENT_CHARS else text[:STATEMENT_CHARS].rstrip() + "…" for text in plain)
        return [replace(self, text=text) for text in cut if any(map(str.isalpha, text))]

    def quoted(self, marker: int) -> str:
        return f'<passage id="{marker}" section="{attribute(self.heading)}">\n{neutralise(self.text)}\n</passage>'

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.quoted(1000) + "\n\n")


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """`excerpts`: of its first `sections`. total: sections that it has; estimated where it was not read to its end."""

    ref: DocumentRef
    excerpts: list[Excerpt]
    sections: int
    total: int


@step("retrieve")
async def read_documents(deps: Deps, ids: Sequence[str], *, scope: SearchScope) -> list[WholeDocument]:
    """Those of the ids that are there and ready, in the order of the ids."""
    reader = deps.documents
    documents = list[WholeDocument]()
    if reader is None:
        return documents
    found = await reader.documents(scope, filters=SearchFilters(documents=tuple(ids)), limit=len(ids))
    for ref in sorted(found, key=lambda ref: ids.index(ref.id)):
        first = sum(document.sections for document in documents)
        documents.append(await _read(reader, ref, scope, first))
    note(
        "documents_read",
        documents=[{"document_id": one.ref.id, "title": one.ref.title} for one in documents],
        titles=[one.ref.title for one in documents],
        read=sum(one.sections for one in documents),
        total=sum(one.total for one in documents),
    )
    return documents


async def _read(reader: DocumentReader, ref: DocumentRef, scope: SearchScope, first: int) -> WholeDocument:
    chunks = await reader.chunks(ref.id, scope=scope, limit=MOST_CHUNKS)
    excerpts = await asyncio.to_thread(excerpts_of, chunks, first=first)
    total = sections = excerpts[-1].section + 1 - first if excerpts else 0
    if len(chunks) < ref.chunk_count:
        total = max(sections + 1, round(sections * ref.chunk_count / max(1, len(chunks))))
    return WholeDocument(ref, excerpts, sections, total)


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
        above = tuple(part for part in chunk.heading.split(HEADING_JOIN) if part and label_of(part) != title)
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
        if block.kind == "heading" or (alone and (heading_level(line) > 0 or label_of(line) in known)):
            yield heading, text[start : block.start]
            heading = line
            start = block.end
    yield heading, text[start:]


def label_of(text: str) -> str:
    """What headings and words are compared by."""
    return "".join(char for char in text.casefold() if char.isalnum())


# ------------------------------------------------------------------------------------------------ parts

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Readings(Generic[Result]):
    """What was made of each part: None where the model could not read it. read: sections, from the first on."""

    parts: list[tuple[Sequence[Excerpt], Result | None]]
    read: int

    @property
    def failed(self) -> bool:
        """Whether the model could read none."""
        return all(result is None for _, result in self.parts)


def fit_one_prompt(excerpts: Sequence[Excerpt], room: int) -> bool:
    return len(sources_of(excerpts)) <= MOST_SOURCES and sum(excerpt.tokens for excerpt in excerpts) <= room


def sources_of(excerpts: Iterable[Excerpt]) -> tuple[Source, ...]:
    """Their chunks, each once, with markers from 1."""
    chunks = {excerpt.chunk.chunk_id: excerpt.chunk for excerpt in excerpts}
    return tuple(
        Source(marker=number, chunk=chunk, scores=Scores()) for number, chunk in enumerate(chunks.values(), start=1)
    )


def quoted_passages(excerpts: Sequence[Excerpt], markers: Iterable[int], language: Language) -> str:
    """What stands between the <passages> tags, each document's behind its title."""
    parts = list[str]()
    title = None
    for excerpt, marker in zip(excerpts, markers, strict=True):
        if excerpt.chunk.title != title:
            title = excerpt.chunk.title
            parts.append(f'<document title="{attribute(title)}">')
        parts.append(excerpt.quoted(marker))
    return in_script_of("\n\n".join(parts), language)


def parts_of(excerpts: Sequence[Excerpt], room: int) -> list[list[Excerpt]]:
    """In order, each part as long as fits the room. Of a long document they are longer, if the room allows."""
    target = max(PART_TOKENS, sum(excerpt.tokens for excerpt in excerpts) // (MOST_PARTS - 1))
    parts = list[list[Excerpt]]()
    left = 0
    size = max(PROMPT_TOKENS, min(target, room - PROMPT_TOKENS))
    for excerpt in excerpts:
        if not parts or excerpt.tokens > left:
            parts.append([])
            left = size
        parts[-1].append(excerpt)
        left -= excerpt.tokens
    return parts


async def read_parts(
    deps: Deps,
    parts: Sequence[Sequence[Excerpt]],
    read: Callable[[Sequence[Excerpt]], Coroutine[Any, Any, Result]],
) -> Readings[Result]:
    """The first MOST_PARTS, as many at a time as the site asks its model server at once; after each it is told how far
    it is. The running step's entry says why a part could not be read."""
    limiter = asyncio.Semaphore(deps.settings.ollama.max_concurrency)
    sections = parts[-1][-1].section + 1
    done = list[tuple[int, Result | None]]()

    async def tell() -> None:
        read = max((section for section, _ in done), default=0)
        await deps.trace.announce("read", worded("Read {read} of {total} sections", read=read, total=sections))

    async def work(part: Sequence[Excerpt]) -> Result | None:
        async with limiter:
            if len(done) >= GIVE_UP and all(result is None for _, result in done):
                return None
            result = await try_call(deps, read(part))
            done.append((part[-1].section + 1, result))
            await tell()
            return result

    await tell()  # the first part takes a model as long as any
    results = await asyncio.gather(*map(work, parts[:MOST_PARTS]))
    seen = sections if len(parts) <= MOST_PARTS else max(1, parts[MOST_PARTS][0].section)
    return Readings(list(zip(parts, results, strict=False)), seen)
