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
from typing import Any, TypeVar

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import Error
from django.db.models import QuerySet
from django.db.models.functions import Now

from ragsite.accounts.auth import valid_tokens
from ragsite.core.database import database_call
from ragsite.core.errors import NotAuthenticatedError
from ragsite.core.messages import worded
from ragsite.models import ApiToken

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0
SIGNED_OUT = 4401  # the close code of a WebSocket
Item = TypeVar("Item")


class SignedOutError(NotAuthenticatedError):
    """The session or token of an open connection has ended."""

    message = worded("You have been signed out; sign in again.")


Credential = QuerySet[Any]  # the row that a connection was opened with, and that it ends with


def credential_of(*, user: Any, auth: Any, session: Any) -> Credential | None:
    """`auth`: an ApiToken, or None where the session's cookie was used. None: there is nothing that could end."""
    if isinstance(auth, ApiToken):
        return valid_tokens().filter(pk=auth.pk)
    if session is None or not session.session_key or not user.is_authenticated:
        return None
    lasting = Session.objects.filter(session_key=session.session_key, expire_date__gt=Now())
    return UserSession.objects.filter(
        user=user.pk, user__is_active=True, session_key__in=lasting.values("session_key")
    )


def credential_of_request(request: Any) -> Credential | None:
    """Of a REST framework request."""
    return credential_of(
        user=request.user, auth=request.auth, session=getattr(request, "session", None)
    )


async def holds(credential: Credential) -> bool:
    """Whether the session or token is still there."""
    try:
        return await database_call(credential.exists)
    except Error as error:
        logger.warning("an open connection cannot be checked and stays open: %s", error)
        return True


# ------------------------------------------------------------------------------------------------ for connections
async def while_signed_in(
    events: AsyncIterator[Item], credential: Credential | None
) -> AsyncIterator[Item]:
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
        credential = credential_of(
            user=scope["user"], auth=scope.get("token"), session=scope.get("session")
        )
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
            return (
                {"type": "websocket.disconnect", "code": SIGNED_OUT} if ended.is_set() else message
            )

        async def sent(message: dict[str, Any]) -> None:
            if not ended.is_set():
                await send(message)

        # A fresh context: the database thread of the connection is not to wait for it.
        closing = asyncio.create_task(close_at_the_end(), context=contextvars.Context())
        try:
            await self._inner(scope, received, sent)
        finally:
            closing.cancel()
