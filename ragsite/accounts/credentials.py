"""Open connections end with what they were opened with: a browser's session, or a token.

A request is checked once, when it comes; a socket or a stream stays open for hours. So each asks the database again
every five seconds, and sends nothing more once the session or token has ended: by a sign-out, a new password, a
revoked token, a deactivated or deleted account. While the database is away it stays open.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import Error
from django.utils import timezone

from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from ragsite.core.wording import worded
from ragsite.models import ApiToken

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0
SIGNED_OUT = 4401  # the close code of a WebSocket
Item = TypeVar("Item")


class SignedOutError(AppError):
    """The session or token of an open connection has ended."""

    code = "not_authenticated"
    status = 401
    message = worded("You have been signed out; sign in again.")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a connection was opened with. password: the account's stored hash as it was then; a session ends with it."""

    user_id: int
    session_key: str = ""
    password: str = field(default="", repr=False)
    token_id: UUID | None = None


def credential_of(*, user: Any, auth: Any, session: Any) -> Credential | None:
    """`auth`: an ApiToken, or None where the session's cookie was used. None: there is nothing that could end."""
    if isinstance(auth, ApiToken):
        return Credential(user.pk, token_id=auth.pk)
    if session is not None and session.session_key and user.is_authenticated:
        return Credential(user.pk, session_key=session.session_key, password=user.password)
    return None


def credential_of_request(request: Any) -> Credential | None:
    """Of a REST framework request."""
    return credential_of(user=request.user, auth=request.auth, session=getattr(request, "session", None))


async def holds(credential: Credential) -> bool:
    """Whether the session or token is still there."""
    try:
        return await database_call(_is_there, credential)
    except Error as error:
        logger.warning("an open connection cannot be checked and stays open: %s", error)
        return True


def _is_there(credential: Credential) -> bool:
    if credential.token_id is not None:
        return ApiToken.objects.filter(pk=credential.token_id, user__is_active=True).exists()
    sessions = Session.objects.filter(session_key=credential.session_key, expire_date__gt=timezone.now())
    owner = User.objects.filter(pk=credential.user_id, password=credential.password, is_active=True)
    return sessions.exists() and owner.exists()


# ------------------------------------------------------------------------------------------------ for connections
async def while_signed_in(events: AsyncIterator[Item], credential: Credential | None) -> AsyncIterator[Item]:
    """The events, as long as the credential holds. Raises SignedOutError in place of the first that must not be seen.

    A stream has an event every few seconds, be it that nothing has happened.
    """
    checked = time.monotonic()
    try:
        async for event in events:
            if credential is not None and time.monotonic() - checked >= CHECK_EVERY_S:
                if not await holds(credential):
                    raise SignedOutError
                checked = time.monotonic()
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def unless_signed_out(work: Awaitable[Item], credential: Credential | None) -> Item:
    """What the work gives. Raises SignedOutError where the credential has ended meanwhile."""
    item = await work
    if credential is not None and not await holds(credential):
        raise SignedOutError
    return item


class ClosesWhenSignedOut:
    """ASGI middleware of WebSockets, inside of what sets `scope["user"]`. What comes and goes after the end is lost."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        credential = credential_of(user=scope["user"], auth=scope.get("token"), session=scope.get("session"))
        if credential is None:
            await self._inner(scope, receive, send)
            return
        ended = asyncio.Event()

        async def close_at_the_end() -> None:
            while await holds(credential):  # noqa: ASYNC110 -- the database tells no event
                await asyncio.sleep(CHECK_EVERY_S)
            ended.set()
            with contextlib.suppress(OSError, RuntimeError):  # the client is gone already
                await send({"type": "websocket.close", "code": SIGNED_OUT})

        async def received() -> Any:
            message = await receive()
            return {"type": "websocket.disconnect", "code": SIGNED_OUT} if ended.is_set() else message

        async def sent(message: dict[str, Any]) -> None:
            if not ended.is_set():
                await send(message)

        # A fresh context: the database thread of the connection is not to wait for it.
        closing = asyncio.create_task(close_at_the_end(), context=contextvars.Context())
        try:
            await self._inner(scope, received, sent)
        finally:
            closing.cancel()
