"""A request that can't be received for lack of room on the disk is answered as every error is."""

from __future__ import annotations

import json
from typing import Any

from ragsite.core.errors import StorageFullError
from ragsite.core.storage import is_lack_of_room


class FullDiskAnswers:
    """ASGI middleware around Django, which writes larger bodies to a file before any of its own handlers runs."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        begun = False

        async def noted(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._inner(scope, receive, noted)
        except OSError as error:
            if begun or not is_lack_of_room(error):
                raise
            await _answer(send)


async def _answer(send: Any) -> None:
    error = StorageFullError()
    body = json.dumps(error.as_dict()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    # The rest of the body stays unread.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
