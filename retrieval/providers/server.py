"""The connection to one Ollama server, for one event loop: transport, gates and time limits."""

from __future__ import annotations

import ssl
from typing import Any

import httpx

from ragsite.core.rag_settings import OllamaSettings
from retrieval.providers.breaker import CircuitBreaker, Gate
from retrieval.providers.http_service import address_of

CONNECT_TIMEOUT_S = 3.0  # until the connection stands
DISCOVERY_TIMEOUT_S = 10.0  # asking for the list of models; questions wait for the first one only
BREAKER_FAILURES = 3  # consecutive failures that open the circuit
BREAKER_RESET_S = 20.0  # after which one probe is let through


class OllamaServer:
    """All clients share its transport, and so it closes them all.

    Connections are not kept alive: compared with a model call a new one costs nothing, and a kept one breaks when the
    server restarts or the event loop ends. Proxies of the environment are not used.
    """

    def __init__(self, settings: OllamaSettings) -> None:
        self.settings = settings
        url = httpx.URL(settings.base_url)
        self.address = address_of(url)
        self.ssl_context = _ssl_context(url.scheme)
        self.transport = httpx.AsyncHTTPTransport(
            verify=self.ssl_context, limits=httpx.Limits(max_connections=100, max_keepalive_connections=0)
        )
        self.http = httpx.AsyncClient(
            base_url=settings.base_url,
            transport=self.transport,
            timeout=httpx.Timeout(DISCOVERY_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            verify=self.ssl_context,
        )
        self.chat_gate, self.embed_gate = self._gate(), self._gate()

    def client_kwargs(self, read_timeout_s: float) -> dict[str, Any]:
        """For langchain-ollama's clients. The read timeout is the second line: the calls themselves watch the time."""
        timeout = httpx.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S)
        return {"timeout": timeout, "verify": self.ssl_context}

    def served_at(self) -> tuple[float, float]:
        """When a call of a chat model and one of an embedding model last went well, by time.monotonic."""
        return self.chat_gate.breaker.succeeded_at, self.embed_gate.breaker.succeeded_at

    async def close(self) -> None:
        await self.http.aclose()
        await self.transport.aclose()

    def _gate(self) -> Gate:
        breaker = CircuitBreaker(failures=BREAKER_FAILURES, reset_s=BREAKER_RESET_S)
        return Gate(limit=self.settings.max_concurrency, breaker=breaker)


def _ssl_context(scheme: str) -> ssl.SSLContext:
    """Loading the certificates takes long enough to be felt, so plain HTTP goes without."""
    return ssl.create_default_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
