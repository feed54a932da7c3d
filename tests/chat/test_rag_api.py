"""`POST /api/rag/query` and `GET /api/rag/query-stream`: seed 004's own calls."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from ragsite.core.errors import UnavailableError
from retrieval.engine.values import StoredChunk
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, source

QUESTION = "How many books may I borrow?"


def of_file(marker: int, name: str, *, cited: bool = True) -> Any:
    chunk = StoredChunk(
        chunk_id=f"k{marker}", document_id=str(uuid4()), collection_id="", seq=0, title=f"Title {marker}",
        text="Text.", file_name=name,
    )  # fmt: skip
    return source(marker, chunk=chunk, cited=cited)


async def query(api: Api, text: Any = QUESTION, **fields: Any) -> Any:
    return await api.call("post", "/api/rag/query", {"query": text, **fields})


async def stream(api: Api, text: str = QUESTION, **headers: str) -> Any:
    return await api.call("get", f"/api/rag/query-stream?query={quote(text)}", **headers)


async def told(response: Any) -> list[tuple[str, dict[str, Any]]]:
    """Ids and events of an SSE response."""
    events = []
    async for part in response.streaming_content:
        fields = dict(
            line.split(": ", 1)
            for line in part.decode().strip().split("\n")
            if not line.startswith(":")
        )
        if fields:
            events.append((fields["id"], json.loads(fields["data"])))
    return events


# ------------------------------------------------------------------------------------------------ query
async def test_query_answers_with_answer_sources_and_steps(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.sources = (
        of_file(1, "loans.pdf"),
        of_file(2, "other.pdf", cited=False),
        of_file(3, "loans.pdf"),
    )
    response = await query(api)
    assert response.status_code == 200
    data = response.json()
    assert set(data) == {"answer", "sources", "steps"}
    assert (data["answer"], data["sources"]) == (TEXT, ["loans.pdf"])
    assert {"type": "tool_call", "content": "1 candidate"} in data["steps"]
    assert {"type": "reasoning", "content": "generate"} in data["steps"]
    assert all(set(step) == {"type", "content"} for step in data["steps"])


@pytest.mark.parametrize("text", ["", "   ", None, 7, ["x"], {"a": 1}])
async def test_a_bad_query_is_refused_by_its_name(
    api: Api, workflow: ScriptedWorkflow, text: Any
) -> None:
    response = await query(api, text)
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == ["query"]
    assert not workflow.questions


# ------------------------------------------------------------------------------------------------ query-stream
async def test_the_stream_has_the_seeds_events(api: Api, workflow: ScriptedWorkflow) -> None:
    workflow.sources = (of_file(1, "loans.pdf"),)
    response = await stream(api)
    assert response["Content-Type"].startswith("text/event-stream")
    events = [event for _, event in await told(response)]
    assert {event["type"] for event in events} == {"reasoning", "tool_call", "chunk", "done"}
    assert all(set(event) == {"type", "content"} for event in events[:-1])
    assert "".join(event["content"] for event in events if event["type"] == "chunk") == TEXT
    assert events[-1] == {
        "type": "done",
        "content": TEXT,
        "done": True,
        "answer": TEXT,
        "sources": ["loans.pdf"],
    }


async def test_a_failure_ends_the_stream_with_one_error(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.error = UnavailableError("The index is away.")
    events = [event for _, event in await told(await stream(api))]
    assert events[-1] == {"type": "error", "content": "The index is away.", "done": True}
    assert [event["type"] for event in events].count("done") == 0


async def test_a_browser_that_reconnects_follows_the_answer_and_asks_nothing(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    events = await told(await stream(api))
    third = events[2][0]
    again = await told(await stream(api, **{"Last-Event-ID": third}))
    assert again == events[3:]
    assert (await stream(api, **{"Last-Event-ID": events[-1][0]})).status_code == 204
    assert len(workflow.questions) == 1


async def test_nobody_follows_somebody_elses_answer(
    api: Api, other_api: Api, workflow: ScriptedWorkflow
) -> None:
    events = await told(await stream(api))
    response = await stream(other_api, **{"Last-Event-ID": events[0][0]})
    assert response.status_code == 404


# ------------------------------------------------------------------------------------------------ who may ask


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200)]
)
async def test_a_page_of_another_site_can_not_ask_with_the_readers_cookie(
    api: Api, workflow: ScriptedWorkflow, site: str, status: int
) -> None:
    client = AsyncClient()
    await sync_to_async(client.force_login)(api.user)
    response = await client.get(
        "/api/rag/query-stream?query=books", headers={"Sec-Fetch-Site": site}
    )
    assert response.status_code == status
    if status == 200:
        await told(response)
    assert len(workflow.questions) == (status == 200)
