"""A request has an id: that which a proxy gave it in X-Request-ID, or one of ours. The answer bears it, and the log."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from django.conf import settings

from ragsite.core.log_ids import current_request

HEADER = b"x-request-id"
FORM = re.compile(r"[A-Za-z0-9._-]{1,100}")  # what is written into the log as it came


class RequestIds:
    """ASGI middleware. A socket has one id for all that it asks."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        given = dict(scope["headers"]).get(HEADER, b"").decode("latin-1")
        number = given if FORM.fullmatch(given) else uuid4().hex
        current_request.set(number)

        async def send_with_id(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {
                    **message,
                    "headers": [*message.get("headers", ()), (HEADER, number.encode())],
                }
            await send(message)

        is_file = scope["path"].startswith(settings.STATIC_URL)  # fifty of a page, not logged
        await self._application(scope, receive, send if is_file else send_with_id)
