"""Web pages among the sources: told, kept, exported, rated and reviewed like documents, but without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from retrieval.values import StoredChunk
from tests.chat.conftest import Api, ScriptedWorkflow, events_of, source
from tests.factories import MessageFactory, SessionFactory, SourceFactory

PAGE = StoredChunk(
    chunk_id="web:0123456789abcdef", document_id="https://example.org/fees", collection_id="", seq=0, title="Fees",
    text="It is 5.", kind="web", url="https://example.org/fees", published="2025-02-03",
)  # fmt: skip
SHOWN = {
    "kind": "web", "document_id": None, "chunk_id": PAGE.chunk_id, "title": "Fees", "url": PAGE.url, "page": None,
    "heading": "", "file_name": "", "published": "2025-02-03", "text": "It is 5.",
}  # fmt: skip


def shown(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in SHOWN}


async def test_a_web_source_is_told_while_the_answer_is_written_and_kept_alike(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.sources = (source(1), source(2, chunk=PAGE))
    events = [event async for event in events_of(await api.ask(stream=True))]
    told = next(event for event in events if event["type"] == "sources")["sources"]
    stored = events[-1]["message"]
    history = (await api.call("get", f"/api/messages/{stored['message_id']}")).json()
    assert shown(told[1]) == shown(stored["sources"][1]) == shown(history["sources"][1]) == SHOWN
    assert told[0]["kind"] == stored["sources"][0]["kind"] == "document"
    assert stored["sources"][0]["document_id"] == source(1).chunk.document_id


async def test_a_web_source_can_be_rated(api: Api, workflow: ScriptedWorkflow) -> None:
    workflow.sources = (source(1, chunk=PAGE),)
    message = (await api.ask()).json()
    address = f"/api/messages/{message['message_id']}/sources/1/rating"
    assert (await api.call("put", address, {"thumb": "down", "tags": ["outdated"]})).status_code == 200
    again = (await api.call("get", f"/api/messages/{message['message_id']}")).json()
    assert again["sources"][0]["rating"]["thumb"] == "down"


@pytest.fixture
def conversation(user: User) -> Any:
    session = SessionFactory(user=user)
    question = MessageFactory(session=session, question=True)
    answer = MessageFactory(session=session, reply_to=question)
    SourceFactory(message=answer, web=True)
    return session


async def test_the_export_names_the_page_with_its_address_and_date(api: Api, conversation: Any) -> None:
    address = f"/api/sessions/{conversation.pk}/export?format="
    text = (await api.call("get", f"{address}markdown")).content.decode()
    assert "Fees of 2025, <https://example.org/fees>, 2025-02-03" in text
    kept = json.loads((await api.call("get", f"{address}json")).content)["messages"][1]["sources"][0]
    assert (kept["url"], kept["document_id"]) == ("https://example.org/fees", None)


@pytest.mark.parametrize(("provider", "offered"), [("", False), ("searxng=http://127.0.0.1:1", True)])
async def test_the_page_offers_the_web_only_where_it_is_configured(
    user: User, rag_settings: Any, provider: str, offered: bool
) -> None:
    rag_settings(web_search={"provider": provider})

    def boot() -> dict[str, Any]:
        client = Client()
        client.force_login(user)
        page = client.get("/").content.decode()
        return json.loads(page.split('<script id="boot" type="application/json">')[1].split("</script>")[0])

    assert bool((await sync_to_async(boot)())["web_search"]) is offered
