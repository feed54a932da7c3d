"""The built-in index is good for some 20,000 passages: from there, or where it is slow, pages say the next step."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client

from ragsite.core import metrics
from ragsite.core.metrics import RecentTimes
from ragsite.operations import health
from retrieval.compose import with_engine
from retrieval.knowledge.index_sync.repair import index_repair
from tests.clients import administrator
from tests.factories import ChunkFactory, CollectionFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("offline")]
NEXT_STEP = "set MILVUS_URI to it"


@pytest.fixture
def client(
    milvus_uri: str, rag_settings: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Client:
    """Of a site with an index of its own, which holds three passages and is not slow."""
    monkeypatch.setattr("ragsite.runtime.milvus_lite.current_uri", lambda _: milvus_uri)
    monkeypatch.setattr(metrics, "index_searches", RecentTimes())
    rag_settings(milvus={"uri": "", "prefix": f"t{uuid.uuid4().hex[:12]}"})
    collection = CollectionFactory(builtin=True)
    for _ in range(3):
        ChunkFactory(
            document__collection=collection,
            document__summary="",
            document__chunk_count=1,
            indexed=True,
        )
    with_engine(lambda _: index_repair())
    return administrator()


def test_below_the_limit_nothing_is_said(client: Client) -> None:
    assert NEXT_STEP not in client.get("/administration/health/").text
    assert "reason" not in client.get("/readyz").json()["dependencies"]["milvus"]


def test_from_the_limit_health_says_the_next_step_and_the_overview_names_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "EMBEDDED_CHUNKS", 3)
    assert "good for about 3" in client.get("/readyz").json()["dependencies"]["milvus"]["reason"]
    assert NEXT_STEP in client.get("/administration/health/").text
    assert (
        "Search index: 3 passages; the built-in index is good for about 3"
        in client.get("/administration/").text
    )
    assert client.get("/readyz").json()["dependencies"]["milvus"]["state"] == "ok"


def test_a_slow_index_is_said_whatever_it_holds(client: Client) -> None:
    for _ in range(RecentTimes.FEWEST):
        metrics.index_searches.add(0.5)
    assert (
        "Search index: half of the searches take 500 ms or longer"
        in client.get("/administration/").text
    )


def test_an_index_of_a_server_has_no_such_limit(
    client: Client,
    milvus_uri: str,
    rag_settings: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "EMBEDDED_CHUNKS", 3)
    rag_settings(milvus={"uri": milvus_uri, "prefix": "limit"})
    assert NEXT_STEP not in client.get("/administration/health/").text
