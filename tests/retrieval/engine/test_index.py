"""The index against a real Milvus Lite, and what every kind of Milvus has to do alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from ragsite.core.server_settings import MilvusSettings
from ragsite.runtime.milvus_lite import LiteServer
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.search.milvus import connection
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.schema import MAX_TERMS_BYTES, entity
from retrieval.engine.search.milvus.writing import WriteRight, only_writer
from retrieval.engine.text.analysis import search_terms
from retrieval.engine.trace import Trace
from retrieval.engine.values import EmbeddingSpace, SearchFilters
from tests.milvus import COLLECTION, SPACE, ids, row, unit_vector

NONE = SearchFilters()


@pytest_asyncio.fixture
async def index(
    milvus_settings: MilvusSettings, uri_of_each_kind: str
) -> AsyncIterator[MilvusIndex]:
    """Tests that take it run on every kind of Milvus."""
    index = MilvusIndex(
        milvus_settings.replace(uri=uri_of_each_kind), uri=uri_of_each_kind, writer_lock=only_writer
    )
    yield index
    await index.close()


async def dense(
    index: MilvusIndex, *vector: float, limit: int = 10, filters: SearchFilters = NONE
) -> list[str]:
    vectors = np.stack([unit_vector(*vector)])
    found = await index.search_dense(
        SPACE, vectors, collection_ids=[COLLECTION], filters=filters, limit=limit
    )
    return ids(found[0])


async def test_dense_search_orders_by_cosine(index: MilvusIndex) -> None:
    near, far = row("near", 1, 0.1), row("far", 0, 1)
    await index.upsert(SPACE, [far, near])
    vectors = np.stack([unit_vector(1), unit_vector(0, 1)])
    found = await index.search_dense(
        SPACE, vectors, collection_ids=[COLLECTION], filters=NONE, limit=2
    )
    assert [ids(leg) for leg in found] == [
        [near.chunk_id, far.chunk_id],
        [far.chunk_id, near.chunk_id],
    ]
    assert found[1][0].score == pytest.approx(1.0, abs=1e-5)
    assert found[0][0].document_id == near.document_id


async def test_bm25_scores_are_positive_and_best_first(index: MilvusIndex) -> None:
    often, once = row("library library hours"), row("library and a canteen with many other things")
    await index.upsert(SPACE, [once, often, row("something else")])
    found = await index.search_bm25(
        SPACE, ["librari", "", "nowhere"], collection_ids=[COLLECTION], filters=NONE, limit=5
    )
    assert ids(found[0]) == [often.chunk_id, once.chunk_id]
    assert found[0][0].score > found[0][1].score > 0
    assert found[1:] == [[], []]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The pod shows ImagePullBackOff since 2025-03.", "imagepullbackoff"),
        ("See §12.3 for details", "§12.3"),
        ("圖書館的開放時間", "图书馆"),
        ("Rückmeldung für Studierende", "Rückmeldung"),
        ("東京の天気", "天気"),
    ],
)
async def test_the_backend_keeps_our_terms_whole(index: MilvusIndex, text: str, query: str) -> None:
    wanted = row(text)
    await index.upsert(SPACE, [wanted, row("something else entirely")])
    found = await index.search_bm25(
        SPACE, [" ".join(search_terms(query))], collection_ids=[COLLECTION], filters=NONE, limit=5
    )
    assert ids(found[0]) == [wanted.chunk_id]


async def test_rows_are_written_once_however_often(index: MilvusIndex) -> None:
    first = row("first")
    await index.upsert(SPACE, [first, row("second")])
    await index.upsert(SPACE, [replace(first, terms="changed")])
    assert len(await index.chunk_ids(SPACE)) == 2
    found = await index.search_bm25(
        SPACE, ["changed"], collection_ids=[COLLECTION], filters=NONE, limit=5
    )
    assert ids(found[0]) == [first.chunk_id]


async def test_other_collections_are_never_searched(index: MilvusIndex) -> None:
    await index.upsert(SPACE, [row("secret", 1, collection_id=str(uuid.uuid4()))])
    assert await dense(index, 1) == []
    assert await index.search_bm25(
        SPACE, ["secret"], collection_ids=[COLLECTION], filters=NONE, limit=5
    ) == [[]]


async def test_an_empty_scope_never_reaches_milvus(index: MilvusIndex) -> None:
    await index.upsert(SPACE, [row("open", 1)])
    vectors = np.stack([unit_vector(1)])
    assert await index.search_dense(SPACE, vectors, collection_ids=[], filters=NONE, limit=5) == [
        []
    ]


async def test_deletes_by_chunk_document_and_collection(index: MilvusIndex) -> None:
    other = str(uuid.uuid4())
    one, two, three, four = row("1"), row("2"), row("3"), row("4", collection_id=other)
    await index.upsert(SPACE, [one, two, three, four])
    await index.delete_chunks(SPACE, [one.chunk_id])
    await index.delete_document(SPACE, two.document_id)
    assert await index.chunk_ids(SPACE) == {three.chunk_id, four.chunk_id}
    await index.delete_collection(SPACE, other)
    assert await index.chunk_ids(SPACE) == {three.chunk_id}


async def test_spaces_whose_names_look_alike_are_apart(index: MilvusIndex) -> None:
    await index.upsert(EmbeddingSpace("bge:m3", 8), [row("x")])
    assert len(await index.chunk_ids(EmbeddingSpace("bge-m3", 8))) == 0


async def test_a_rebuild_swaps_without_taking_search_away(index: MilvusIndex) -> None:
    old, new = row("old", 1), row("new", 1)
    await index.upsert(SPACE, [old])
    generation = await index.build_generation(SPACE)
    await index.write_generation(generation, [new, row("gone since")])
    assert await dense(index, 1) == [old.chunk_id]
    async with index.swapping(generation):
        surplus = await index.generation_ids(generation) - {new.chunk_id}
        await index.trim_generation(generation, sorted(surplus))
    assert await dense(index, 1) == [new.chunk_id]
    again = await index.build_generation(SPACE)
    assert again.name != generation.name


async def test_without_a_server_the_error_says_so() -> None:
    index = MilvusIndex(MilvusSettings(), uri="", writer_lock=only_writer)
    with pytest.raises(IndexUnavailableError, match="No Milvus server is running"):
        len(await index.chunk_ids(SPACE))


async def test_a_dead_address_is_unavailable_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 0.5)
    index = MilvusIndex(MilvusSettings(), uri="http://127.0.0.1:9", writer_lock=only_writer)
    with pytest.raises(IndexUnavailableError):
        await index.ping()
    with pytest.raises(IndexUnavailableError):
        await dense(index, 1)
    await index.close()


async def test_a_search_waits_while_its_server_is_restarted_and_says_so(
    tmp_path_factory: pytest.TempPathFactory,
    milvus_settings: MilvusSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.RESTART_WAIT_S", 60.0)
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.TIMEOUT_S", 60.0)
    server, trace, reconnecting = (
        LiteServer(tmp_path_factory.mktemp("restarted")),
        Trace(),
        asyncio.Event(),
    )
    assert server.start()
    server.wait_ready()

    def find_uri() -> str:
        reconnecting.set()
        return server.uri

    async def restart() -> None:
        await reconnecting.wait()
        server.start()

    index = MilvusIndex(milvus_settings, uri=find_uri, writer_lock=only_writer)
    try:
        await index.upsert(SPACE, [kept := row("kept", 1)])
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        reconnecting.clear()
        restarting = asyncio.create_task(restart())
        async with trace.step("retrieve"):
            assert await dense(index, 1) == [kept.chunk_id]
        await restarting
    finally:
        await index.close()
        server.stop()
    assert trace.steps[0].detail["waited_for_index_s"] > 0


async def test_a_writer_asks_before_every_write_whether_it_still_may(
    milvus_settings: MilvusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Right:
        asked = 0

        async def aensure(self) -> None:
            self.asked += 1
            if self.asked > 3:  # making the collection known, the first batch, its flush
                raise IndexUnavailableError("taken over")

    @asynccontextmanager
    async def lock(_: str) -> AsyncIterator[WriteRight]:
        yield right

    right = Right()
    monkeypatch.setattr("retrieval.engine.search.milvus.index.WRITE_BATCH_SIZE", 1)
    index = MilvusIndex(milvus_settings, uri=milvus_settings.uri, writer_lock=lock)
    await index.upsert(SPACE, [row("first")])
    with pytest.raises(IndexUnavailableError, match="taken over"):
        await index.upsert(SPACE, [row("second"), row("third")])
    assert len(await index.chunk_ids(SPACE)) == 1
    await index.close()


def test_terms_too_long_for_the_field_end_with_a_whole_term() -> None:
    terms = " ".join(["图书馆"] * 10_000)
    kept = entity(replace(row("x"), terms=terms))["terms"]
    assert len(kept.encode()) <= MAX_TERMS_BYTES
    assert set(kept.split()) == {"图书馆"}


async def test_documents_written_one_by_one_rank_as_if_written_at_once(
    milvus_settings: MilvusSettings,
) -> None:
    """Six writes: some segments are merged behind the scenes, the others have little besides their own document."""
    texts = [
        "annual leave leave of absence leave", "leave request form for parental leave", "leave the keys at the desk",
        "library opening hours", "canteen menu", "parking permits for bicycles and cars",
    ]  # fmt: skip
    rows = [row(text) for text in texts]
    rankings = []
    for writes in ([rows], [[one] for one in rows]):
        own = milvus_settings.replace(prefix=f"{milvus_settings.prefix}w{len(writes)}")
        index = MilvusIndex(own, uri=own.uri, writer_lock=only_writer)
        for write in writes:
            await index.upsert(SPACE, write)
        query = " ".join(search_terms("leave of absence form, or parking"))
        found = await index.search_bm25(
            SPACE, [query], collection_ids=[COLLECTION], filters=NONE, limit=10
        )
        rankings.append({hit.chunk_id: hit.score for hit in found[0]})
        await index.close()
    assert len(rankings[0]) == 4
    assert list(rankings[1]) == list(rankings[0])
    assert rankings[1] == pytest.approx(rankings[0], rel=1e-4)


async def test_after_a_call_that_hung_the_next_ones_are_given_up_soon(
    index: MilvusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: Any) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(connection, "HUNG_TIMEOUT_S", 0.05)
    with pytest.raises(IndexUnavailableError):
        await index._collections._connection.call(hang, timeout_s=0.05)
    async with asyncio.timeout(30):
        with pytest.raises(IndexUnavailableError):
            await index._collections._connection.call(hang, timeout_s=3600)
    monkeypatch.setattr(connection, "HUNG_TIMEOUT_S", 20.0)
    assert await index.chunk_ids(SPACE) == set()  # it answers again
    assert index._collections._connection._hung_until == 0.0
