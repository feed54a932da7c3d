"""The Model Context Protocol at /mcp, called by the SDK's own client over a socket."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from chat.models import Assistant, Message
from chat.selectors import session_list
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.models import Collection
from tests.chat.conftest import TEXT, ScriptedWorkflow, program_key
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory

Opened = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def agent(site_url: str, user: User) -> Opened:
    """`agent("read")`: a client with a key of these scopes."""

    @asynccontextmanager
    async def opened(*scopes: str, mode: str = "auto", **values: Any) -> AsyncIterator[Client]:
        key = await sync_to_async(program_key)(user, *scopes, **values)
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
        transport = streamable_http_client(f"{site_url}/mcp", http_client=http)
        async with http, Client(transport, mode=mode) as client:
            yield client

    return opened


@pytest.fixture
def library(milvus: Any, offline: None, user: User) -> dict[str, str]:
    """Ids of a public document, and of one that is somebody else's."""
    loans = DocumentFactory(
        collection=CollectionFactory(name="rules", builtin=True), title="Loans", chunk_count=2
    )
    for seq, text in enumerate(("Ten books may be borrowed.", "Late books cost a fee.")):
        ChunkFactory(document=loans, seq=seq, text=text)
    private = {"visibility": Collection.Visibility.PRIVATE, "owner": UserFactory()}
    diary = DocumentFactory(
        collection=CollectionFactory(name="diary", **private, builtin=True), title="Secret"
    )
    ChunkFactory(document=diary, text="My books are hidden.")
    return {"loans": str(loans.pk), "diary": str(diary.pk)}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_sees_five_tools_and_the_documents(agent: Opened, mode: str) -> None:
    async with agent("read", mode=mode) as client:
        tools = {
            tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools
        }
        templates = (await client.list_resource_templates()).resource_templates
    assert set(tools) == {"search", "count", "ask", "get_document", "list_collections"}
    assert set(tools["search"]) == {"query", "collections", "top_k"}
    assert [template.uri_template for template in templates] == [
        "ragsite://documents/{document_id}"
    ]


async def test_tools_declare_what_they_return(agent: Opened) -> None:
    async with agent("read", "ask") as client:
        outputs = {
            tool.name: set(tool.output_schema["properties"])
            for tool in (await client.list_tools()).tools
            if tool.name != "count"
        }
    assert outputs == {
        "search": {"passages", "degraded"},
        "ask": {"answer", "decision", "support", "clarification", "sources", "conversation"},
        "get_document": {
            "title",
            "collection",
            "status",
            "department",
            "doc_type",
            "policy_year",
            "tags",
            "summary",
            "passages",
            "next",
        },
        "list_collections": {"collections"},
    }


async def test_what_is_found_is_what_the_caller_may_see(
    agent: Opened, library: dict[str, str]
) -> None:
    await index_repair()
    async with agent("read") as client:
        found = (
            await client.call_tool("search", {"query": "borrow books", "top_k": 10})
        ).structured_content
        assert found["passages"][0]["text"] == "Ten books may be borrowed."
        assert {passage["title"] for passage in found["passages"]} == {"Loans"}
        read = await client.read_resource(found["passages"][0]["uri"])
        assert (
            read.contents[0].text
            == "# Loans\n\nTen books may be borrowed.\n\nLate books cost a fee."
        )
        listed = (await client.call_tool("list_collections")).structured_content["collections"]
        assert [row["address"] for row in listed] == ["site:rules"]


async def test_a_count_is_exact_and_of_what_the_caller_may_read(
    agent: Opened, library: dict[str, str]
) -> None:
    async with agent("read") as client:
        found = (await client.call_tool("count", {"words": "books"})).structured_content
        assert (found["total"], found["said"]) == (1, ["1 of 1: every document was looked at."])
        assert found["rows"][0]["evidence"][0]["text"] == "Ten books may be borrowed."
        wrong = await client.call_tool("count", {"unit": "row"})
        assert wrong.is_error and "Rows are counted by words" in wrong.content[0].text


async def test_a_document_is_read_in_pieces(
    agent: Opened, library: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.mcp.tools.CHUNKS_AT_ONCE", 1)
    async with agent("read") as client:
        first = (
            await client.call_tool("get_document", {"document_id": library["loans"]})
        ).structured_content
        rest = await client.call_tool(
            "get_document", {"document_id": library["loans"], "first": first["next"]}
        )
    assert (first["title"], first["next"]) == ("Loans", 1)
    assert rest.structured_content["passages"][0]["text"] == "Late books cost a fee."
    assert rest.structured_content["next"] is None


async def test_a_foreign_document_is_not_found_as_one_that_is_not_there(
    agent: Opened, library: dict[str, str]
) -> None:
    told = []
    async with agent("read") as client:
        for document_id in (library["diary"], str(uuid.uuid4())):
            answer = await client.call_tool("get_document", {"document_id": document_id})
            assert answer.is_error
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"ragsite://documents/{document_id}")
            told.append((answer.content[0].text, str(caught.value)))
    assert told[0] == told[1] and "There is no such document" in told[0][0]


async def test_a_key_without_the_scope_is_refused_in_a_sentence(
    agent: Opened, workflow: ScriptedWorkflow
) -> None:
    async with agent("read") as client:
        answer = await client.call_tool("ask", {"question": "How many books?"})
        assert answer.is_error and "lacks the scope “ask”" in answer.content[0].text
    async with agent("ask") as client:
        for name, arguments in (("search", {"query": "books"}), ("list_collections", {})):
            assert (await client.call_tool(name, arguments)).is_error
    assert not workflow.questions


