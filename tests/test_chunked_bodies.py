"""A body sent in chunks is read like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from ragsite.accounts.tokens import token_create
from ragsite.asgi import application
from ragsite.web.chunked_bodies import IN_MEMORY_BYTES, LengthOfChunkedBodies
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


async def in_chunks(body: bytes, *, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def post(path: str, body: AsyncIterator[bytes], *, content_type: str = "application/json") -> httpx.Response:
    key = await sync_to_async(token_create)(user=await sync_to_async(UserFactory)())
    headers = {"Authorization": f"Token {key}", "Content-Type": content_type}
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post(path, content=body, headers=headers)


async def test_json_in_chunks_is_read() -> None:
    response = await post("/api/collections", in_chunks('{"name": "规章"}'.encode()))
    assert (response.status_code, response.json()["name"]) == (201, "规章")


async def test_a_form_in_chunks_is_read() -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.exe"\r\n\r\nMZ\r\n--x--\r\n'
    response = await post("/api/documents", in_chunks(body), content_type="multipart/form-data; boundary=x")
    assert response.json()["error"]["code"] == "unsupported_file_type"


async def test_the_limit_holds_for_chunks() -> None:
    body = b'"' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"'
    for path in ("/api/chat", "/api/search"):
        response = await post(path, in_chunks(body, size=1 << 20))
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, IN_MEMORY_BYTES + 1])
async def test_every_byte_comes_through_and_then_the_disconnect(size: int) -> None:
    got: dict[str, Any] = {"body": b""}

    async def inner(scope: dict[str, Any], receive: Any, send: Any) -> None:
        got["headers"] = dict(scope["headers"])
        more = True
        while more:
            message = await receive()
            got["body"] += message["body"]
            more = message["more_body"]
        got["after"] = await receive()

    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    messages = [
        {"type": "http.request", "body": body[: size // 2], "more_body": True},
        {"type": "http.request", "body": body[size // 2 :]},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    scope = {"type": "http", "headers": [(b"transfer-encoding", b"chunked")]}
    await LengthOfChunkedBodies(inner)(scope, receive, None)
    assert got["body"] == body
    assert got["headers"] == {b"content-length": str(size).encode()}
    assert got["after"] == {"type": "http.disconnect"}


async def test_a_client_that_goes_away_in_the_middle_asks_nothing() -> None:
    messages = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def inner(*_: Any) -> None:
        raise AssertionError("half a request was handed on")

    scope = {"type": "http", "headers": [(b"transfer-encoding", b"chunked")]}
    await LengthOfChunkedBodies(inner)(scope, receive, None)
    assert messages == []
