"""Closes a WebSocket when its session or token has ended. What is sent to it from then on goes nowhere."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from ragsite.accounts.credentials import Ended, credential_of_scope, watched

SIGNED_OUT = 4401


class ClosesWhenSignedOut:
    """ASGI middleware, inside of what sets `scope["user"]`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        credential = credential_of_scope(scope)
        if credential is None:
            await self._inner(scope, receive, send)
            return
        with watched(credential) as ended:
            closing = asyncio.create_task(_close_at(ended, send))
            try:
                await self._inner(scope, _Receive(receive, ended, closing), _unless_ended(send, ended))
            finally:
                closing.cancel()


async def _close_at(ended: Ended, send: Any) -> None:
    """By itself: the application may be busy with a frame and ask for the next one late."""
    await asyncio.wait({ended})
    with contextlib.suppress(OSError, RuntimeError):  # the client is gone already
        await send({"type": "websocket.close", "code": SIGNED_OUT})


class _Receive:
    """`receive` of the connection, which tells a disconnect as soon as the socket has been closed from here."""

    def __init__(self, receive: Any, ended: Ended, closing: asyncio.Task[None]) -> None:
        self._receive, self._ended, self._closing = receive, ended, closing

    async def __call__(self) -> Any:
        message = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({message, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            if not self._ended.done():
                return message.result()
        finally:
            if not message.done():
                message.cancel()
        await asyncio.wait({self._closing})
        return {"type": "websocket.disconnect", "code": SIGNED_OUT}


def _unless_ended(send: Any, ended: Ended) -> Any:
    async def passed_on(message: dict[str, Any]) -> None:
        if not ended.done():
            await send(message)

    return passed_on