async def test_a_bound_key_asks_its_collections_alone(
    agent: Opened, user: User, workflow: ScriptedWorkflow
) -> None:
    seen = await sync_to_async(CollectionFactory)(name="seen", owner=user)
    await sync_to_async(CollectionFactory)(name="hidden", owner=user)
    async with agent("ask", collection_ids=[str(seen.pk)]) as client:
        refused = await client.call_tool("ask", {"question": "Books?", "collections": ["hidden"]})
        await client.call_tool("ask", {"question": "Books?"})
    assert refused.is_error and workflow.questions[0].scope.ids == (str(seen.pk),)


async def test_an_assistant_is_asked_by(
    agent: Opened, user: User, workflow: ScriptedWorkflow
) -> None:
    notes = await sync_to_async(CollectionFactory)(name="notes", owner=user)
    await Assistant.objects.acreate(owner=user, name="Rules", collections=[str(notes.pk)])
    async with agent("ask") as client:
        await client.call_tool("ask", {"question": "Books?", "assistant": "Rules"})
        refused = await client.call_tool("ask", {"question": "Books?", "assistant": "None such"})
    assert refused.is_error and workflow.questions[0].scope.ids == (str(notes.pk),)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_answer_comes_with_progress_and_goes_on(
    agent: Opened, user: User, workflow: ScriptedWorkflow, mode: str
) -> None:
    told: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with agent("ask", mode=mode) as client:
        answer = await client.call_tool(
            "ask", {"question": "How many?", "effort": "quick"}, progress_callback=progress
        )
        found = answer.structured_content
        await client.call_tool(
            "ask", {"question": "And journals?", "conversation": found["conversation"]}
        )
    assert (found["answer"], found["decision"], found["sources"][0]["marker"]) == (
        TEXT,
        "ANSWER",
        1,
    )
    assert "/documents/" in found["sources"][0]["url"] and told[0] == "Searching the documents"
    assert (
        workflow.questions[0].options.rewrite is False and len(workflow.questions[1].history) == 2
    )
    assert await sync_to_async(session_list(user=user).count)() == 0  # the key keeps none


async def test_a_call_that_is_cancelled_stops_the_answer(
    agent: Opened, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    async with agent("ask") as client:
        await _ask_and_cancel(client, workflow)
        await _stopped()
    assert workflow.cancelled == 1


async def test_an_older_agent_that_leaves_stops_the_answer(
    agent: Opened, workflow: ScriptedWorkflow
) -> None:
    """Without sessions it can't cancel by a message: who would it belong to?"""
    workflow.hold(1)
    async with agent("ask", mode="legacy") as client:
        await _ask_and_cancel(client, workflow)
    await _stopped()
    assert workflow.cancelled == 1


async def _ask_and_cancel(client: Client, workflow: ScriptedWorkflow) -> None:
    call = asyncio.create_task(client.call_tool("ask", {"question": "How many?"}))
    while not workflow.questions:
        await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def _stopped() -> None:
    async with asyncio.timeout(10):
        while not await Message.objects.filter(status="stopped").aexists():
            await asyncio.sleep(0.05)


async def test_twenty_calls_at_once_are_all_answered(
    agent: Opened, library: dict[str, str]
) -> None:
    await index_repair()
    async with agent("read") as client:
        calls = [client.call_tool("search", {"query": f"books {number}"}) for number in range(20)]
        answers = await asyncio.gather(*calls)
    assert all(not answer.is_error and answer.structured_content["passages"] for answer in answers)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Authorization": "Bearer rsk_nothing"}, b"{}", 401),
        ({"Authorization": ""}, b"x" * (1 << 20), 401),
        ({"Host": "evil.example"}, b"{}", 421),
        ({"Origin": "https://evil.example"}, b"{}", 403),
        ({}, b'{"a": "' + b"x" * (1 << 20) + b'"}', 413),
    ],
)
async def test_strangers_hosts_and_bodies_are_refused(
    site_url: str, user: User, headers: dict[str, str], body: bytes, status: int
) -> None:
    key = await sync_to_async(program_key)(user, "read")
    given = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
    given["Accept"] = "application/json, text/event-stream"
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{site_url}/mcp", content=body, headers=given)
    assert answer.status_code == status
    if status == 401:
        assert answer.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_is_no_stream_to_be_opened(site_url: str, user: User, method: str) -> None:
    key = await sync_to_async(program_key)(user, "read")
    given = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    async with httpx.AsyncClient() as http:
        answer = await http.request(method, f"{site_url}/mcp", headers=given)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("count", [20_000, 50])
@pytest.mark.parametrize("value", ["", 1, None, []])
@pytest.mark.parametrize("name", ["search", "ask"])
async def test_a_wrong_list_is_refused_in_a_short_answer(
    agent: Opened, name: str, value: Any, count: int
) -> None:
    text = {"search": {"query": "books"}, "ask": {"question": "books?"}}[name]
    async with agent("read", "ask") as client:
        answer = await client.call_tool(name, {**text, "collections": [value] * count})
    assert answer.is_error and len(answer.content[0].text) < 16_000


async def test_what_is_wrong_is_told_in_sentences(agent: Opened) -> None:
    async with agent("read") as client:
        answer = await client.call_tool("search", {"query": "books", "collections": ["x" * 300]})
    assert (
        "collections.0: Ensure this field has no more than 255 characters."
        in answer.content[0].text
    )
    assert "ErrorDetail" not in answer.content[0].text


async def test_a_place_in_a_document_that_no_database_counts_to_is_refused(
    agent: Opened, library: dict[str, str]
) -> None:
    async with agent("read") as client:
        for first, is_error in ((10**30, True), (10**6, False)):
            answer = await client.call_tool(
                "get_document", {"document_id": library["loans"], "first": first}
            )
            assert answer.is_error is is_error
    assert answer.structured_content["passages"] == []
