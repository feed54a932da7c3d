"""The index against the database: compared, repaired, rebuilt, re-embedded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async

from retrieval.compose import Engine, close_engine, get_engine
from retrieval.engine.errors import EmbeddingUnavailableError, IndexUnavailableError
from retrieval.engine.ports import SearchRequest
from retrieval.engine.providers.builtin import BUILTIN_SPACE as BUILTIN
from retrieval.engine.values import EmbeddingSpace, Query
from retrieval.knowledge.index_sync import repair
from retrieval.knowledge.index_sync.repair import (
    MAINTENANCE,
    collection_reembed,
    index_rebuild,
    index_repair,
)
from retrieval.knowledge.index_sync.write_lease import write_lease
from retrieval.knowledge.scopes import scope_for_all
from retrieval.models import Chunk, Collection, Document
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory
from tests.milvus import row
from tests.ollama_server import OllamaServer

pytestmark = pytest.mark.django_db(transaction=True)


def _library(chunks: int = 3, **fields: Any) -> Collection:
    collection = CollectionFactory(name="library", builtin=True)
    document = DocumentFactory(collection=collection, title="Loans", **fields)
    for seq in range(chunks):
        ChunkFactory(
            document=document,
            seq=seq,
            text=f"Rule number {seq} about borrowing books",
            indexed=False,
        )
    return collection


async def library(**options: Any) -> Collection:
    return await sync_to_async(_library)(**options)


async def chunk_ids() -> set[str]:
    return {str(pk) async for pk in Chunk.objects.values_list("pk", flat=True)}


async def found(engine: Engine, text: str) -> list[str]:
    scope = await sync_to_async(scope_for_all)()
    result = await engine.searcher.search(SearchRequest(queries=(Query(text),), scope=scope))
    assert result.degraded == ()
    return [candidate.chunk_id for candidate in result.candidates]


async def test_missing_chunks_and_summaries_are_written_and_known_ones_kept(engine: Engine) -> None:
    await library(summary="Rules about borrowing books", status=Document.Status.READY)
    document = await Document.objects.aget()
    rows = await chunk_ids() | {str(document.pk)}
    [repair] = await index_repair()
    assert (repair.missing, repair.written) == (4, 4)
    assert await engine.index.chunk_ids(BUILTIN) == rows
    assert not await Chunk.objects.filter(indexed=False).aexists()
    assert len(await found(engine, "borrowing books")) == 3
    [again] = await index_repair()
    assert (again.missing, again.surplus) == (0, 0)
    assert await index_rebuild() == len(rows)
    assert await engine.index.chunk_ids(BUILTIN) == rows


async def test_chunks_of_a_running_ingest_are_its_own_work(engine: Engine) -> None:
    await library(status=Document.Status.EMBEDDING)
    [repair] = await index_repair()
    assert (repair.missing, repair.chunks) == (0, 3)
    assert len(await engine.index.chunk_ids(BUILTIN)) == 0


async def test_without_the_embedding_model_the_rest_is_repaired_and_the_gap_named(
    engine: Engine,
) -> None:
    collection = await library()
    away = EmbeddingSpace("bge-m3:latest", 8)
    await Collection.objects.filter(pk=collection.pk).aupdate(
        embedding_model=away.model, embedding_dim=away.dim
    )
    stray = row("stray")
    await engine.index.upsert(away, [stray])
    [repair] = await index_repair()
    assert (repair.missing, repair.surplus, repair.written) == (3, 1, 0)
    assert repair.problem
    assert len(await engine.index.chunk_ids(away)) == 0


async def test_one_process_at_a_time_maintains_the_index(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.knowledge.index_sync.repair.MAINTENANCE_WAIT_S", 0.0)
    async with write_lease(MAINTENANCE):
        with pytest.raises(IndexUnavailableError):
            await index_repair()


async def test_a_rebuild_keeps_vectors_and_renews_terms(engine: Engine) -> None:
    await library()
    await index_repair()
    ids = sorted(await chunk_ids())
    before = await engine.index.vectors(BUILTIN, ids)
    stray = row("stray", dim_of=BUILTIN)
    await engine.index.upsert(BUILTIN, [stray])
    reported: list[int] = []
    assert await index_rebuild(report=reported.append) == 3
    assert sum(reported) == 3
    after = await engine.index.vectors(BUILTIN, ids)
    assert await engine.index.chunk_ids(BUILTIN) == set(ids)
    for chunk_id in ids:
        np.testing.assert_allclose(after[chunk_id], before[chunk_id], atol=1e-6)
    assert len(await found(engine, "borrowing books")) == 3


async def test_what_comes_and_goes_during_a_rebuild_is_taken_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await library()
    await index_repair()
    write_rows = repair._write_rows

    async def write_while_others_work(*args: Any, **named: Any) -> int:
        written = await write_rows(*args, **named)
        if not await Chunk.objects.filter(text="new").aexists():
            document = await Document.objects.aget(collection=collection)
            await sync_to_async(ChunkFactory)(document=document, seq=9, text="new")
            await (await Chunk.objects.aget(seq=0)).adelete()
        return written

    monkeypatch.setattr(repair, "_write_rows", write_while_others_work)
    await index_rebuild()
    assert await engine.index.chunk_ids(BUILTIN) == await chunk_ids()


async def test_a_collection_embedded_offline_moves_to_the_model(
    engine: Engine, ollama: OllamaServer, rag_settings: Any
) -> None:
    collection = await library()
    await index_repair()
    await close_engine()
    rag_settings(ollama={"base_url": ollama.url, "offline": "auto"})
    online = get_engine()
    await collection.arefresh_from_db()
    version = collection.version
    space = await collection_reembed(collection=collection)
    await collection.arefresh_from_db()
    assert space.model != BUILTIN.model
    assert (collection.embedding_model, collection.embedding_dim) == (space.model, space.dim)
    assert collection.version == version + 1
    assert await online.index.chunk_ids(space) == await chunk_ids()
    assert len(await online.index.chunk_ids(BUILTIN)) == 0
    assert len(await found(online, "borrowing books")) == 3


async def test_a_re_embedding_that_breaks_off_leaves_the_old_vectors_in_use(
    engine: Engine, ollama: OllamaServer, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await library()
    await index_repair()
    await close_engine()
    rag_settings(ollama={"base_url": ollama.url, "offline": "auto"})

    async def gone(*_: Any, **__: Any) -> Any:
        raise EmbeddingUnavailableError("gone")

    monkeypatch.setattr(repair, "vectors_of", gone)
    with pytest.raises(EmbeddingUnavailableError):
        await collection_reembed(collection=collection)
    await collection.arefresh_from_db()
    assert collection.embedding_model == BUILTIN.model
    assert len(await found(get_engine(), "borrowing books")) == 3


async def test_a_collection_does_not_lose_its_model_because_the_server_is_away(
    engine: Engine, ollama: OllamaServer, rag_settings: Any
) -> None:
    collection = await library()
    await index_repair()
    await close_engine()
    rag_settings(ollama={"base_url": ollama.url, "offline": "auto"})
    await collection_reembed(collection=collection)
    await collection.arefresh_from_db()
    ollama.stop()
    await close_engine()
    with pytest.raises(EmbeddingUnavailableError):
        await collection_reembed(collection=collection)
    await collection.arefresh_from_db()
    assert collection.embedding_model != BUILTIN.model
