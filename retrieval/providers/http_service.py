"""What the clients of other servers than Ollama share: rerankers and search engines."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

import httpx

from ragsite.core.wording import worded
from retrieval.errors import ModelOutputError, ModelTimeoutError, ModelUnavailableError
from retrieval.providers.breaker import Gate


def address_of(url: httpx.URL) -> str:
    """Host and port for people; never the password of the URL."""
    return url.host if url.port is None else f"{url.host}:{url.port}"


async def tls_context() -> ssl.SSLContext:
    """Certifi's certificates, or those that SSL_CERT_FILE or SSL_CERT_DIR name; made off the event loop, once.

    Reading all certificates takes longer than most calls.
    """
    return await asyncio.to_thread(_context)


@lru_cache(maxsize=1)
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=True)


@asynccontextmanager
async def one_call(gate: Gate, *, limit_s: float, label: str, server: str) -> AsyncIterator[None]:
    """One call through the gate within its time. label: of the service, server: its address, both for people.

    Raises ModelTimeoutError, ModelUnavailableError.
    """
    async with gate.enter(wait_s=limit_s, patience_s=limit_s):
        try:
            async with asyncio.timeout(limit_s):
                yield
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ModelTimeoutError(
                worded("{label} timed out after {limit_s:g} s", label=label, limit_s=limit_s)
            ) from error
        except httpx.HTTPError as error:
            raise ModelUnavailableError(
                worded("{label} is not reachable at {server}", label=label, server=server)
            ) from error


async def bounded(pieces: AsyncIterator[bytes], *, max_bytes: int, label: str) -> bytes:
    """A whole body. Raises ModelOutputError as soon as it is too large."""
    received = bytearray()
    async for piece in pieces:
        received += piece
        if len(received) > max_bytes:
            raise ModelOutputError(worded("the answer of {label} is too large", label=label))
    return bytes(received)
