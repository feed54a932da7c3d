"""How much of a body is received, and of whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from ragsite.accounts.auth import is_signed_in
from ragsite.accounts.tokens import token_create
from ragsite.asgi import application
from ragsite.web import handler, protocol
from ragsite.web.handler import ANONYMOUS_BODY_BYTES, Handler
from retrieval.models import Document
from tests.chat.conftest import served
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

PIECE = b"x" * (1 << 20)
JSON = "application/json"
FORM = "multipart/form-data; boundary=x"


class Sent:
    """A body of so many pieces."""

    def __init__(self, pieces: int, *, piece: bytes = PIECE) -> None:
        self.left, self._piece = pieces, piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left:
            self.left -= 1
            yield self._piece


async def post(
    body: Any, *, path: str = "/api/documents", to: Any = application, **headers: str
) -> httpx.Response:
    transport = httpx.ASGITransport(to)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post(path, content=body, headers={"Content-Type": FORM} | headers)


async def a_token() -> dict[str, str]:
    return {
        "Authorization": f"Token {await sync_to_async(token_create)(user=await sync_to_async(UserFactory)())}"
    }


def _form(size: int) -> bytes:
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.exe"\r\n\r\nMZ'
    return begin + b"\0" * size + b"\r\n--x--\r\n"


@pytest.fixture
def sizes_received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what Django receives of bodies; it answers nothing."""
    sizes: list[int] = []

    async def handle(self: Handler, scope: Any, receive: Any, send: Any) -> None:
        sizes.append(0)
        more = True
        while more:
            message = await receive()
            sizes[-1] += len(message.get("body", b""))
            more = message.get("more_body", False)

    monkeypatch.setattr(Handler, "handle", handle)
    return sizes


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Token 0123"}, {"Cookie": "sessionid=made-up"}]
)
async def test_a_stranger_may_not_send_a_long_form(headers: dict[str, str]) -> None:
    response = await post(Sent(100), **headers)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_authenticated")


async def test_of_a_strangers_form_no_more_is_received_than_anybody_may_send(
    sizes_received: list[int],
) -> None:
    response = await post(Sent(100, piece=b"x" * 1024), to=Handler(is_signed_in))
    assert (response.status_code, sizes_received) == (401, [ANONYMOUS_BODY_BYTES])


async def test_of_a_declared_length_that_is_too_long_nothing_is_received(
    sizes_received: list[int],
) -> None:
    response = await post(
        Sent(100), to=Handler(is_signed_in), **{"Content-Length": str(100 * len(PIECE))}
    )
    assert (response.status_code, sizes_received) == (401, [])
    assert response.headers["connection"] == "close"


async def test_who_is_signed_in_may_send_more_json() -> None:
    headers = await a_token() | {"Content-Type": JSON}
    response = await post(
        b'{"name": "x"' + b" " * (1 << 20) + b"}", path="/api/collections", **headers
    )
    assert response.status_code == 201


async def _answer_to_all(port: int, *, pieces: int) -> bytes:
    """What is read by a client, or a proxy, that sends the whole body before it looks at the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: {pieces * len(PIECE)}\r\n\r\n"
    writer.write(head.encode())
    for _ in range(pieces):
        writer.write(PIECE)
        await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


async def test_who_never_stops_sending_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "LINGER_S", 0.2)
    async with served(Handler(lambda _: False)) as port:
        with pytest.raises(ConnectionError):
            await _answer_to_all(port, pieces=1_000_000)


async def _dripped(port: int, *pieces: bytes, every_s: float = 0.1) -> bytes:
    """What is read by a client that sends one piece after the other, and then nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(every_s)
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return answer


HEAD = b"POST /api/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


async def test_a_head_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.3)
    async with served(application) as port:
        assert (
            await _dripped(
                port, b"GET /hea", b"lthz HTTP/1.1\r\n", b"Host: localhost\r\n", b"X-A: 1\r\n"
            )
            == b""
        )
        assert await _dripped(port) == b""


