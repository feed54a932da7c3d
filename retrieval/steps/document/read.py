"""Read: all chunks of a document, in their order, as sections. The database's side is `retrieval.ports.DocumentReader`,
which gives nothing outside the asking user's scope."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.wording import counted, joined, worded
from retrieval.steps.document.sections import Section, sections_of
from retrieval.steps.step import Step
from retrieval.trace import StepRecord
from retrieval.values import DocumentRef, SearchScope, StoredChunk

PAGE = 200  # chunks of one read
MOST_CHUNKS = 4000  # of one document: about 2,000 pages of text


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """`total`: sections that it has, of which `sections` are the first; estimated where it was not read to its end."""

    ref: DocumentRef
    sections: tuple[Section, ...]
    total: int

    @property
    def is_whole(self) -> bool:
        return len(self.sections) == self.total


@dataclass(frozen=True, slots=True)
class ToRead:
    documents: Sequence[DocumentRef]
    scope: SearchScope


class ReadDocuments(Step[ToRead, tuple[WholeDocument, ...]]):
    name = "retrieve"

    async def act(self, given: ToRead, entry: StepRecord) -> tuple[WholeDocument, ...]:
        documents = []
        for ref in given.documents:
            chunks = await self._chunks(ref, given.scope)
            sections = await asyncio.to_thread(sections_of, chunks)
            total = len(sections)
            if len(chunks) < ref.chunk_count:
                total = max(total + 1, round(total * ref.chunk_count / max(1, len(chunks))))
            documents.append(WholeDocument(ref, tuple(sections), total))
        entry.detail["documents"] = [
            {"document_id": one.ref.id, "title": one.ref.title, "sections": len(one.sections), "of": one.total}
            for one in documents
        ]
        entry.summary = joined("; ", map(_told, documents))
        return tuple(documents)

    async def _chunks(self, ref: DocumentRef, scope: SearchScope) -> list[StoredChunk]:
        reader, chunks = self.tools.documents, list[StoredChunk]()
        while reader is not None and len(chunks) < MOST_CHUNKS:
            after = chunks[-1].seq if chunks else -1
            page = await reader.chunks(ref.id, scope=scope, after=after, limit=min(PAGE, MOST_CHUNKS - len(chunks)))
            chunks += page
            if len(page) < PAGE:
                break
        return chunks


def _told(document: WholeDocument) -> str:
    sections = counted("{count} section", "{count} sections", len(document.sections))
    if document.is_whole:
        return worded("read the whole of {title}: {sections}", title=document.ref.title, sections=sections)
    return worded(
        "read the first {sections} of {title}, which has about {total}",
        title=document.ref.title,
        sections=sections,
        total=document.total,
    )
