"""What is open ends with the session or the token that opened it; the answer itself goes on, unseen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import AsyncClient

from chat.models import Message
from ragsite.accounts import credentials
from ragsite.accounts.sessions import sign_out_everywhere
from ragsite.asgi import application
from ragsite.models import ApiToken
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, Socket, cookie_headers, eventually

SIGNED_OUT = {"type": "websocket.close", "code": 4401}


@pytest.fixture(autouse=True)
def _checked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CHECK_EVERY_S", 0.02)


async def revoke_tokens(user: User) -> None:
    await ApiToken.objects.filter(user=user).adelete()


async def change_password(user: User) -> None:
    user.set_password("a quite different phrase")
    await user.asave()


async def deactivate(user: User) -> None:
    user.is_active = False
    await user.asave()


async def delete(user: User) -> None:
    await user.adelete()


async def leave_everywhere(user: User) -> None:
    await sync_to_async(sign_out_everywhere)(user=user)


async def browser_of(user: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(user)
    return client


@pytest.fixture
async def tab() -> AsyncIterator[Any]:
    """`await tab(browser)` opens a socket with its cookie."""
    opened: list[WebsocketCommunicator] = []

    async def open_tab(browser: AsyncClient) -> WebsocketCommunicator:
        opened.append(
            WebsocketCommunicator(application, "/ws/chat/", headers=await cookie_headers(browser))
        )
        assert (await opened[-1].connect())[0]
        return opened[-1]

    yield open_tab
    for communicator in opened:
        await communicator.disconnect()


async def is_open(communicator: WebsocketCommunicator) -> bool:
    await communicator.send_json_to({"type": "ping"})
    answer = await communicator.receive_output(timeout=10)
    return answer["type"] == "websocket.send"


@pytest.mark.parametrize(
    "end", [revoke_tokens, change_password, deactivate, delete, leave_everywhere]
)
async def test_a_tokens_socket_closes(socket: Any, user: User, end: Any) -> None:
    tab: Socket = await socket()
    await end(user)
    assert await tab.communicator.receive_output(timeout=10) == SIGNED_OUT


@pytest.mark.parametrize("end", [change_password, deactivate, delete, leave_everywhere])
async def test_a_browsers_socket_closes(tab: Any, user: User, end: Any) -> None:
    communicator = await tab(await browser_of(user))
    await end(user)
    assert await communicator.receive_output(timeout=10) == SIGNED_OUT


async def test_signing_out_closes_the_sockets_of_that_browser_alone(tab: Any, user: User) -> None:
    browser, other = await browser_of(user), await browser_of(user)
    theirs, others = await tab(browser), await tab(other)
    await browser.post("/accounts/logout/")
    assert await theirs.receive_output(timeout=10) == SIGNED_OUT
    assert await is_open(others)


async def test_nothing_of_the_answer_is_sent_after_the_end_but_it_is_written(
    socket: Any, user: User, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    tab: Socket = await socket()
    await tab.send("ask", message="Books?")
    message_id = (await tab.until("chunk"))[0]["message_id"]
    await revoke_tokens(user)
    assert await tab.communicator.receive_output(timeout=10) == SIGNED_OUT
    workflow.go_on()

    async def is_complete() -> bool:
        return (await Message.objects.aget(pk=message_id)).status == "complete"

    await eventually(is_complete)
    assert (await Message.objects.aget(pk=message_id)).text == TEXT
    assert await tab.communicator.receive_nothing(timeout=0.05)


async def _events_after_the_end(response: Any, user: User) -> list[tuple[str, dict[str, Any]]]:
    """(id line or nothing, event) of a stream whose token is revoked at the first chunk."""
    seen: list[tuple[str, dict[str, Any]]] = []
    async for part in response.streaming_content:
        *name, data = part.decode().strip().split("\n")
        if data.startswith("data: "):
            seen.append(("".join(name), json.loads(data.removeprefix("data: "))))
            if seen[-1][1]["type"] == "chunk":
                await revoke_tokens(user)
    return seen


async def test_a_stream_ends_with_an_error_event_that_is_no_event_of_the_answer(
    api: Api, user: User, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.runs.event_log.HEARTBEAT_S", 0.05)
    workflow.hold(1)
    events = await _events_after_the_end(await api.ask(stream=True), user)
    name, last = events[-1]
    assert (last["type"], last["done"], last["code"]) == ("error", True, "not_authenticated")
    assert (name, last["seq"], last["message_id"]) == ("", len(events), events[0][1]["message_id"])
    assert [event["type"] for _, event in events].count("chunk") == 1


@pytest.mark.parametrize("path", ["/api/chat", "/api/rag/query"])
async def test_a_call_that_waits_for_its_answer_ends_with_401(
    api: Api, user: User, workflow: ScriptedWorkflow, path: str
) -> None:
    workflow.hold(1)
    body = {"message": "Books?"} if path == "/api/chat" else {"query": "Books?"}
    waiting = asyncio.create_task(api.call("post", path, body))

    async def is_asked() -> bool:
        return bool(workflow.questions)

    await eventually(is_asked)
    await revoke_tokens(user)
    workflow.go_on()
    response = await waiting
    assert response.status_code == 401 and response.json()["error"]["code"] == "not_authenticated"


async def test_sockets_stay_open_while_the_database_is_away(
    socket: Any, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = asyncio.Event()

    async def unreachable(*_: Any) -> Any:
        away.set()
        raise OperationalError("the connection is closed")

    tab: Socket = await socket()
    with monkeypatch.context() as patched:
        patched.setattr(credentials, "database_call", unreachable)
        await revoke_tokens(user)
        await asyncio.wait_for(away.wait(), 10)
        assert await is_open(tab.communicator)
    assert await tab.communicator.receive_output(timeout=10) == SIGNED_OUT