async def test_a_second_head_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.3)
    async with served(application) as port:
        answer = await _dripped(
            port,
            b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /not",
            b"hing HTTP/1.1\r\n",
        )
    assert answer.count(b"HTTP/1.1 404") == 1


async def test_an_answer_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.1)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.5)
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
        )
        await send({"type": "http.response.body", "body": b"ok"})

    async with served(slow) as port, httpx.AsyncClient() as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).text == "ok"


@pytest.mark.parametrize(
    "begun", [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
async def test_a_body_that_does_not_come_is_given_up(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(handler, "BODY_S", 0.3)
    monkeypatch.setattr(handler, "LINGER_S", 0.1)
    async with served(application) as port:
        answer = await _dripped(port, HEAD + begun)
    assert answer.startswith(b"HTTP/1.1 408") and b"too_slow" in answer


async def test_an_upload_that_breaks_off_leaves_nothing(settings: Any) -> None:
    headers = "".join(f"{name}: {value}\r\n" for name, value in (await a_token()).items())
    head = f"POST /api/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: 9999999\r\n"
    async with served(application) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write((head + headers + "\r\n").encode() + _form(1 << 20)[: 1 << 19])
        await writer.drain()
        writer.close()
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200
    assert not await Document.objects.aexists()


async def test_an_upload_may_be_as_long_as_its_files(rag_settings: Callable[..., None]) -> None:
    rag_settings(ingest={"max_file_mib": 1, "max_files_per_upload": 8})
    response = await post(Sent(100), **await a_token())
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("by", ["token", "session"])
async def test_who_is_signed_in_may_send_a_long_form(by: str) -> None:
    if by == "token":
        headers = await a_token()
    else:
        client = Client()
        await sync_to_async(client.force_login)(await sync_to_async(UserFactory)())
        key = client.cookies[settings.SESSION_COOKIE_NAME].value
        headers = {
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={key}; csrftoken={'a' * 32}",
            "X-CSRFToken": "a" * 32,
        }
    response = await post(_form(settings.DATA_UPLOAD_MAX_MEMORY_SIZE), **headers)
    assert response.json()["error"]["code"] == "unsupported_file_type"


# ------------------------------------------------------------------------------------------------ in chunks
async def in_chunks(body: bytes, *, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def test_the_limit_holds_for_chunks() -> None:
    body = b'"' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"'
    for path in ("/api/chat", "/api/search"):
        response = await post(
            in_chunks(body, size=1 << 20), path=path, **await a_token() | {"Content-Type": JSON}
        )
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "path", ["/api/auth/token", "/accounts/signup/", "/accounts/password/forgotten/"]
)
async def test_where_nobody_signs_in_a_body_is_short_for_everybody(path: str) -> None:
    for headers in ({}, await a_token()):
        long = await post(
            b"{" + b" " * ANONYMOUS_BODY_BYTES + b"}",
            path=path,
            **headers,
            **{"Content-Type": JSON},
        )
        assert (long.status_code, long.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_where_nobody_signs_in_an_address_is_short(method: str) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(application), base_url="http://localhost"
    ) as client:
        long = await client.request(method, "/accounts/login/", params={"next": "/" + "x" * 60_000})
        short = await client.request(method, "/accounts/login/", params={"next": "/documents/"})
    assert (long.status_code, long.json()["error"]["code"], len(long.content) < 200) == (
        414,
        "too_large",
        True,
    )
    assert short.status_code in (200, 403)


async def test_a_short_body_is_read_where_nobody_signs_in() -> None:
    short = await post(
        b"{" + b" " * (ANONYMOUS_BODY_BYTES - 2) + b"}",
        path="/api/auth/token",
        **{"Content-Type": JSON},
    )
    assert list(short.json()["error"]["fields"]) == ["username", "password"]
