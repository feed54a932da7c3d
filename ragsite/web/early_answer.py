"""An error answer outside of Django, before the request's body was read to its end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

LINGER_S = 5.0  # that the rest of a request is taken and thrown away, at most


class NotedSend:
    """`send`, which knows whether an answer has begun."""

    def __init__(self, send: Any) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: dict[str, Any]) -> None:
        self.begun = True
        await self._send(message)


async def answer_early(receive: Any, send: Any, status: int, told: Any, *more: tuple[bytes, bytes]) -> None:
    """told: the body, as JSON. The connection ends with it, once the client has stopped sending, or after LINGER_S.

    Closed at once, with more on its way, it would be reset, and the answer lost with it: nginx made 502 of each.
    """
    body = json.dumps(told).encode()
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close"),
        *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    try:
        async with asyncio.timeout(LINGER_S):
            while True:
                message = await receive()
                if not message.get("more_body"):
                    break
                await asyncio.sleep(0)  # a piece that is there already suspends nothing
    except TimeoutError:
        pass  # it sends on, or keeps the connection: now it is closed
    await send({"type": "http.response.body", "body": b""})
