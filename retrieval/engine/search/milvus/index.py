"""The vector index on Milvus: `MilvusIndex` writes, searches and rebuilds, alike on every kind of Milvus (`backends`).

One Milvus collection per embedding space (`collections`), which a rebuild replaces. Every write is made by one writer
at a time, and ends with what makes it durable: Milvus Lite loses the acknowledged rows of concurrent writers when it is
killed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsite.core import metrics
from ragsite.core.server_settings import MilvusSettings
from retrieval.engine.errors import SpaceMissingError
from retrieval.engine.ports import LegHit, Vectors
from retrieval.engine.search.milvus.backends import generation_number
from retrieval.engine.search.milvus.collections import Generation, MilvusCollections
from retrieval.engine.search.milvus.connection import MissingCollectionError
from retrieval.engine.search.milvus.filters import any_of, identifier, in_collections, rows_of
from retrieval.engine.search.milvus.schema import entity
from retrieval.engine.search.milvus.writing import WriteRight, WriterLock
from retrieval.engine.values import EmbeddingSpace, IndexRow, Level, SearchFilters

BM25_K1 = 0.9  # saturation of a term's frequency
BM25_B = 0.4  # weight of a chunk's length

MAX_RESULTS = 16_384  # of one query or search, on every backend
WRITE_BATCH_SIZE = 500  # rows in one write


DELETE_BATCH = 1_000


class MilvusIndex:
    """The chunks of every embedding space; an unknown space holds nothing, and can't be searched (SpaceMissingError).
    Raises IndexUnavailableError.

    Belongs to one event loop; opens its connection at the first call.

    uri: where Milvus listens, or a function that finds out; asked again whenever the connection is lost.
    writer_lock: keeps other writers of a space out, across processes; asked again right before every write.
    k1, b: of BM25, fixed when a collection is made.
    """

    def __init__(
        self,
        settings: MilvusSettings,
        *,
        uri: str | Callable[[], str],
        writer_lock: WriterLock,
        k1: float = BM25_K1,
        b: float = BM25_B,
    ) -> None:
        self._writer_lock = writer_lock
        self._collections = MilvusCollections(
            settings, find_uri=uri if callable(uri) else lambda: uri, k1=k1, b=b
        )

    # -------------------------------------------------------------------------------------------- writing
    async def upsert(self, space: EmbeddingSpace, rows: Sequence[IndexRow]) -> None:
        """Write rows (idempotent by chunk_id): on return they are durable."""
        if rows:
            alias = self.alias(space)
            async with self._writer_lock(alias) as right:
                await self._collections.ensure_collection(space, right)
                try:
                    await self._write(right, await self._collections.in_use(alias), rows)
                except MissingCollectionError:  # Milvus lost its data since we last looked
                    self._collections.forget(space)
                    await self._collections.ensure_collection(space, right)
                    await self._write(right, await self._collections.in_use(alias), rows)

    async def delete_chunks(self, space: EmbeddingSpace, chunk_ids: Sequence[str]) -> None:
        await self._delete(space, _batches_of(chunk_ids))

    async def delete_document(self, space: EmbeddingSpace, document_id: str) -> None:
        await self._delete(space, [f"document_id == {identifier(document_id)}"])

    async def delete_collection(self, space: EmbeddingSpace, collection_id: str) -> None:
        await self._delete(space, [f"collection_id == {identifier(collection_id)}"])

    async def drop(self, space: EmbeddingSpace) -> None:
        """Remove the space with all its generations; for throw-away collections. Raises IndexUnavailableError."""
        alias = self.alias(space)
        async with self._writer_lock(alias) as right:
            self._collections.forget(space)
            backend = await self._collections.backend()
            await backend.take_out_of_use(partial(self._collections.change, right), alias)
            await self._collections.drop_generations(right, alias, keep="")

    async def _write(self, right: WriteRight, name: str, rows: Sequence[IndexRow]) -> None:
        for at in range(0, len(rows), WRITE_BATCH_SIZE):
            await self._collections.change(
                right,
                "upsert",
                name,
                [entity(row) for row in rows[at : at + WRITE_BATCH_SIZE]],
                slow=True,
            )
        await (await self._collections.backend()).make_durable(
            partial(self._collections.change, right), name
        )

    async def _delete(self, space: EmbeddingSpace, expressions: Sequence[str]) -> None:
        if not expressions:
            return
        alias = self.alias(space)
        async with self._writer_lock(alias) as right:
            with contextlib.suppress(MissingCollectionError):
                name = await self._collections.in_use(alias)
                for expression in expressions:
                    await self._collections.change(
                        right, "delete", name, filter=expression, slow=True
                    )
                await (await self._collections.backend()).make_durable(
                    partial(self._collections.change, right), name
                )

    # -------------------------------------------------------------------------------------------- reading
    async def count(self, space: EmbeddingSpace) -> int:
        """The number of a space's rows."""
        rows = await self._query_space(space, "", ["count(*)"])
        return int(rows[0]["count(*)"]) if rows else 0

    async def chunk_ids(self, space: EmbeddingSpace) -> set[str]:
        """All ids of a space."""
        with contextlib.suppress(MissingCollectionError):
            return await self._ids(await self._collections.in_use(self.alias(space)))
        return set()

    async def vectors(
        self, space: EmbeddingSpace, chunk_ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The stored vectors, shape (dim,), of those chunks that are there."""
        if not chunk_ids:
            return {}
        rows = await self._query_space(space, any_of("chunk_id", chunk_ids), ["chunk_id", "vector"])
        return {row["chunk_id"]: np.asarray(row["vector"], dtype=np.float32) for row in rows}

    async def search_dense(
        self,
        space: EmbeddingSpace,
        vectors: Vectors,
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level = "chunks",
        fresh: bool = True,
    ) -> list[list[LegHit]]:
        """One list per vector, best first; score is the cosine. All vectors in one call.

        level "documents": summaries and first chunks alone. fresh: what was written in the last seconds must be seen,
        which a server has to wait for.
        """
        backend = await self._collections.backend()
        params = {"metric_type": "COSINE", "params": backend.vector_search(limit)}
        rows = _Rows(collection_ids, filters, level, fresh)
        return await self._search(space, list(vectors), "vector", params, rows, limit)

    async def search_bm25(
        self,
        space: EmbeddingSpace,
        texts: Sequence[str],
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level = "chunks",
        fresh: bool = True,
    ) -> list[list[LegHit]]:
        """One list per analysed query, best first; score is BM25, positive. A text without terms finds nothing.

        level, fresh: as of `search_dense`.
        """
        queries = [text for text in texts if text.strip()]
        rows = _Rows(collection_ids, filters, level, fresh)
        legs = await self._search(space, queries, "sparse", {"metric_type": "BM25"}, rows, limit)
        hits = iter(legs)
        return [next(hits) if text.strip() else [] for text in texts]

    async def _search(
        self,
        space: EmbeddingSpace,
        data: Sequence[Any],
        field: str,
        params: Mapping[str, Any],
        rows: _Rows,
        limit: int,
    ) -> list[list[LegHit]]:
        if not data or not rows.collection_ids:
            return [[] for _ in data]
        backend = await self._collections.backend()
        listed, lists = backend.lists()
        expression = (
            f"{in_collections(rows.collection_ids, rows.filters, listed)} and {rows_of(rows.level)}"
        )
        options: dict[str, Any] = {
            "anns_field": field,
            "filter": expression,
            "filter_params": lists,
            "limit": min(limit, MAX_RESULTS),
            "search_params": dict(params),
            "output_fields": ["document_id"],
            **backend.consistency(fresh=rows.fresh),
        }
        begun = time.monotonic()
        try:
            legs = await self._collections.do(
                "search",
                await self._collections.in_use(self.alias(space)),
                data=list(data),
                **options,
            )
        except MissingCollectionError as error:
            raise SpaceMissingError from error
        seconds = time.monotonic() - begun
        metrics.index_search.labels("words" if field == "sparse" else "meaning").observe(seconds)
        metrics.index_searches.add(seconds)
        return [_hits(leg, negative=field == "sparse") for leg in legs]

    async def _query_space(
        self, space: EmbeddingSpace, expression: str, fields: Sequence[str]
    ) -> list[dict[str, Any]]:
        try:
            name = await self._collections.in_use(self.alias(space))
        except MissingCollectionError:
            return []
        return await self._query(name, expression, fields)

    async def _query(
        self, name: str, expression: str, fields: Sequence[str], **options: Any
    ) -> list[dict[str, Any]]:
        options |= {"output_fields": list(fields), "consistency_level": "Strong"}
        try:
            return list(
                await self._collections.do("query", name, filter=expression, slow=True, **options)
            )
        except MissingCollectionError:
            return []

    async def _ids(self, name: str, clause: str = "", after: str = "", up_to: str = "") -> set[str]:
        """Those in `(after, up_to]`. A range with more than an answer may hold is halved at the middle of what came."""
        lower = f"chunk_id > {identifier(after)}" if after else 'chunk_id > ""'
        upper = f"chunk_id <= {identifier(up_to)}" if up_to else ""
        expression = " and ".join(part for part in (clause, lower, upper) if part)
        rows = await self._query(name, expression, ["chunk_id"], limit=MAX_RESULTS)
        ids = {str(row["chunk_id"]) for row in rows}
        if len(rows) < MAX_RESULTS:
            return ids
        middle = sorted(ids)[(len(ids) - 1) // 2]
        return await self._ids(name, clause, after, middle) | await self._ids(
            name, clause, middle, up_to
        )

    # -------------------------------------------------------------------------------------------- generations
    async def build_generation(self, space: EmbeddingSpace) -> Generation:
        """A new, empty Milvus collection beside the one in use, which goes on serving searches."""
        alias = self.alias(space)
        current = await (await self._collections.backend()).generation_in_use(
            self._collections.do, alias
        )
        number = generation_number(current) + 1 if current else 1
        generation = Generation(space, alias, f"{alias}_g{number}")
        await self._collections.create(generation, keep_existing=False)
        return generation

    async def write_generation(self, generation: Generation, rows: Sequence[IndexRow]) -> None:
        if rows:
            async with self._writer_lock(generation.name) as right:
                await self._write(right, generation.name, rows)

    async def generation_ids(self, generation: Generation) -> set[str]:
        return await self._ids(generation.name)

    async def trim_generation(self, generation: Generation, chunk_ids: Sequence[str]) -> None:
        """Delete rows whose chunks have gone while the generation was being filled."""
        for expression in _batches_of(chunk_ids):
            await self._collections.do("delete", generation.name, filter=expression, slow=True)

    @contextlib.asynccontextmanager
    async def swapping(self, generation: Generation) -> AsyncIterator[None]:
        """Hold the space's writers off for the last catching-up, then let searches see the new generation."""
        async with self._writer_lock(generation.alias) as right:
            yield
            await self._collections.swap(generation, right)

    # -------------------------------------------------------------------------------------------- connection
    def alias(self, space: EmbeddingSpace) -> str:
        """The name of the space's collection; also the key of the writer lock."""
        return self._collections.alias(space)

    async def ping(self) -> None:
        """Raises IndexUnavailableError."""
        await self._collections.ping()

    async def close(self) -> None:
        await self._collections.close()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows a search may find."""

    collection_ids: Sequence[str]
    filters: SearchFilters
    level: Level
    fresh: bool


def _batches_of(chunk_ids: Sequence[str]) -> list[str]:
    return [
        any_of("chunk_id", chunk_ids[at : at + DELETE_BATCH])
        for at in range(0, len(chunk_ids), DELETE_BATCH)
    ]


def _hits(leg: Any, *, negative: bool) -> list[LegHit]:
    """Of pymilvus' `HybridHits`: its lists and plain look-ups, since hundreds of hits a search come this way and each
    of its own look-ups is a call. negative: Milvus Lite gives BM25 as a negative distance, a server as a positive
    score."""
    score = abs if negative else float
    field = dict.__getitem__
    return [
        LegHit(str(chunk_id), str(field(hit, "entity")["document_id"]), score(distance))
        for chunk_id, distance, hit in zip(leg.ids, leg.distances, leg, strict=True)
    ]
