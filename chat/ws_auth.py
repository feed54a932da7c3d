"""Who is at the other end of a WebSocket.

Programs send `Authorization: Token …` (or Bearer); a browser can't, it sends its session cookie, and then the Origin
must be ours, or any page on the web could use the visitor's session. A token never stands in an address.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.security.websocket import AllowedHostsOriginValidator
from django.contrib.auth.models import AnonymousUser

from ragsite.auth import token_of_header


class TokenOrCookieAuth:
    """ASGI middleware that sets `scope["user"]`, and `scope["token"]`; AnonymousUser where the token is not valid."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._with_cookie = AllowedHostsOriginValidator(AuthMiddlewareStack(inner))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        header = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), None)
        if header is None:
            return await self._with_cookie(scope, receive, send)
        token = await sync_to_async(token_of_header)(header)
        user = token.user if token else AnonymousUser()
        return await self._inner({**scope, "user": user, "token": token}, receive, send)
