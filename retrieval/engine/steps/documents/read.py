"""Whole documents that are read: all their chunks, as excerpts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import NamedDocument, RetrieveDetails
from retrieval.engine.ports import DocumentReader
from retrieval.engine.steps.documents.excerpts import Excerpt, excerpts_of
from retrieval.engine.steps.step import step
from retrieval.engine.trace import note
from retrieval.engine.values import DocumentRef, SearchFilters, SearchScope

MOST_CHUNKS = 4000  # of one document: about 2,000 pages of text


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """`excerpts`: of its first `sections`. total: sections that it has; estimated where it was not read to its end."""

    ref: DocumentRef
    excerpts: list[Excerpt]
    sections: int
    total: int


@step("retrieve")
async def read_documents(
    deps: Deps, ids: Sequence[str], *, scope: SearchScope
) -> list[WholeDocument]:
    """Those of the ids that are there and ready, in the order of the ids."""
    reader = deps.documents
    documents = list[WholeDocument]()
    if reader is None:
        return documents
    found = await reader.documents(
        scope, filters=SearchFilters(documents=tuple(ids)), limit=len(ids)
    )
    for ref in sorted(found, key=lambda ref: ids.index(ref.id)):
        first = sum(document.sections for document in documents)
        documents.append(await _read(reader, ref, scope, first))
    details = RetrieveDetails(
        whole_documents=tuple(
            NamedDocument(document_id=one.ref.id, title=one.ref.title) for one in documents
        ),
        titles=tuple(one.ref.title for one in documents),
        read=sum(one.sections for one in documents),
        total=sum(one.total for one in documents),
    )
    note("documents_read", details)
    return documents


async def _read(
    reader: DocumentReader, ref: DocumentRef, scope: SearchScope, first: int
) -> WholeDocument:
    chunks = await reader.chunks(ref.id, scope=scope, limit=MOST_CHUNKS)
    excerpts = await asyncio.to_thread(excerpts_of, chunks, first=first)
    total = sections = excerpts[-1].section + 1 - first if excerpts else 0
    if len(chunks) < ref.chunk_count:
        total = max(sections + 1, round(sections * ref.chunk_count / max(1, len(chunks))))
    return WholeDocument(ref, excerpts, sections, total)
