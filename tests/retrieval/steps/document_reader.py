"""A stand-in for the database's whole documents: the chunks of a few of them, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrieval.values import DocumentRef, SearchFilters, SearchScope, StoredChunk


@dataclass
class MemoryReader:
    """`reads`: what was asked for, in order."""

    held: Sequence[StoredChunk]
    attached: frozenset[str] = frozenset()
    reads: list[str] = field(default_factory=list)

    async def documents(
        self, scope: SearchScope, *, filters: SearchFilters, hints: Sequence[str] = (), limit: int
    ) -> tuple[DocumentRef, ...]:
        self.reads.append("documents")
        found: dict[str, DocumentRef] = {}
        for chunk in self._seen(scope):
            names = f"{chunk.title} {chunk.file_name}".lower()
            if hints and not any(hint.lower() in names for hint in hints):
                continue
            if filters.policy_year not in (None, chunk.policy_year):
                continue
            count = sum(other.document_id == chunk.document_id for other in self.held)
            found.setdefault(
                chunk.document_id,
                DocumentRef(
                    id=chunk.document_id, title=chunk.title, file_name=chunk.file_name, policy_year=chunk.policy_year,
                    chunk_count=count, attached=chunk.document_id in self.attached,
                ),
            )  # fmt: skip
        return tuple(found.values())[:limit]

    async def chunks(
        self, document_id: str, *, scope: SearchScope, after: int = -1, limit: int
    ) -> tuple[StoredChunk, ...]:
        self.reads.append("chunks")
        mine = [one for one in self._seen(scope) if one.document_id == document_id and one.seq > after]
        return tuple(sorted(mine, key=lambda one: one.seq)[:limit])

    async def at(self, places: Sequence[tuple[str, int]], *, scope: SearchScope) -> tuple[StoredChunk, ...]:
        self.reads.append("at")
        return tuple(one for one in self._seen(scope) if (one.document_id, one.seq) in places)

    def _seen(self, scope: SearchScope) -> list[StoredChunk]:
        return [one for one in self.held if one.collection_id in scope.ids]
