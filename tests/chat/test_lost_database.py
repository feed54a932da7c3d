"""A database that drops its connections, or is away for a while: answers are kept, requests are put off."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import AsyncClient

from chat.models import Message
from ragsite.asgi import application
from ragsite.web.handler import ANONYMOUS_BODY_BYTES
from tests.chat.conftest import (
    TEXT,
    Api,
    ScriptedWorkflow,
    cookie_headers,
    events_of,
    eventually,
    token_header,
)


class Away:
    """The database refuses every call while `now` is set; a transaction that has begun may end."""

    now = False


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Away]:
    away, ensure = Away(), BaseDatabaseWrapper.ensure_connection

    def refuse(self: BaseDatabaseWrapper) -> None:
        if away.now and (self.connection is None or self.autocommit):
            raise OperationalError("connection refused")
        ensure(self)

    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", refuse)
    yield away
    away.now = False


# ------------------------------------------------------------------------------------------------ away for a while
async def test_answer_is_streamed_meanwhile_and_stored_afterwards(
    api: Api,
    workflow: ScriptedWorkflow,
    database: Away,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("chat.runs.run.SAVE_EVERY_S", 0.02)
    monkeypatch.setattr("chat.runs.event_log.HEARTBEAT_S", 0.05)
    workflow.hold(1)
    events = events_of(await api.ask(stream=True))
    first = await anext(events)
    database.now = True
    workflow.go_on()
    seen = []
    async for event in events:
        seen.append(event)
        if "".join(event["content"] for event in seen if event["type"] == "chunk") == TEXT:
            break
    await eventually(lambda: asyncio.sleep(0, "waits for the database" in caplog.text))
    database.now = False
    rest = [event async for event in events]
    stored = await Message.objects.aget(pk=first["message_id"])
    assert (stored.status, stored.text, await stored.sources.acount()) == ("complete", TEXT, 1)
    assert (rest[-1]["type"], rest[-1]["answer"]) == ("done", TEXT)


PAGES = ["/", "/documents/", "/admin/", "/metrics"]
CALLS = ["/api/sessions", "/api/documents", f"/api/messages/{uuid.UUID(int=0)}"]


@pytest.mark.parametrize("path", [*PAGES, *CALLS])
async def test_request_is_put_off(user: User, database: Away, path: str) -> None:
    client = AsyncClient(raise_request_exception=False)
    await client.aforce_login(user)
    database.now = True
    answer = await client.get(path, headers={"X-Forwarded-Host": "rag.example"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    if path.startswith("/api/"):
        assert answer.json()["error"]["code"] == "database_unavailable"
    else:
        assert b"<h1>Not reachable" in answer.content


@pytest.mark.parametrize("path", ["/api/documents", "/v1/chat/completions", "/mcp"])
async def test_a_call_whose_sender_cannot_be_looked_up_is_put_off(
    site_url: str, database: Away, path: str
) -> None:
    """Before Django has it: each door says when to come back, and /v1 in OpenAI's form."""
    headers, body = (
        {"Authorization": "Bearer rsk_1", "Content-Type": "application/json"},
        b" " * (ANONYMOUS_BODY_BYTES + 1),
    )
    database.now = True
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{site_url}{path}", content=body, headers=headers)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    error = answer.json()["error"]
    assert (error["code"], error.get("type")) == (
        "database_unavailable",
        "server_error" if path.startswith("/v1") else None,
    )


@pytest.mark.parametrize("by_token", [True, False])
async def test_socket_is_told_to_come_back_later(
    user: User, database: Away, by_token: bool
) -> None:
    headers = await cookie_headers(user)
    if by_token:
        headers = [(b"authorization", (await sync_to_async(token_header)(user)).encode())]
    database.now = True
    communicator = WebsocketCommunicator(application, "/ws/chat/", headers=headers)
    await communicator.connect()
    assert await communicator.receive_output() == {"type": "websocket.close", "code": 1013}


async def test_open_socket_tells_and_stays(
    socket: Any, database: Away, workflow: ScriptedWorkflow
) -> None:
    tab = await socket()
    database.now = True
    await tab.send("ask", message="Books?")
    assert (await tab.receive())["code"] == "database_unavailable"
    database.now = False
    await tab.send("ask", message="Books?")
    assert (await tab.until("done", "error"))[-1]["type"] == "done"


# ------------------------------------------------------------------------------------------------ dropped connections
@pytest.fixture
def drop_connections(transactional_db: None) -> Iterator[Callable[[], None]]:
    """What a restart of the server or a firewall does to every connection of the site."""
    if connection.vendor != "postgresql":
        pytest.skip("DATABASE_URL names no PostgreSQL")
    asked = connection.get_connection_params()
    login = {name: asked[name] for name in ("host", "user", "password", "dbname") if name in asked}

    def drop() -> None:
        with psycopg.connect(**login, port=asked.get("port", 5432), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    yield drop
    connection.close()  # the test's own, and that of the thread which all sockets share
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


@pytest.mark.postgres
@pytest.mark.parametrize("save_every_s", [0.02, 3600])
async def test_answer_survives_that_all_connections_are_dropped(
    api: Api,
    workflow: ScriptedWorkflow,
    save_every_s: float,
    drop_connections: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.runs.run.SAVE_EVERY_S", save_every_s)
    workflow.hold(1)
    events = events_of(await api.ask(stream=True))
    async for event in events:
        if event["type"] == "chunk":
            break
    await asyncio.to_thread(drop_connections)
    workflow.go_on()
    rest = [event async for event in events]
    await sync_to_async(connections.close_all)()
    stored = await Message.objects.aget(pk=event["message_id"])
    assert (stored.status, stored.text, rest[-1]["type"]) == ("complete", TEXT, "done")


@pytest.mark.postgres
async def test_socket_with_a_token_is_let_in_after_a_drop(
    api: Api, drop_connections: Callable[[], None]
) -> None:
    headers = [(b"authorization", api.headers["Authorization"].encode())]
    for _ in range(2):
        tab = WebsocketCommunicator(application, "/ws/chat/", headers=headers)
        assert (await tab.connect(timeout=30))[0] is True
        await tab.disconnect()
        await asyncio.to_thread(drop_connections)
