"""How much of a body is received, and of whom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from ragsite.accounts.tokens import token_create
from ragsite.asgi import application
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

PIECE = b"x" * (1 << 20)
ANYBODYS = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // len(PIECE)
FORM = "multipart/form-data; boundary=x"


class Sent:
    """A body of so many pieces; `pieces`: how many of them were taken."""

    def __init__(self, pieces: int, *, ends: bytes = b"") -> None:
        self.left, self.pieces, self._ends = pieces, 0, ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left:
            self.left -= 1
            self.pieces += 1
            yield PIECE
        yield self._ends


async def post(body: Any, *, path: str = "/api/documents", **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post(path, content=body, headers={"Content-Type": FORM} | headers)


async def a_token() -> dict[str, str]:
    return {"Authorization": f"Token {await sync_to_async(token_create)(user=await sync_to_async(UserFactory)())}"}


def _form(size: int) -> bytes:
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.exe"\r\n\r\nMZ'
    return begin + b"\0" * size + b"\r\n--x--\r\n"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Token 0123"}, {"Cookie": "sessionid=made-up"}])
async def test_a_stranger_may_not_send_a_long_form(headers: dict[str, str]) -> None:
    sent = Sent(100)
    response = await post(sent, **headers)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_authenticated")
    assert sent.pieces <= ANYBODYS + 2


async def test_of_a_declared_length_that_is_too_long_nothing_is_received() -> None:
    sent = Sent(100)
    response = await post(sent, **{"Content-Length": str(100 * len(PIECE))})
    assert (response.status_code, sent.pieces) == (401, 0)
    assert response.headers["connection"] == "close"


async def test_only_forms_may_be_long() -> None:
    sent = Sent(100)
    headers = await a_token() | {"Content-Type": "application/json", "Content-Length": str(100 * len(PIECE))}
    response = await post(sent, path="/api/chat", **headers)
    assert (response.status_code, response.json()["error"]["code"], sent.pieces) == (413, "too_large", 0)


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
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}; csrftoken={'a' * 32}", "X-CSRFToken": "a" * 32}
    response = await post(_form(settings.DATA_UPLOAD_MAX_MEMORY_SIZE), **headers)
    assert response.json()["error"]["code"] == "unsupported_file_type"


async def test_a_stranger_may_send_a_short_form() -> None:
    response = await post(_form(1000))
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_authenticated")


async def test_the_refusal_is_told_in_the_readers_language() -> None:
    response = await post(Sent(100), **{"Accept-Language": "zh-Hans", "Content-Length": str(100 * len(PIECE))})
    assert "身份" in response.json()["error"]["message"]


async def test_a_refused_body_says_what_a_short_one_would_be_told() -> None:
    long, short = await post(Sent(100)), await post(_form(10))
    assert (long.json(), long.headers["www-authenticate"]) == (short.json(), short.headers["www-authenticate"])
