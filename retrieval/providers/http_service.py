"""What the clients of other servers than model servers share: rerankers and search engines."""

from __future__ import annotations

import asyncio
import ssl
from functools import lru_cache
from typing import Any

import httpx

from ragsite.core.wording import worded
from retrieval.errors import ModelOutputError, ModelTimeoutError, ModelUnavailableError

MAX_ANSWER_BYTES = 1_000_000


def address_of(url: httpx.URL) -> str:
    """Host and port for people; never the password of the URL."""
    return url.host if url.port is None else f"{url.host}:{url.port}"


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Certifi's certificates, or those that SSL_CERT_FILE or SSL_CERT_DIR name; reading them takes longer than most
    calls."""
    return httpx.create_ssl_context(trust_env=True)


async def request(method: str, url: httpx.URL, *, limit_s: float, label: str, json: Any = None) -> tuple[int, bytes]:
    """Status and body. Nothing but this host is called: no redirect is followed, no proxy of the environment used.

    Raises ModelTimeoutError, ModelUnavailableError; ModelOutputError as soon as the body is too large.
    """
    tls, received = await asyncio.to_thread(tls_context), bytearray()
    try:
        async with (
            asyncio.timeout(limit_s),
            httpx.AsyncClient(timeout=limit_s, trust_env=False, verify=tls, follow_redirects=False) as client,
            client.stream(method, url, json=json) as response,
        ):
            async for piece in response.aiter_bytes():
                received += piece
                if len(received) > MAX_ANSWER_BYTES:
                    raise ModelOutputError(worded("the answer of {label} is too large", label=label))
            return response.status_code, bytes(received)
    except (TimeoutError, httpx.TimeoutException) as error:
        reason = worded("{label} timed out after {limit_s:g} s", label=label, limit_s=limit_s)
        raise ModelTimeoutError(reason) from error
    except httpx.HTTPError as error:
        reason = worded("{label} is not reachable at {server}", label=label, server=address_of(url))
        raise ModelUnavailableError(reason) from error
