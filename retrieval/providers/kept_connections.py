"""Connections to a model server that are kept for some seconds, for the calls of one answer.

A server may close a kept connection at the very moment at which it is used again. It has read nothing of the call then,
so the call is made once more, on a new connection.
"""

from __future__ import annotations

import ssl
from typing import Any

import httpx

KEPT, KEPT_S = 8, 5.0  # connections, and how long; Ollama itself closes none
MOST = 100  # connections at once
BROKEN = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class KeptConnections(httpx.AsyncBaseTransport):
    """httpx' own transport. Belongs to one event loop."""

    def __init__(self, verify: ssl.SSLContext) -> None:
        limits = httpx.Limits(max_connections=MOST, max_keepalive_connections=KEPT, keepalive_expiry=KEPT_S)
        self._transport = httpx.AsyncHTTPTransport(verify=verify, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises what httpx raises. Bodies are in memory, so that they can be sent twice."""
        is_new = False

        async def noted(event: str, info: dict[str, Any]) -> None:
            nonlocal is_new
            is_new = is_new or event == "connection.connect_tcp.started"

        request.extensions = {**request.extensions, "trace": noted}
        try:
            return await self._transport.handle_async_request(request)
        except BROKEN:
            if is_new:
                raise
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()
