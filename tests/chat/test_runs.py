"""Runs: they save as they go, and every message has an end."""

from __future__ import annotations

import asyncio
import os
import threading
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils import timezone

from chat.lifespan import lifespan
from chat.models import Message
from chat.runs.event_log import close_event_log
from chat.runs.running import run_find, runs_shut_down
from ragsite.settings import redis_channel_layer
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, events_of, eventually, types
from tests.factories import MessageFactory, SessionFactory


async def test_partial_text_is_saved_while_the_answer_is_written(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.runs.run.SAVE_EVERY_S", 0.02)
    workflow.hold(1)
    started = await api.begin()
    began = (await Message.objects.aget(pk=started["message_id"])).lease_expires_at

    async def is_saved() -> bool:
        message = await Message.objects.aget(pk=started["message_id"])
        return message.text == "Undergraduates may " and message.lease_expires_at > began

    await eventually(is_saved)


async def test_answer_that_takes_too_long_fails_with_its_text(
    api: Api, workflow: ScriptedWorkflow, limits: Any
) -> None:
    limits(answer_timeout_s=0.1)
    workflow.hold(1)
    response = await api.ask()
    message = await Message.objects.aget(role="assistant")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "timeout")
    assert (message.status, message.text, workflow.cancelled) == (
        "failed",
        "Undergraduates may ",
        1,
    )


async def test_shutdown_marks_running_answers_interrupted_with_their_text(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(2)
    response = await api.ask(stream=True)
    seen = []
    async for event in events_of(response):
        seen.append(event)
        if types(seen).count("chunk") == 2:
            break
    await runs_shut_down()
    message = await Message.objects.aget(role="assistant")
    assert (message.status, message.text) == ("interrupted", "Undergraduates may borrow ten ")
    assert run_find(message.pk) is None


async def test_database_error_at_the_end_still_ends_the_stream(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**kwargs: Any) -> bool:
        raise DatabaseError("disk full")

    monkeypatch.setattr("chat.runs.run.answer_finish", broken)
    events = [event async for event in events_of(await api.ask(stream=True))]
    assert (events[-1]["type"], events[-1]["code"]) == ("error", "internal")


async def test_start_of_the_server_marks_the_answers_of_a_killed_one() -> None:
    session = await sync_to_async(SessionFactory)()
    message = await sync_to_async(MessageFactory)(
        session=session,
        status="streaming",
        text="Half an",
        lease_expires_at=timezone.now() + timedelta(minutes=1),
    )
    sent: list[str] = []
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    received.put_nowait({"type": "lifespan.startup"})
    received.put_nowait({"type": "lifespan.shutdown"})

    async def send(event: dict[str, Any]) -> None:
        sent.append(event["type"])

    await lifespan({"type": "lifespan"}, received.get, send)
    await message.arefresh_from_db()
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert (message.status, message.text) == ("interrupted", "Half an")


async def test_a_starting_process_loads_the_built_in_model_whatever_server_is_there(
    online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    monkeypatch.setattr("chat.lifespan.embed_texts", lambda texts: loaded.set())
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    received.put_nowait({"type": "lifespan.startup"})

    async def send(event: dict[str, Any]) -> None: ...

    process = asyncio.create_task(lifespan({"type": "lifespan"}, received.get, send))
    assert await asyncio.to_thread(loaded.wait, 30)
    received.put_nowait({"type": "lifespan.shutdown"})
    await process


async def test_answer_of_a_deleted_session_ends_with_an_error(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold()
    response = await api.ask(stream=True)
    events = events_of(response)
    first = await anext(events)
    await Message.objects.filter(session_id=first["session_id"]).adelete()
    workflow.go_on()
    rest = [event async for event in events]
    assert (rest[-1]["type"], rest[-1]["code"]) == ("error", "not_found")
    assert "".join(event["content"] for event in rest if event["type"] == "chunk") == TEXT


@pytest.mark.redis
async def test_stop_reaches_the_run_of_another_process(
    api: Api, workflow: ScriptedWorkflow, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = os.environ.get("RAGSITE_TEST_REDIS_URL") or pytest.skip(
        "RAGSITE_TEST_REDIS_URL is not set"
    )
    settings.REDIS_URL = url
    settings.CHANNEL_LAYERS = {"default": redis_channel_layer(url)}
    monkeypatch.setattr(
        "chat.services.stop.run_find", lambda message_id: None
    )  # as if it ran elsewhere
    workflow.hold(1)
    response = await api.ask(stream=True)
    async for event in events_of(response):
        if event["type"] == "chunk":
            break
    stopped = (await api.call("post", f"/api/messages/{event['message_id']}/stop")).json()
    assert (stopped["status"], stopped["answer"], workflow.cancelled) == (
        "stopped",
        "Undergraduates may ",
        1,
    )
    await close_event_log()
