"""Django's handler of requests, with how much of a body is received, and of whom.

Django receives a body whole, in memory and then in a file, before it looks who sends it and to where. So a stranger
could fill the disk with what is refused afterwards. Here anybody may send ANYBODYS bytes, who is signed in
DATA_UPLOAD_MAX_MEMORY_SIZE, or as a form with files up to what one upload may hold. The rest is not kept.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.db import Error as DatabaseError
from django.utils import translation
from rest_framework.exceptions import NotAuthenticated

from ragsite.core.api.error_responses import CODES, as_app_error
from ragsite.core.database import database_call, own_database_thread
from ragsite.core.errors import AppError, StorageFullError, TooLargeError
from ragsite.core.localized import localized
from ragsite.core.storage import is_lack_of_room
from ragsite.core.wording import worded
from ragsite.web.language import language_of

ANYBODYS = 64 << 10  # bytes
FOR_ANYBODY = ("/accounts/", "/admin/login/", "/api/auth/token")  # calls that need no sign-in: nobody sends more there
FORM_SLACK = 1 << 20  # boundaries and fields around the files
LINGER_S = 5.0  # that the rest of a refused body is taken and thrown away, at most
Scope = dict[str, Any]
IsSignedIn = Callable[[Mapping[str, Any]], bool]  # of an ASGI scope; it may ask the database


class Handler(ASGIHandler):
    """All calls of a request into the database run in one thread."""

    def __init__(self, is_signed_in: IsSignedIn) -> None:
        super().__init__()
        self._is_signed_in = is_signed_in

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        body = _Body(scope, receive, self._is_signed_in)
        try:
            async with own_database_thread():
                length = _header(scope, b"content-length")
                await body.allow(int(length) if length.isdigit() else 0)
                await self.handle(scope, body.receive, send)
        except _RefusedError as refused:
            await _answer(refused, scope, receive, send)

    async def read_body(self, receive: Any) -> IO[bytes]:
        """As Django's, which leaves the file open where it can't be received to its end."""
        try:
            with ExitStack() as closing:
                body = closing.enter_context(SpooledTemporaryFile(max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE))
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestAborted
                    body.write(message.get("body", b""))
                    more = message.get("more_body", False)
                closing.pop_all()
        except OSError as error:
            if not is_lack_of_room(error):
                raise
            raise _RefusedError(StorageFullError()) from error
        body.seek(0)
        return body

    def create_request(self, scope: Mapping[str, Any], body_file: IO[bytes]) -> Any:
        """A body sent in chunks gets its length: REST framework takes a request without one for one without a body."""
        if _header(scope, b"transfer-encoding") and not _header(scope, b"content-length"):
            length = str(body_file.seek(0, os.SEEK_END)).encode()
            body_file.seek(0)
            scope = {**scope, "headers": [*scope["headers"], (b"content-length", length)]}
        return super().create_request(scope, body_file)


class _Body:
    """Counts what is received, and raises _RefusedError before more of it is."""

    def __init__(self, scope: Scope, receive: Any, is_signed_in: IsSignedIn) -> None:
        self._scope, self._receive, self._is_signed_in = scope, receive, is_signed_in
        self._count, self._allowed = 0, ANYBODYS

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._receive()
        self._count += len(message.get("body", b""))
        await self.allow(self._count)
        return message

    async def allow(self, size: int) -> None:
        """Raises _RefusedError where so many bytes are too many, from this client or from anybody."""
        if size <= self._allowed:
            return
        most = _most(self._scope)
        if size > most:
            raise _RefusedError(TooLargeError(worded("The request is too large; send less at once.")))
        try:
            signed_in = await database_call(self._is_signed_in, self._scope)
        except DatabaseError as error:
            if (away := as_app_error(error)) is None:
                raise
            raise _RefusedError(away) from error
        if not signed_in:
            raise _RefusedError(None)
        self._allowed = most


class _RefusedError(Exception):
    """Before any answer has begun. error: what is answered; None: sign in first."""

    def __init__(self, error: AppError | None) -> None:
        super().__init__()
        self.error = error


def _most(scope: Scope) -> int:
    """Bytes that somebody who is signed in may send."""
    if scope["path"].startswith(FOR_ANYBODY):
        return ANYBODYS
    if not _header(scope, b"content-type").startswith(b"multipart/"):
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    ingest = settings.RAG.ingest
    return (ingest.max_files_per_upload + 1) * (ingest.max_file_mib << 20) + FORM_SLACK


def _header(scope: Mapping[str, Any], name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


async def _answer(refused: _RefusedError, scope: Scope, receive: Any, send: Any) -> None:
    """The connection ends with it, once the client has stopped sending, or after LINGER_S.

    Closed at once, with more on its way, it would be reset, and the answer lost with it: nginx made 502 of each.
    """
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    with translation.override(language_of(scope)):
        if refused.error is not None:
            status, told = refused.error.status, localized(refused.error.as_dict())
        else:
            status = 401
            told = {"error": {"code": CODES[401], "message": str(NotAuthenticated().detail), "fields": {}}}
            headers.append((b"www-authenticate", b"Token"))
    body = json.dumps(told).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with suppress(TimeoutError):  # it sends on, or keeps the connection: now it is closed
        await asyncio.wait_for(_receive_the_rest(receive), LINGER_S)
    await send({"type": "http.response.body", "body": b""})


async def _receive_the_rest(receive: Any) -> None:
    more = True
    while more:
        more = (await receive()).get("more_body", False)
        await asyncio.sleep(0)  # a piece that is there already suspends nothing
