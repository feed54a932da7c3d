"""An error answer outside of Django, before the request's body was read to its end."""

from __future__ import annotations

import json
from typing import Any


class NotedSend:
    """`send`, which knows whether an answer has begun."""

    def __init__(self, send: Any) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: dict[str, Any]) -> None:
        self.begun = True
        await self._send(message)


async def answer_early(send: Any, status: int, told: Any, *more: tuple[bytes, bytes]) -> None:
    """told: the body, as JSON. The connection ends with it: the rest of the request stays unread."""
    body = json.dumps(told).encode()
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close"),
        *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
