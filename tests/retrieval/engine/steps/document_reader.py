"""A stand-in for the database's whole documents: the chunks of a few of them, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrieval.engine.values import DocumentRef, SearchFilters, SearchScope, StoredChunk


@dataclass
class MemoryReader:
    """`reads`: what was asked for, in order."""

    held: Sequence[StoredChunk]
    reads: list[str] = field(default_factory=list)

    async def documents(
        self, scope: SearchScope, *, filters: SearchFilters, limit: int
    ) -> tuple[DocumentRef, ...]:
        self.reads.append("documents")
        found: dict[str, DocumentRef] = {}
        for chunk in self._seen(scope):
            if filters.documents and chunk.document_id not in filters.documents:
                continue
            count = sum(other.document_id == chunk.document_id for other in self.held)
            ref = DocumentRef(
                id=chunk.document_id,
                title=chunk.title,
                policy_year=chunk.policy_year,
                chunk_count=count,
            )
            found.setdefault(chunk.document_id, ref)
        return tuple(found.values())[:limit]

    async def chunks(
        self, document_id: str, *, scope: SearchScope, limit: int
    ) -> tuple[StoredChunk, ...]:
        self.reads.append("chunks")
        mine = [one for one in self._seen(scope) if one.document_id == document_id]
        return tuple(sorted(mine, key=lambda one: one.seq)[:limit])

    async def at(
        self, places: Sequence[tuple[str, int]], *, scope: SearchScope
    ) -> tuple[StoredChunk, ...]:
        self.reads.append("at")
        return tuple(one for one in self._seen(scope) if (one.document_id, one.seq) in places)

    def _seen(self, scope: SearchScope) -> list[StoredChunk]:
        return [one for one in self.held if one.collection_id in scope.ids]
