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
from rest_framework.authtoken.models import Token

SCHEMES = (b"token", b"bearer")


class TokenOrCookieAuth:
    """ASGI middleware that sets `scope["user"]`; AnonymousUser where the token is not valid."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._with_cookie = AllowedHostsOriginValidator(AuthMiddlewareStack(inner))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        header = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), None)
        if header is None:
            return await self._with_cookie(scope, receive, send)
        user = await sync_to_async(_user_of_token)(header)
        return await self._inner({**scope, "user": user}, receive, send)


def _user_of_token(header: bytes) -> Any:
    scheme, _, key = header.strip().partition(b" ")
    if scheme.lower() not in SCHEMES or not key.strip().isascii():
        return AnonymousUser()
    token = Token.objects.select_related("user").filter(key=key.strip().decode(), user__is_active=True).first()
    return token.user if token else AnonymousUser()
