"""The index is away, or lost, or holds half: searches say so, words are found all the same, and it is mended."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from ragsite.operations import health
from retrieval.compose import INDEX_CHECK, Engine, close_engine, get_engine
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.providers.builtin import BUILTIN_SPACE as BUILTIN
from retrieval.engine.search import completeness
from retrieval.engine.values import Query, SearchFilters
from retrieval.knowledge import term_search
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.knowledge.scopes import scope_for_all
from retrieval.knowledge.term_search import stored_terms
from retrieval.models import Chunk, Document
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = (
    "Undergraduates may borrow ten books for four weeks.",
    "A deposit of EUR 300 is due for a room in Lakeside hall.",
    "Late books cost a fee of one euro a day.",
    "逾期归还图书须缴纳滞纳金。",
)


@pytest.fixture(autouse=True)
def _looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completeness, "LOOK_EVERY_S", 0.0)


def _library() -> None:
    collection = CollectionFactory(name="library", builtin=True)
    for at, text in enumerate(TEXTS):
        document = DocumentFactory(
            collection=collection, title=f"Rule {at}", department=f"department {at}", tags=[f"tag {at}"],
            status=Document.Status.READY, summary="", chunk_count=1,
        )  # fmt: skip
        ChunkFactory(document=document, seq=0, text=text, heading="", indexed=False)


@pytest.fixture
async def library(engine: Engine, queue: list[Any]) -> Engine:
    """Four documents, indexed."""
    await sync_to_async(_library)()
    await index_repair()
    return engine


async def search(engine: Engine, text: str, **options: Any) -> SearchResult:
    scope = await sync_to_async(scope_for_all)()
    return await engine.searcher.search(
        SearchRequest(queries=(Query(text),), scope=scope, **options)
    )


def texts(result: SearchResult) -> list[str]:
    return [candidate.chunk.text for candidate in result.candidates]


@pytest.fixture
def others_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fine() -> None: ...

    for name in ("_database", "_ollama", "_broker", "_storage", "_channel_layer"):
        monkeypatch.setattr(health, name, fine)


async def ready(async_client: AsyncClient) -> tuple[int, str, dict[str, Any]]:
    answer = await async_client.get("/readyz")
    body = answer.json()
    return answer.status_code, body["status"], body["dependencies"]["milvus"]


async def away(rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 0.5)
    await close_engine()
    rag_settings(milvus={"uri": "http://127.0.0.1:9"})
    return get_engine()


async def test_a_whole_index_says_nothing(
    library: Engine, async_client: AsyncClient, queue: list[Any]
) -> None:
    assert (await search(library, "borrow books")).degraded == ()
    assert (await ready(async_client))[2]["state"] == "ok"
    assert (INDEX_CHECK,) not in queue


async def test_rows_that_are_missing_are_told_until_they_are_there_again(
    library: Engine, async_client: AsyncClient, queue: list[Any], others_fine: None
) -> None:
    lost = await Chunk.objects.aget(text=TEXTS[0])
    await library.index.delete_chunks(BUILTIN, [str(lost.pk)])
    assert "1 of 4 passages are missing" in str((await search(library, "borrow books")).degraded)
    assert queue == [(INDEX_CHECK,)]
    status, overall, milvus = await ready(async_client)
    assert (status, overall, milvus["state"]) == (
        200,
        "degraded",
        "incomplete",
    ) and "1 of 4" in milvus["reason"]
    await index_repair()
    assert (await search(library, "borrow books")).degraded == ()
    assert (await ready(async_client))[1] == "ready"


async def test_a_collection_that_is_missing_in_milvus_is_not_taken_for_empty(
    library: Engine, async_client: AsyncClient, queue: list[Any]
) -> None:
    await library.index.drop(BUILTIN)
    result = await search(library, "How large is the deposit for a room?")
    assert texts(result)[0] == TEXTS[1]
    assert "in the database alone" in str(result.degraded)
    assert queue == [(INDEX_CHECK,)]
    assert (await ready(async_client))[2]["state"] == "incomplete"
    with pytest.raises(IndexUnavailableError):
        await search(library, "deposit", stages=("dense",))
    await index_repair()
    result = await search(library, "How large is the deposit for a room?")
    assert texts(result)[0] == TEXTS[1] and result.degraded == ()


async def test_a_space_that_nothing_was_written_to_yet_is_empty(
    engine: Engine, queue: list[Any]
) -> None:
    await sync_to_async(CollectionFactory)(name="library", builtin=True)
    result = await search(engine, "books")
    assert (result.candidates, result.degraded, queue) == ((), (), [])


async def test_without_milvus_words_are_found_in_the_database(
    library: Engine, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await away(rag_settings, monkeypatch)
    result = await search(engine, "borrowed book undergraduate")
    assert texts(result)[0] == TEXTS[0] and "not reachable" in str(result.degraded)
    assert texts(await search(engine, "滯納金"))[0] == TEXTS[3]  # Traditional finds Simplified
    assert texts(await search(engine, "zebra")) == []
    with pytest.raises(IndexUnavailableError):
        await search(engine, "books", stages=("dense",))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (SearchFilters(department="department 2"), {TEXTS[2]}),
        (SearchFilters(tags=("tag 0", "tag 3")), {TEXTS[0]}),
        (SearchFilters(department="department 2", tags=("tag 0",)), set()),
        (SearchFilters(), {TEXTS[0], TEXTS[2]}),
    ],
)
async def test_filters_hold_without_milvus(
    library: Engine,
    rag_settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    filters: SearchFilters,
    found: set[str],
) -> None:
    engine = await away(rag_settings, monkeypatch)
    assert set(texts(await search(engine, "books", filters=filters))) == found


async def test_words_rank_as_the_index_ranks_them(library: Engine) -> None:
    scope = await sync_to_async(scope_for_all)()
    where: dict[str, Any] = {
        "collection_ids": [ref.id for ref in scope.collections],
        "filters": SearchFilters(),
    }
    for text in ("book fee", "room deposit book", "book book fee"):
        [of_index] = await library.index.search_bm25(BUILTIN, [text], limit=9, **where)
        [of_database] = await sync_to_async(term_search.search)(
            [text], limit=9, level="chunks", **where
        )
        assert of_database[0].chunk_id == of_index[0].chunk_id
        assert {hit.chunk_id for hit in of_database} == {hit.chunk_id for hit in of_index}


async def test_terms_are_found_whole_and_read_up_to_a_bound(
    library: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = await sync_to_async(scope_for_all)()
    where: dict[str, Any] = {
        "collection_ids": [ref.id for ref in scope.collections],
        "filters": SearchFilters(),
    }
    search_terms = sync_to_async(term_search.search)
    await Chunk.objects.aupdate(terms=stored_terms("notebook common"))
    await Chunk.objects.filter(text=TEXTS[0]).aupdate(terms=stored_terms("book common"))
    found = await search_terms(["book", "", "common"], limit=9, level="chunks", **where)
    assert [len(hits) for hits in found] == [1, 0, 4]
    monkeypatch.setattr(term_search, "MOST_READ", 2)
    [hits] = await search_terms(["common book"], limit=9, level="chunks", **where)
    assert len(hits) == 1  # the rarest word's
    assert await search_terms(
        ["book"], limit=9, level="chunks", **{**where, "collection_ids": []}
    ) == [[]]


async def test_the_status_of_the_page_says_it(
    library: Engine, async_client: AsyncClient, django_user_model: Any
) -> None:
    user = await sync_to_async(django_user_model.objects.create_user)("somebody")
    await async_client.aforce_login(user)
    assert (await async_client.get("/api/status")).json()["index"] == "ok"
    await library.index.drop(BUILTIN)
    told = (await async_client.get("/api/status")).json()
    assert (told["index"], told["index_missing"]) == ("incomplete", 4)
