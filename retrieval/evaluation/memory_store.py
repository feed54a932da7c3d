"""Chunks in memory: what search reads instead of the database's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from retrieval.values import SearchScope, StoredChunk, Vocabulary


class MemoryChunkStore:
    """`retrieval.ports.ChunkStore` without a database."""

    def __init__(self, chunks: Iterable[StoredChunk]) -> None:
        self._chunks = {chunk.chunk_id: chunk for chunk in chunks}

    async def fetch(self, chunk_ids: Sequence[str], *, scope: SearchScope) -> Mapping[str, StoredChunk]:
        chunks = (self._chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in self._chunks)
        return {chunk.chunk_id: chunk for chunk in chunks if chunk.collection_id in scope.ids}

    async def vocabulary(self, scope: SearchScope) -> Vocabulary:
        chunks = [chunk for chunk in self._chunks.values() if chunk.collection_id in scope.ids]
        return Vocabulary(
            departments=tuple(sorted({chunk.department for chunk in chunks if chunk.department})),
            doc_types=tuple(sorted({chunk.doc_type for chunk in chunks if chunk.doc_type})),
            policy_years=tuple(sorted({chunk.policy_year for chunk in chunks if chunk.policy_year is not None})),
            tags=tuple(sorted({tag for chunk in chunks for tag in chunk.tags})),
        )
