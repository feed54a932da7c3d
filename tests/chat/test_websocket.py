"""The WebSocket: who is let in, what it takes, what all tabs see."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User

from chat.api.ws_auth import is_ours
from chat.models import Message
from ragsite.asgi import application
from tests.chat.conftest import (
    TEXT,
    Api,
    ScriptedWorkflow,
    Socket,
    cookie_headers,
    eventually,
    program_key,
    types,
)
from tests.factories import SessionFactory

OURS = (b"origin", b"http://127.0.0.1:8000")
HOST = (b"host", b"127.0.0.1:8000")


async def _connect(path: str, *headers: tuple[bytes, bytes]) -> tuple[bool, int | None]:
    communicator = WebsocketCommunicator(application, path, headers=[HOST, *headers])
    connected, code = await communicator.connect()
    await communicator.disconnect()
    return connected, code


async def test_stranger_is_refused_before_accept(user: User) -> None:
    assert await _connect("/ws/chat/", OURS) == (False, 4401)
    assert await _connect("/ws/chat/", OURS, (b"authorization", b"Token nonsense")) == (False, 4401)


async def test_an_api_key_opens_it_where_it_may_ask(user: User) -> None:
    for scope, opened in (("ask", (True, None)), ("read", (False, 4403))):
        key = await sync_to_async(program_key)(user, scope)
        assert await _connect("/ws/chat/", (b"authorization", f"Bearer {key}".encode())) == opened


async def test_somebody_elses_session_is_refused_like_none_at_all(
    user: User, stranger: User
) -> None:
    session = await sync_to_async(SessionFactory)(user=stranger)
    *_, cookie = await cookie_headers(user)
    assert await _connect(f"/ws/chat/{session.pk}/", OURS, cookie) == (False, 4404)
    assert await _connect(f"/ws/chat/{uuid.uuid4()}/", OURS, cookie) == (False, 4404)


async def test_options_of_a_workflow_come_through(socket: Any, workflow: ScriptedWorkflow) -> None:
    tab = await socket()
    await tab.send(
        "ask", message="How many?", workflow="self_corrective", options={"force_generate": True}
    )
    await tab.until("done", "error")
    (question,) = workflow.questions
    assert question.options.force_generate is True


async def test_cookie_needs_an_origin_of_ours(user: User) -> None:
    *_, cookie = await cookie_headers(user)
    assert (await _connect("/ws/chat/", OURS, cookie))[0] is True
    assert (await _connect("/ws/chat/", (b"origin", b"https://evil.example"), cookie))[0] is False
    assert (await _connect("/ws/chat/", cookie))[0] is False


@pytest.mark.parametrize(
    ("origin", "host", "ours"),
    [
        ("https://rag.example.org", "rag.example.org", True),
        ("https://rag.example.org:8443", "rag.example.org", False),
        (
            "https://pages.example.com",
            "127.0.0.1:8000",
            True,
        ),  # trusted, whatever the proxy makes of the host
        ("http://pages.example.com", "127.0.0.1:8000", False),
        ("https://a.b.example.net:8443", "127.0.0.1:8000", True),
        ("https://example.net", "127.0.0.1:8000", False),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://evil.example", "evil.example", False),  # a name that is none of ours
        ("http://[::1", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("", "127.0.0.1:8000", False),
        ("file://127.0.0.1:8000", "127.0.0.1:8000", False),
    ],
)
def test_which_origins_are_ours(settings: Any, origin: str, host: str, ours: bool) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "rag.example.org"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://pages.example.com", "https://*.example.net:8443"]
    assert is_ours(origin, host=host) is ours


@pytest.mark.parametrize("scheme", ["Token", "Bearer"])
async def test_token_needs_no_origin(user: User, api: Api, scheme: str) -> None:
    key = api.headers["Authorization"].split()[1]
    assert (await _connect("/ws/chat/", (b"authorization", f"{scheme} {key}".encode())))[0] is True
    assert await _connect(f"/ws/chat/?token={key}", OURS) == (False, 4401)


async def test_ask_makes_a_session_and_streams_the_answer(
    socket: Any, workflow: ScriptedWorkflow
) -> None:
    tab = await socket()
    await tab.send("ask", message="How many books?")
    events = await tab.until("done", "error")
    assert types(events)[0] == "started"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["message_id"] for event in events}) == 1
    assert (
        "".join(event["content"] for event in events if event["type"] == "chunk")
        == events[-1]["answer"]
        == TEXT
    )
    assert types(events).index("sources") < types(events).index("chunk")


async def test_all_tabs_on_a_session_see_the_same_events(
    socket: Any, workflow: ScriptedWorkflow
) -> None:
    first = await socket()
    await first.send("ask", message="First?")
    session_id = (await first.until("done"))[0]["session_id"]
    second = await socket(f"/ws/chat/{session_id}/")
    await second.send("ask", message="Second?")
    assert await first.until("done") == await second.until("done")


async def test_another_users_tab_sees_nothing(
    socket: Any, stranger: User, workflow: ScriptedWorkflow
) -> None:
    theirs, mine = await socket(of=stranger), await socket()
    await mine.send("ask", message="Mine?")
    await mine.until("done")
    assert await theirs.communicator.receive_nothing(timeout=0.05)


async def test_resume_replays_what_was_missed_and_goes_on_live(
    socket: Any, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    dropped = await socket()
    await dropped.send("ask", message="Books?")
    seen = await dropped.until("chunk")
    await dropped.close()
    workflow.go_on()
    tab = await socket(f"/ws/chat/{seen[0]['session_id']}/")
    await tab.send("resume", message_id=seen[0]["message_id"], after=seen[-1]["seq"])
    rest = await tab.until("done")
    assert [event["seq"] for event in seen + rest] == list(range(1, len(seen + rest) + 1))
    assert "".join(event["content"] for event in seen + rest if event["type"] == "chunk") == TEXT


async def test_stop_cancels_the_workflow_and_keeps_the_text(
    socket: Any, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(2)
    tab = await socket()
    await tab.send("ask", message="Books?")
    await tab.until("chunk")
    last = (await tab.until("chunk"))[-1]
    await tab.send("stop", message_id=last["message_id"])
    done = (await tab.until("done", "error"))[-1]
    stored = await Message.objects.aget(pk=last["message_id"])
    assert workflow.cancelled == 1
    assert (done["type"], done["message"]["status"], done["answer"]) == (
        "done", "stopped", "Undergraduates may borrow ten ",
    )  # fmt: skip
    assert (stored.status, stored.text) == ("stopped", "Undergraduates may borrow ten ")


async def test_stranger_can_neither_stop_nor_resume(
    socket: Any, stranger: User, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    mine, theirs = await socket(), await socket(of=stranger)
    await mine.send("ask", message="Books?")
    message_id = (await mine.until("started"))[0]["message_id"]
    for type_ in ("stop", "resume"):
        await theirs.send(type_, message_id=message_id)
        assert (await theirs.receive())["code"] == "not_found"
    assert workflow.cancelled == 0


FRAMES = [
    ("{", "invalid"),
    ("[]", "invalid"),
    ("[" * 100_000, "invalid"),
    ("{}", "unknown_type"),
    ('{"type": "dance"}', "unknown_type"),
    ('{"type": "ask", "message": 5}', "invalid"),
    ('{"type": "ask", "message": "\\ud800"}', "invalid"),
    ('{"type": "ask", "message": "a", "workflow": "magic"}', "invalid"),
    (
        '{"type": "ask", "message": "a", "session_id": "00000000-0000-4000-8000-000000000000"}',
        "not_found",
    ),
    ('{"type": "ask", "message": "' + "x" * 9000 + '"}', "message_too_large"),
    ('{"type": "ask", "message": "a", "colour": "red"}', "invalid"),
    ('{"type": "ask", "message": "a", "options": {"top_k": 1e400}}', "invalid"),
    ('{"type": "ping", "colour": "red"}', "invalid"),
    ('{"type": "stop", "message_id": "00000000-0000-4000-8000-000000000000"}', "not_found"),
    ('{"type": "resume", "message_id": "x", "after": "5"}', "invalid"),
    ('{"type": "ask", "message": "' + "x" * 1_000_000 + '"}', "too_large"),
]


@pytest.mark.parametrize(("text", "code"), FRAMES, ids=[frame[:50] for frame, _ in FRAMES])
async def test_bad_frame_is_answered_and_the_socket_stays(
    socket: Any, text: str, code: str
) -> None:
    tab = await socket()
    await tab.communicator.send_to(text_data=text)
    answer = await tab.receive()
    assert (answer["type"], answer["done"], answer["code"]) == ("error", True, code)
    await tab.send("ping")
    assert await tab.receive() == {"type": "pong"}


async def test_client_that_reads_nothing_does_not_hold_up_the_run(
    user: User, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = asyncio.Event()

    async def never(*args: Any, **kwargs: Any) -> None:
        await stuck.wait()

    monkeypatch.setattr("chat.api.consumers.ChatConsumer._send", never)
    tab = await (await asyncio.to_thread(Socket, user)).open()
    await tab.send("ask", message="Books?")

    async def is_complete() -> bool:
        return await Message.objects.filter(status="complete", role="assistant").aexists()

    await eventually(is_complete)
    await tab.close()
