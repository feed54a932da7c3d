"""Filling the index anew from the database while searches go on.

- `index_rebuild`: every embedding space into the next generation of its Milvus collection, then a swap. Vectors are
  copied where they are there, so no model is needed; terms are analysed anew.
- `collection_reindex`: one collection's rows written over in place.
- `collection_reembed`: one collection into another embedding space, for instance out of the one it got offline. Its
  rows are written beside the old ones, then the collection changes over, then the old rows go.
- `index_work`: one of the two that a person has asked for. The collection keeps it until it is done, so that it goes on
  when its worker was killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db.models import Q, QuerySet
from django.utils import timezone

from ragsite.core.wording import worded
from retrieval.engine import Engine, get_engine
from retrieval.errors import EmbeddingUnavailableError, IndexUnavailableError
from retrieval.models import Chunk, Collection
from retrieval.ports import Vectors
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.search.index import Generation, MilvusIndex
from retrieval.selectors import collection_space
from retrieval.services import index_sync
from retrieval.services.index_sync import MAINTENANCE, MAINTENANCE_WAIT_S, Report, in_batches, rows_of
from retrieval.services.queueing import index_work_queue
from retrieval.services.write_lease import lease_is_held, write_lease
from retrieval.values import EmbeddingSpace

RESUME_EXPIRES_S = 30  # by then the next round has looked again


def _silent(_: int) -> None:
    """No progress is wanted."""


async def index_rebuild(*, report: Report = _silent) -> int:
    """Rebuild every space; the number of chunks written. `report`: how many more were written.

    Raises IndexUnavailableError, EmbeddingUnavailableError (a vector is missing and its model is away).
    """
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        return sum([await _rebuild(engine, space, report) for space in await index_sync.spaces_in_use()])


async def _rebuild(engine: Engine, space: EmbeddingSpace, report: Report) -> int:
    index = _milvus(engine)
    started = timezone.now()
    generation = await index.build_generation(space)
    written = await _fill(engine, generation, sorted(await index_sync.ids_to_keep(engine, space)), report)
    async with index.swapping(generation):
        # No ingest writes now: take up what came, changed or went since the first reading.
        expected = await index_sync.ids_to_keep(engine, space)
        there = await index.generation_ids(generation)
        changed = await index_sync.changed_since(space, started)
        written += await _fill(engine, generation, sorted((expected - there) | (expected & changed)), report)
        await index.trim_generation(generation, sorted(there - expected))
    return written


async def _fill(engine: Engine, generation: Generation, chunk_ids: Sequence[str], report: Report) -> int:
    index, written = _milvus(engine), 0
    async for chunks in in_batches(index_sync.chunks_of(generation.space), chunk_ids):
        vectors = await _vectors(engine, generation.space, chunks)
        await index.write_generation(generation, await asyncio.to_thread(rows_of, chunks, vectors))
        written += len(chunks)
        report(len(chunks))
    return written


async def _vectors(
    engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk], *, made_since: datetime | None = None
) -> Vectors:
    """The stored ones, and new ones where there are none. shape (len(chunks), dim).

    made_since: the stored ones are as old as that, so those of documents that were changed later don't count.
    """
    usable = [chunk for chunk in chunks if made_since is None or chunk.document.updated_at < made_since]
    stored = await _milvus(engine).vectors(space, [str(chunk.pk) for chunk in usable])
    lacking = [chunk for chunk in chunks if str(chunk.pk) not in stored]
    if lacking:
        embedder = await engine.models.embedder(space)
        fresh = await index_sync.embed(embedder, lacking)
        stored |= {str(chunk.pk): vector for chunk, vector in zip(lacking, fresh, strict=True)}
    return np.stack([stored[str(chunk.pk)] for chunk in chunks])


async def collection_reindex(*, collection: Collection, space: EmbeddingSpace, report: Report = _silent) -> int:
    """Write a collection's rows over, with the vectors that are there. Raises as `index_rebuild`."""
    engine = get_engine()
    written = 0
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        chunks_there = Chunk.objects.filter(document__collection=collection, document__superseded_at=None)
        row_ids = await index_sync.ids_of(chunks_there.filter(index_sync.SHOULD_BE_INDEXED))
        row_ids |= await index_sync.summary_ids(space, Q(collection=collection))
        async for chunks in in_batches(chunks_there, sorted(row_ids)):
            vectors = await _vectors(engine, space, chunks)
            await engine.index.upsert(space, await asyncio.to_thread(rows_of, chunks, vectors))
            written += len(chunks)
            report(len(chunks))
        await index_sync.space_repair(engine, space)
    return written


