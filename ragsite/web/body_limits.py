"""How much of a request's body is received, and of whom.

Django receives a body whole, in memory and then in a file, before it looks who sends it and to where. So a stranger
could fill the disk with what is refused afterwards. Here anybody may send ANYBODYS bytes, who is signed in
DATA_UPLOAD_MAX_MEMORY_SIZE, or as a form with files up to what one upload may hold. The rest is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import translation
from rest_framework.exceptions import NotAuthenticated

from ragsite.core.api.error_responses import CODES, as_app_error
from ragsite.core.database import database_call
from ragsite.core.errors import AppError, TooLargeError
from ragsite.core.localized import localized
from ragsite.core.wording import worded
from ragsite.web.early_answer import NotedSend, answer_early
from ragsite.web.language import language_of

ANYBODYS = 64 << 10  # bytes
FOR_ANYBODY = ("/accounts/", "/admin/login/", "/api/auth/token")  # calls that need no sign-in: nobody sends more there
FORM_SLACK = 1 << 20  # boundaries and fields around the files
IsSignedIn = Callable[[Mapping[str, Any]], bool]  # of an ASGI scope; it may ask the database


class BodyLimits:
    """ASGI middleware for HTTP."""

    def __init__(self, inner: Any, is_signed_in: IsSignedIn) -> None:
        self._inner, self._is_signed_in = inner, is_signed_in

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = _Body(scope, receive, self._is_signed_in)
        noted = NotedSend(send)
        try:
            await body.allow(_declared(scope))
            await self._inner(scope, body.receive, noted)
        except _RefusedError as refused:
            if not noted.begun:
                await _answer(refused, scope, receive, send)


class _Body:
    """Counts what is received, and raises _RefusedError before more of it is."""

    def __init__(self, scope: dict[str, Any], receive: Any, is_signed_in: IsSignedIn) -> None:
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
    """error: what is answered; None: sign in first."""

    def __init__(self, error: AppError | None) -> None:
        super().__init__()
        self.error = error


def _most(scope: dict[str, Any]) -> int:
    """Bytes that somebody who is signed in may send."""
    if scope["path"].startswith(FOR_ANYBODY):
        return ANYBODYS
    if not _header(scope, b"content-type").startswith(b"multipart/"):
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    ingest = settings.RAG.ingest
    return (ingest.max_files_per_upload + 1) * (ingest.max_file_mib << 20) + FORM_SLACK


def _declared(scope: dict[str, Any]) -> int:
    """0 where the body is sent in chunks, or there is none."""
    length = _header(scope, b"content-length")
    return int(length) if length.isdigit() else 0


def _header(scope: dict[str, Any], name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


async def _answer(refused: _RefusedError, scope: dict[str, Any], receive: Any, send: Any) -> None:
    with translation.override(language_of(scope)):
        if refused.error is not None:
            await answer_early(receive, send, refused.error.status, localized(refused.error.as_dict()))
            return
        told = {"error": {"code": CODES[401], "message": str(NotAuthenticated().detail), "fields": {}}}
        await answer_early(receive, send, 401, told, (b"www-authenticate", b"Token"))
