"""Django's handler of requests, with how much of a body is received, and of whom.

Django receives a body whole, in memory and then in a file, before it looks who sends it and to where. So a stranger
could fill the disk with what is refused afterwards. Here anybody may send ANONYMOUS_BODY_BYTES, and a signed-in user
DATA_UPLOAD_MAX_MEMORY_SIZE or, in a form with files, as much as one upload may hold. The rest is not stored.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import Error as DatabaseError
from django.utils import translation

from ragsite.core.api.error_responses import as_app_error, error_data
from ragsite.core.database import database_call, own_database_thread
from ragsite.core.errors import AppError, NotAuthenticatedError, TooLargeError
from ragsite.core.localized import language_of
from ragsite.core.messages import worded

ANONYMOUS_BODY_BYTES = 64 << 10
FOR_ANYBODY = (
    "/accounts/",
    "/admin/login/",
    "/api/auth/token",
)  # calls that need no sign-in: nobody sends more there
ANONYMOUS_QUERY_BYTES = (
    8 << 10
)  # at the same calls: their pages repeat `next` in every form and link
FORM_SLACK = 1 << 20  # boundaries and fields around the files
BODY_S = 60.0  # within which the first ANONYMOUS_BODY_BYTES bytes of a body come, and then each further piece
LINGER_S = 5.0  # that the rest of a refused body is taken and thrown away, at most
Scope = dict[str, Any]
IsSignedIn = Callable[[Mapping[str, Any]], bool]  # of an ASGI scope; it may ask the database


class TooSlowError(AppError):
    code = "too_slow"
    status = 408
    message = worded("The request came too slowly; try again.")


class Handler(ASGIHandler):
    """All calls of a request into the database run in one thread."""

    def __init__(self, is_signed_in: IsSignedIn) -> None:
        super().__init__()
        self._is_signed_in = is_signed_in

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        body = _Body(scope, receive, self._is_signed_in)
        async with own_database_thread():
            length = _header(scope, b"content-length")
            await body.allow(int(length) if length.isdigit() else 0)
            if body.refused is None:
                await self.handle(scope, body.receive, send)
        if body.refused is not None:
            await _answer(body.refused, scope, receive, send)

    def create_request(self, scope: Mapping[str, Any], body_file: IO[bytes]) -> Any:
        """A body sent in chunks gets its length: REST framework takes a request without one for one without a body."""
        if _header(scope, b"transfer-encoding") and not _header(scope, b"content-length"):
            length = str(body_file.seek(0, os.SEEK_END)).encode()
            body_file.seek(0)
            scope = {**scope, "headers": [*scope["headers"], (b"content-length", length)]}
        return super().create_request(scope, body_file)


class _Body:
    """Counts what is received. refused: why no more of it is; for Django the client has gone then."""

    def __init__(self, scope: Scope, receive: Any, is_signed_in: IsSignedIn) -> None:
        self.refused: AppError | None = None
        if (
            scope["path"].startswith(FOR_ANYBODY)
            and len(scope["query_string"]) > ANONYMOUS_QUERY_BYTES
        ):
            self.refused = TooLargeError(worded("This address is too long."), status=414)
        self._scope = scope
        self._receive = receive
        self._is_signed_in = is_signed_in
        self._count = 0
        self._allowed = ANONYMOUS_BODY_BYTES
        self._has_more = True
        self._ends_at = asyncio.get_running_loop().time() + BODY_S

    async def receive(self) -> dict[str, Any]:
        if not self._has_more:  # Django waits for the client to go
            return dict(await self._receive())
        try:
            async with asyncio.timeout_at(self._ends_at):
                message: dict[str, Any] = await self._receive()
        except TimeoutError:
            self.refused = TooSlowError()
            return {"type": "http.disconnect"}
        self._has_more = message.get("more_body", False)
        self._count += len(message.get("body", b""))
        if self._count > ANONYMOUS_BODY_BYTES:
            self._ends_at = asyncio.get_running_loop().time() + BODY_S
        await self.allow(self._count)
        return message if self.refused is None else {"type": "http.disconnect"}

    async def allow(self, size: int) -> None:
        """Refuse where so many bytes are too many, from this client or from anybody."""
        if size <= self._allowed:
            return
        most = _most(self._scope)
        if size > most:
            self.refused = TooLargeError(worded("The request is too large; send less at once."))
            return
        try:
            if await database_call(self._is_signed_in, self._scope):
                self._allowed = most
            else:
                self.refused = NotAuthenticatedError()
        except DatabaseError as error:
            self.refused = as_app_error(error)
            if self.refused is None:
                raise


def _most(scope: Scope) -> int:
    """Bytes that somebody who is signed in may send."""
    if scope["path"].startswith(FOR_ANYBODY):
        return ANONYMOUS_BODY_BYTES
    if not _header(scope, b"content-type").startswith(b"multipart/"):
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    ingest = settings.RAG.ingest
    return (ingest.max_files_per_upload + 1) * (ingest.max_file_mib << 20) + FORM_SLACK


def _header(scope: Mapping[str, Any], name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def refusal(error: AppError, scope: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """`http.response.start` and the body of an answer that Django does not give, in its sender's language."""
    with translation.override(language_of(scope)):
        body = json.dumps(error_data(error, path=scope["path"])).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry_after_s:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    return {"type": "http.response.start", "status": error.status, "headers": headers}, body


async def _answer(refused: AppError, scope: Scope, receive: Any, send: Any) -> None:
    """The connection ends with it, once the client has stopped sending, or after LINGER_S.

    Closed at once, with more on its way, it would be reset, and the answer lost with it: nginx made 502 of each.
    """
    start, body = refusal(refused, scope)
    start["headers"].append((b"connection", b"close"))
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with suppress(TimeoutError):  # it sends on, or keeps the connection: now it is closed
        await asyncio.wait_for(_receive_the_rest(receive), LINGER_S)
    await send({"type": "http.response.body", "body": b""})


async def _receive_the_rest(receive: Any) -> None:
    more = True
    while more:
        more = (await receive()).get("more_body", False)
        await asyncio.sleep(0)  # a piece that is there already suspends nothing
