"""The connection to one Ollama server, for one event loop: transport, gates and time limits."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from ragsite.core.rag_settings import OllamaSettings
from ragsite.core.wording import worded
from retrieval.providers.breaker import CircuitBreaker, Gate
from retrieval.providers.http_service import address_of
from retrieval.providers.kept_connections import KeptConnections
from retrieval.providers.speed import ModelSpeed

CONNECT_TIMEOUT_S = 3.0  # until the connection stands
DISCOVERY_TIMEOUT_S = 10.0  # asking for the list of models; questions wait for the first one only
LIFE_TIMEOUT_S = 3.0  # for its version
BREAKER_FAILURES = 3  # consecutive failures that open the circuit
BREAKER_RESET_S = 20.0  # after which one probe is let through
VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})")


@dataclass(slots=True)
class ModelHabits:
    """What calls of a model have shown. `thinks_anyway`: it can't be told not to think. `untold`: it was asked how
    probable its words were, and the reply did not say."""

    speed: ModelSpeed = field(default_factory=ModelSpeed)
    thinks_anyway: bool = False
    untold: bool = False


class OllamaServer:
    """All clients share its transport, and so it closes them all. Proxies of the environment are not used."""

    def __init__(self, settings: OllamaSettings) -> None:
        self.settings = settings
        url = httpx.URL(settings.base_url)
        self.address = address_of(url)
        self.ssl_context = _ssl_context(url.scheme)
        self.transport = KeptConnections(self.ssl_context)
        self.http = httpx.AsyncClient(
            base_url=settings.base_url,
            transport=self.transport,
            timeout=httpx.Timeout(DISCOVERY_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            verify=self.ssl_context,
        )
        self.chat_gate, self.embed_gate = self._gate(), self._gate()
        self._habits: dict[str, ModelHabits] = {}
        self._looking: asyncio.Task[None] | None = None
        self._version: tuple[int, ...] | None = None

    def client_kwargs(self, read_timeout_s: float) -> dict[str, Any]:
        """For langchain-ollama's clients. The read timeout is the second line: the calls themselves watch the time."""
        timeout = httpx.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S)
        return {"timeout": timeout, "verify": self.ssl_context}

    def served_at(self) -> tuple[float, float]:
        """When a call of a chat model and one of an embedding model last went well, by time.monotonic."""
        return self.chat_gate.breaker.succeeded_at, self.embed_gate.breaker.succeeded_at

    def habits(self, model: str) -> ModelHabits:
        """What this process has learned about a model of this server."""
        return self._habits.setdefault(model, ModelHabits())

    async def version(self) -> tuple[int, ...]:
        """Of the server, (0, 12, 11), asked for once; empty where it can't be found out now. Never raises."""
        if self._version is None:
            try:
                async with asyncio.timeout(LIFE_TIMEOUT_S):
                    reply = await self.http.get("/api/version")
                    told = VERSION.match(str(reply.raise_for_status().json()["version"]))
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, KeyError, TypeError):
                return ()
            self._version = tuple(map(int, told.groups())) if told else ()
        return self._version

    def look_for_life(self) -> None:
        """A reply that comes in one piece was not there in time: slow models do that, and servers that hang.

        A server that is well tells its version at once, whatever its models do. In the background: nobody waits for it.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_for_life())

    async def _look_for_life(self) -> None:
        try:
            async with asyncio.timeout(LIFE_TIMEOUT_S):
                await self.http.get("/api/version")
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
            self.chat_gate.breaker.failed(worded("Ollama at {address} gave no sign of life", address=self.address))

    async def close(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.cancel()
            await asyncio.wait({self._looking})
        await self.http.aclose()
        await self.transport.aclose()

    def _gate(self) -> Gate:
        breaker = CircuitBreaker(failures=BREAKER_FAILURES, reset_s=BREAKER_RESET_S)
        return Gate(limit=self.settings.max_concurrency, breaker=breaker)


def _ssl_context(scheme: str) -> ssl.SSLContext:
    """Loading the certificates takes long enough to be felt, so plain HTTP goes without."""
    return ssl.create_default_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
