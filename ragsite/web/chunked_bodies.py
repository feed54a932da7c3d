"""Bodies sent in chunks (`Transfer-Encoding: chunked`), as by clients that do not know the length before.

REST framework takes a request without Content-Length for one without a body, and Django's limits look at that header,
too: so such a body is received first, as Django would do itself, and handed on with its length.
"""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from typing import IO, Any

IN_MEMORY_BYTES = 2 * 1024 * 1024
PIECE_BYTES = 64 * 1024


class LengthOfChunkedBodies:
    """ASGI middleware."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        names = {name for name, _ in scope["headers"]}
        if b"transfer-encoding" not in names or b"content-length" in names:
            await self._inner(scope, receive, send)
            return
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as body:
            if not await _received(body, receive):
                return
            headers = [(name, value) for name, value in scope["headers"] if name != b"transfer-encoding"]
            length = str(body.tell()).encode()
            body.seek(0)
            await self._inner(
                {**scope, "headers": [*headers, (b"content-length", length)]}, _replayed(body, receive), send
            )


async def _received(body: IO[bytes], receive: Any) -> bool:
    """False: the client went away."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return False
        body.write(message.get("body", b""))
        more = message.get("more_body", False)
    return True


def _replayed(body: IO[bytes], receive: Any) -> Any:
    """What `receive` would have given, then what it gives."""
    ended = False

    async def again() -> dict[str, Any]:
        nonlocal ended
        if ended:
            message: dict[str, Any] = await receive()
            return message
        piece = body.read(PIECE_BYTES)
        ended = len(piece) < PIECE_BYTES
        return {"type": "http.request", "body": piece, "more_body": not ended}

    return again