def index_work_ask(*, collections: QuerySet[Collection], work: Collection.IndexWork) -> None:
    """Have workers do it, each collection by itself. What is being done already goes on."""
    collections.exclude(index_work=work).update(index_work=work, index_work_since=None)
    for collection in collections:
        index_work_queue(collection_id=collection.pk)


def index_work_resume() -> int:
    """Send messages for what nobody works on: a worker died, a message was lost, a model was away. How many."""
    if lease_is_held(MAINTENANCE):
        return 0
    waiting = Collection.objects.exclude(index_work="").values_list("pk", flat=True)
    return sum(index_work_queue(collection_id=pk, expires_s=RESUME_EXPIRES_S) for pk in waiting)


async def index_work(*, collection_id: UUID) -> bool:
    """Do what was asked for, and forget it. False: nothing is.

    Raises EmbeddingUnavailableError, IndexUnavailableError; then it stays asked for.
    """
    collection = await Collection.objects.exclude(index_work="").filter(pk=collection_id).afirst()
    if collection is None:
        return False
    try:
        await _work(collection)
    except (EmbeddingUnavailableError, IndexUnavailableError):
        raise
    except Exception:  # would fail the next time, too
        await _forget(collection)
        raise
    await _forget(collection)
    return True


async def _work(collection: Collection) -> None:
    space, since = collection_space(collection), collection.index_work_since
    if collection.index_work == Collection.IndexWork.REEMBED:
        await collection_reembed(collection=collection, made_since=since)
    elif space:
        await collection_reindex(collection=collection, space=space)


async def _forget(collection: Collection) -> None:
    done = Collection.objects.filter(pk=collection.pk, index_work=collection.index_work)
    await done.aupdate(index_work="", index_work_since=None)


async def collection_reembed(
    *, collection: Collection, report: Report = _silent, made_since: datetime | None = None
) -> EmbeddingSpace:
    """Move a collection to the embedding model that new collections get; the space it is in afterwards.

    Searches see the old rows until all new ones are there. made_since: it was begun then and broke off, and goes on
    with the vectors that it has made. Raises EmbeddingUnavailableError, IndexUnavailableError.
    """
    engine = get_engine()
    embedder = await engine.models.default_embedder()
    old, new = collection_space(collection), embedder.space
    if old is None or (old == new and made_since is None):
        return new
    if new == LEXICAL_SPACE and engine.settings.ollama.offline != "1":
        raise EmbeddingUnavailableError  # a model that is away is no reason to give up what a model has made
    if old == new:
        return new
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        if made_since is None:
            made_since = timezone.now()
            await engine.index.delete_collection(new, str(collection.pk))
            await (
                Collection.objects.filter(pk=collection.pk).exclude(index_work="").aupdate(index_work_since=made_since)
            )
        chunks_there = Chunk.objects.filter(document__collection=collection, document__superseded_at=None)
        row_ids = await index_sync.ids_of(chunks_there) | await index_sync.summary_ids(old, Q(collection=collection))
        async for chunks in in_batches(chunks_there, sorted(row_ids)):
            vectors = await _vectors(engine, new, chunks, made_since=made_since)
            await engine.index.upsert(new, await asyncio.to_thread(rows_of, chunks, vectors))
            report(len(chunks))
        if not await _change_over(collection, old, new, await engine.models.context_length(new)):
            raise EmbeddingUnavailableError(worded("the collection was changed meanwhile; try again"))
        # What an ingest wrote into the old space during the last moments is missing in the new one.
        await index_sync.space_repair(engine, new)
        await engine.index.delete_collection(old, str(collection.pk))
    return new


async def _change_over(collection: Collection, old: EmbeddingSpace, new: EmbeddingSpace, context: int | None) -> bool:
    unchanged = Collection.objects.filter(pk=collection.pk, embedding_model=old.model, embedding_dim=old.dim)
    return bool(
        await unchanged.aupdate(
            embedding_model=new.model,
            embedding_dim=new.dim,
            embedding_context=context,
            version=index_sync.NEXT_VERSION,
            updated_at=timezone.now(),
        )
    )


def _milvus(engine: Engine) -> MilvusIndex:
    if not isinstance(engine.index, MilvusIndex):
        raise TypeError("rebuilding needs the Milvus index")
    return engine.index
