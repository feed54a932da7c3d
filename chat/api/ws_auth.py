"""The identity behind a WebSocket.

Programs send `Authorization: Token …` (or Bearer); a browser can't, it sends its session cookie, and then the Origin
must be ours, or any page on the web could use the visitor's session. Ours means the port, too: browsers send a cookie
to every port of a host, so that another program of the same machine could use it. A token never stands in an address.

Where the database is away nobody knows who it is: the socket is closed with 1013 ("try again later").
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

from channels.auth import get_user
from channels.security.websocket import WebsocketDenier
from channels.sessions import CookieMiddleware, SessionMiddleware
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import Error as DatabaseError
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.http import is_same_domain

from ragsite.accounts.auth import token_of_header
from ragsite.core.database import database_call, is_database_away

logger = logging.getLogger(__name__)

TRY_AGAIN_LATER = 1013


class TokenOrCookieAuth:
    """ASGI middleware that sets `scope["user"]`, and `scope["token"]`; AnonymousUser where the token is not valid."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._by_cookie = _OriginIsOurs(CookieMiddleware(SessionMiddleware(self._enter)))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        enter = self._by_cookie if _header(scope, b"authorization") is None else self._enter
        return await enter(scope, receive, send)

    async def _enter(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        """By the token; without one the origin is ours, and the session is there."""
        header = _header(scope, b"authorization")
        token = None
        try:
            if header is None:
                user = await get_user(scope)
            else:
                token = await database_call(token_of_header, header)
                user = token.user if token else AnonymousUser()
        except DatabaseError as error:
            if not is_database_away(error):
                raise
            logger.warning("a socket was refused: %s", error)
            await receive()  # websocket.connect
            await send(
                {"type": "websocket.accept"}
            )  # a close code reaches a browser only after the socket was opened
            return await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})
        return await self._inner({**scope, "user": user, "token": token}, receive, send)


class _OriginIsOurs:
    """Lets in the pages that Django takes forms from: those of this host and port, and `CSRF_TRUSTED_ORIGINS`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._denier = WebsocketDenier()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        origin, host = (_header(scope, name) or b"" for name in (b"origin", b"host"))
        inner = (
            self._inner
            if is_ours(origin.decode("latin-1"), host=host.decode("latin-1"))
            else self._denier
        )
        return await inner(scope, receive, send)


def is_ours(origin: str, *, host: str) -> bool:
    """Whether a page of `origin` belongs to the site that was called as `host`, the header of that name."""
    try:
        page = urlsplit(origin)
    except ValueError:
        return False
    rules = CsrfViewMiddleware(lambda request: HttpResponse())  # of `CSRF_TRUSTED_ORIGINS`
    subdomains = rules.allowed_origin_subdomains.get(page.scheme, ())
    if origin in rules.allowed_origins_exact or any(
        is_same_domain(page.netloc, domain) for domain in subdomains
    ):
        return True
    name, _ = split_domain_port(host)
    return (
        page.scheme in ("http", "https")
        and page.netloc == host
        and validate_host(name, settings.ALLOWED_HOSTS)
    )


def _header(scope: dict[str, Any], name: bytes) -> bytes | None:
    return next((value for key, value in scope.get("headers", ()) if key == name), None)
