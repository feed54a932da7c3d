"""Who is at the other end of a WebSocket.

Programs send `Authorization: Token …` (or Bearer); a browser can't, it sends its session cookie, and then the Origin
must be ours, or any page on the web could use the visitor's session. A token never stands in an address.

Where the database is away nobody knows who it is: the socket is closed with 1013 ("try again later").
"""

from __future__ import annotations

import logging
from typing import Any

from channels.auth import AuthMiddleware
from channels.security.websocket import AllowedHostsOriginValidator
from channels.sessions import CookieMiddleware, SessionMiddleware
from django.contrib.auth.models import AnonymousUser
from django.db import Error as DatabaseError

from ragsite.accounts.auth import token_of_header
from ragsite.core.database import database_call, is_database_away

logger = logging.getLogger(__name__)

TRY_AGAIN_LATER = 1013


class TokenOrCookieAuth:
    """ASGI middleware that sets `scope["user"]`, and `scope["token"]`; AnonymousUser where the token is not valid."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._with_cookie = AllowedHostsOriginValidator(CookieMiddleware(SessionMiddleware(_CookieAuth(inner))))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        header = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), None)
        if header is None:
            return await self._with_cookie(scope, receive, send)
        try:
            token = await database_call(token_of_header, header)
        except DatabaseError as error:
            return await _refused(error, receive, send)
        user = token.user if token else AnonymousUser()
        return await self._inner({**scope, "user": user, "token": token}, receive, send)


class _CookieAuth(AuthMiddleware):
    """Channels' own, but for a database that is away."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        scope = dict(scope)
        self.populate_scope(scope)
        try:
            await self.resolve_scope(scope)
        except DatabaseError as error:
            return await _refused(error, receive, send)
        return await self.inner(scope, receive, send)


async def _refused(error: DatabaseError, receive: Any, send: Any) -> None:
    """Raises what waiting can't mend."""
    if not is_database_away(error):
        raise error
    logger.warning("a socket was refused: %s", error)
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})  # a close code reaches a browser only after the socket was opened
    await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})
