"""POST /api/search: the contract's response, permission, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from feedback.curation.manual import manual_boost_set
from retrieval.compose import with_engine
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.services.documents import document_delete, document_update
from retrieval.models import Chunk, Collection, Document
from tests.clients import api_of
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.milvus import row
from tests.retrieval.knowledge.api.conftest import repair_index

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def library(milvus: Any, offline: None, owner: User) -> None:
    """A public collection and a private one of `owner`, in the index."""
    public = DocumentFactory(
        collection=CollectionFactory(name="rules", builtin=True),
        title="Loans",
        department="Library",
    )
    ChunkFactory(document=public, text="Ten books may be borrowed.")
    ChunkFactory(document=public, text="Late books cost a fee.")
    private = CollectionFactory(
        name="diary", owner=owner, visibility=Collection.Visibility.PRIVATE, builtin=True
    )
    ChunkFactory(
        document=DocumentFactory(collection=private, title="Secret"), text="My books are hidden."
    )
    repair_index()


def search(client: APIClient, **body: Any) -> Any:
    return client.post("/api/search", body, format="json")


def test_candidates_carry_every_legs_score_and_rank(library: None, client: APIClient) -> None:
    response = search(client, query="borrow books", top_k=1)
    assert response.status_code == 200, response.content
    body = response.json()
    [candidate] = body["candidates"]
    assert set(candidate) == {
        "document_id",
        "chunk_id",
        "title",
        "page",
        "heading",
        "text",
        "scores",
        "ranks",
    }
    assert candidate["text"] == "Ten books may be borrowed."
    assert {"dense", "bm25", "fused", "final"} <= set(candidate["scores"])
    assert candidate["ranks"] == {"original:dense": 1, "original:bm25": 1}
    assert body["timings_ms"]["total"] > 0


def test_a_strange_collection_and_none_answer_alike(library: None, client: APIClient) -> None:
    strange, none = (
        search(client, query="books", collections=[name]) for name in ("diary", "nothing")
    )
    assert strange.status_code == none.status_code == 404
    assert strange.json()["error"]["code"] == none.json()["error"]["code"] == "not_found"


def test_a_chinese_question_finds_what_its_words_hold(library: None, client: APIClient) -> None:
    overtime = DocumentFactory(
        collection=CollectionFactory(name="hours", builtin=True), title="考勤"
    )
    for text in (
        "第五章 加班：须事先经部门批准。",
        "第六章 请假：须提前三天申请。",
        "第七章 出差：按标准报销。",
    ):
        ChunkFactory(document=overtime, text=text)
    repair_index()
    body = search(client, query="加班费怎么算？", stages=["bm25"]).json()
    assert [candidate["text"][:6] for candidate in body["candidates"]] == ["第五章 加班"]


def test_the_same_search_is_found_in_the_cache_until_a_document_changes(
    library: None, client: APIClient
) -> None:
    first, again = (search(client, query="borrow books").json() for _ in range(2))
    assert again["candidates"] == first["candidates"]
    assert ("cached_s" in first["notes"], "cached_s" in again["notes"]) == (False, True)
    document_update(
        document=Document.objects.get(title="Loans"), changes={"department": "Registry"}
    )
    assert "cached_s" not in search(client, query="borrow books").json()["notes"]


def test_the_cache_shows_nobody_what_somebody_else_searched_for(
    library: None, client: APIClient
) -> None:
    search(client, query="borrow books")
    assert "cached_s" not in search(api_of(UserFactory()), query="borrow books").json()["notes"]


def test_of_passages_that_fit_alike_ones_own_come_first(library: None) -> None:
    one, other = UserFactory(), UserFactory()
    for whose in (one, other):
        collection = CollectionFactory(
            name="parking", owner=whose, visibility="public", approved=True, builtin=True
        )
        for place in ("hall", "pool", "gate", "mill", "port"):
            document = DocumentFactory(collection=collection, title=f"Parking, {place}")
            ChunkFactory(document=document, text=f"Cars park behind the {place}.")
    repair_index()
    for whose in (one, other):
        found = search(api_of(whose), query="Where do cars park?", top_k=5).json()["candidates"]
        documents = Document.objects.filter(
            pk__in=[candidate["document_id"] for candidate in found]
        )
        assert [document.collection.owner for document in documents] == [whose] * 5


def test_filters_and_stages_are_taken(library: None, client: APIClient) -> None:
    body = search(client, query="books", filters={"department": "Library"}, stages=["bm25"]).json()
    assert len(body["candidates"]) == 2
    assert all(set(candidate["ranks"]) == {"original:bm25"} for candidate in body["candidates"])


@pytest.mark.parametrize("mode", [{}, {"filters_mode": "strict"}], ids=["default", "strict"])
def test_filters_of_a_request_are_not_relaxed(
    library: None, client: APIClient, mode: dict[str, str]
) -> None:
    body = search(client, query="books", filters={"department": "Nowhere"}, **mode).json()
    assert (body["candidates"], body["relaxed"]) == ([], [])


@pytest.mark.parametrize("stages", [["bm25"], ["dense", "bm25"]])
def test_preferred_filters_give_way_and_the_result_says_so(
    library: None, client: APIClient, stages: list[str]
) -> None:
    asked = {"query": "How many books may be borrowed?", "filters_mode": "prefer", "stages": stages}
    body = search(client, filters={"department": "Nowhere"}, **asked).json()
    assert body["relaxed"] == ["department"]
    assert "Ten books may be borrowed." in {candidate["text"] for candidate in body["candidates"]}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": "   "},
        {"query": "a" * 10_000},
        {"query": 5},
        {"query": "a", "collections": [5]},
        {"query": "a", "filters": {"department": 5}},
        {"query": "a", "filters_mode": "loose"},
        {"query": "a", "top_k": 0},
        {"query": "a", "top_k": 1_000},
        {"query": "a", "stages": []},
        {"query": "a", "stages": ["rerank2"]},
        {"query": "a", "filters": {"owner": "me"}},
        {"query": "a", "filters": {"policy_year": "soon"}},
    ],
)
def test_bad_input_is_named(
    milvus: Any, offline: None, client: APIClient, body: dict[str, Any]
) -> None:
    response = search(client, **body)
    assert response.status_code == 400, response.content
    assert response.json()["error"]["code"] in ("invalid", "invalid_query")


@pytest.mark.parametrize(
    "query", ["😀", "\u0007bell", '"] or 1 == 1', "\\", "' OR 1=1 --", "a" * 7_999]
)
def test_odd_queries_are_answered(library: None, client: APIClient, query: str) -> None:
    assert search(client, query=query).status_code == 200


def test_what_could_not_be_used_is_said_in_the_readers_language(
    library: None, client: APIClient
) -> None:
    Collection.objects.filter(name="rules").update(embedding_model="away", embedding_dim=8)
    away = EmbeddingSpace("away", 8)
    with_engine(lambda engine: engine.index.upsert(away, [row("one"), row("two"), row("three")]))
    client.credentials(HTTP_ACCEPT_LANGUAGE="zh-hans")
    [reason] = search(client, query="books").json()["degraded"]
    assert reason.startswith("没有向量")


def test_without_the_index_words_are_searched_and_vectors_alone_are_503(
    library: None,
    client: APIClient,
    rag_settings: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rag_settings(milvus={"uri": "http://127.0.0.1:9"})
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 0.5)
    found = search(client, query="borrow books").json()
    assert [candidate["title"] for candidate in found["candidates"]] and "not reachable" in found[
        "degraded"
    ][0]
    response = search(client, query="books", stages=["dense"])
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.json()["error"]["code"] == "index_unavailable"


def test_a_search_follows_documents_and_permissions_at_once(
    library: None, owner: User, client: APIClient
) -> None:
    def titles() -> set[str]:
        return {
            candidate["title"]
            for candidate in search(api_of(owner), query="books").json()["candidates"]
        }

    assert titles() == {"Loans", "Secret"}
    Collection.objects.filter(name="diary").update(owner=UserFactory())
    assert titles() == {"Loans"}
    document_delete(document=Document.objects.get(title="Loans"))
    assert titles() == set()


def test_what_users_rated_stands_in_the_scores_and_the_notes(
    library: None, client: APIClient
) -> None:
    late = Chunk.objects.get(text="Late books cost a fee.")
    manual_boost_set(
        document=late.document,
        chunk_id=late.pk,
        by=UserFactory(),
        why="Asked for daily.",
        multiplier=2.0,
    )
    body = search(client, query="books", top_k=2).json()
    boosted = {
        candidate["chunk_id"]: candidate["scores"]["boost"] for candidate in body["candidates"]
    }
    assert boosted[str(late.pk)] == 2.0
    assert body["notes"]["boosts"] == {str(late.pk): {"multiplier": 2.0, "origin": "set by staff"}}
    assert "boost" in body["timings_ms"]
