"""Sockets of a process that is to end: none is opened any more."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from chat.runs.draining import RestartingError, is_draining
from ragsite.web.handler import refusal


class RefusesWhileDraining:
    """503 in place of the handshake, so that a proxy asks another machine. Without Redis there is no other."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        refusable = "websocket.http.response" in scope.get("extensions", {})
        if not (settings.REDIS_URL and refusable and is_draining()):
            await self._application(scope, receive, send)
            return
        start, body = refusal(RestartingError(), scope)
        await send({**start, "type": "websocket.http.response.start"})
        await send({"type": "websocket.http.response.body", "body": body})
