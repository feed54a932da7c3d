"""The TLS settings of the HTTP clients, made once: reading all certificates takes longer than most calls."""

from __future__ import annotations

import asyncio
import ssl
from functools import lru_cache

import httpx


async def tls_context() -> ssl.SSLContext:
    """Certifi's certificates, or those that SSL_CERT_FILE or SSL_CERT_DIR name; made off the event loop."""
    return await asyncio.to_thread(_context)


@lru_cache(maxsize=1)
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=True)
