"""Which models an Ollama server has, and what they can do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from retrieval.providers.server import OllamaServer

MALFORMED = (ValueError, KeyError, TypeError, AttributeError)  # JSON, but not of the shape that Ollama sends
SHOWN_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """None: the server doesn't say."""

    capabilities: frozenset[str] = frozenset()
    context_length: int | None = None
    embedding_length: int | None = None


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """`name` with its tag; `digest` changes when another version is pulled."""

    name: str
    digest: str
    capabilities: frozenset[str]

    @property
    def can_chat(self) -> bool:
        return "completion" in self.capabilities

    @property
    def can_embed(self) -> bool:
        return "embedding" in self.capabilities and not self.can_chat

    @property
    def thinks(self) -> bool:
        return "thinking" in self.capabilities


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The server at one moment. `reason`: why it was not reachable."""

    reachable: bool
    models: tuple[InstalledModel, ...] = ()
    reason: str = ""
    taken_at: float = 0.0

    def find(self, name: str) -> InstalledModel | None:
        wanted = canonical(name)
        return next((model for model in self.models if model.name.lower() == wanted.lower()), None)


def canonical(name: str) -> str:
    """A name without a tag means `:latest`. The colon of a registry's port is not a tag's."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


class Discovery:
    """Asks the server at most every `discovery_ttl_s`; callers at the same time share one request. Never raises."""

    def __init__(self, server: OllamaServer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._latest: Snapshot | None = None
        self._details: dict[tuple[str, str], ModelDetails] = {}
        self._asking = asyncio.Lock()

    async def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """refresh: as of now, not of up to a few seconds ago."""
        wanted_since = self._clock() - (0.0 if refresh else self._server.settings.discovery_ttl_s)
        async with self._asking:
            if self._latest is None or self._latest.taken_at < wanted_since:
                self._latest = await self._ask()
            return self._latest

    async def details(self, model: InstalledModel) -> ModelDetails:
        """From /api/show, once per version of a model; empty when the server can't be asked."""
        key = (model.name, model.digest)
        if key not in self._details:
            try:
                self._details[key] = parse_details(await self._json("POST", "/api/show", {"model": model.name}))
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, *MALFORMED):
                return ModelDetails()  # not kept: the next caller asks again
        return self._details[key]

    async def _ask(self) -> Snapshot:
        server = self._server
        try:
            listed = (await self._json("GET", "/api/tags"))["models"]
            models = await self._with_capabilities([_listed(entry) for entry in listed])
            return Snapshot(reachable=True, models=models, taken_at=self._clock())
        except (TimeoutError, httpx.TimeoutException):
            reason = f"Ollama at {server.address} did not answer within {server.settings.discovery_timeout_s:g} s"
        except httpx.HTTPStatusError as error:
            reason = f"Ollama at {server.address} answered HTTP {error.response.status_code}"
        except (httpx.HTTPError, httpx.InvalidURL):
            reason = f"Ollama is not reachable at {server.address}"
        except MALFORMED:
            reason = f"the server at {server.address} does not speak Ollama's protocol"
        return Snapshot(reachable=False, reason=reason, taken_at=self._clock())

    async def _with_capabilities(self, models: list[InstalledModel]) -> tuple[InstalledModel, ...]:
        """Older servers do not list them: each model is shown, once."""
        slots = asyncio.Semaphore(SHOWN_AT_ONCE)

        async def completed(model: InstalledModel) -> InstalledModel:
            if model.capabilities:
                return model
            async with slots:
                details = await self.details(model)
            return InstalledModel(model.name, model.digest, details.capabilities or guessed(model.name))

        return tuple(await asyncio.gather(*map(completed, models)))

    async def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with asyncio.timeout(self._server.settings.discovery_timeout_s):
            response = await self._server.http.request(method, path, json=body)
        response.raise_for_status()
        return response.json()


def _listed(entry: Mapping[str, Any]) -> InstalledModel:
    name = str(entry.get("name") or entry["model"])
    return InstalledModel(canonical(name), str(entry.get("digest", "")), frozenset(entry.get("capabilities") or ()))


def parse_details(shown: Mapping[str, Any]) -> ModelDetails:
    """The numbers stand in `model_info` under the architecture's name, e.g. `bert.embedding_length`."""
    info: Mapping[str, Any] = shown.get("model_info") or {}

    def number(ending: str) -> int | None:
        return next((int(value) for key, value in info.items() if key.endswith(ending) and value), None)

    return ModelDetails(
        capabilities=frozenset(shown.get("capabilities") or ()),
        context_length=number(".context_length"),
        embedding_length=number(".embedding_length"),
    )


def guessed(name: str) -> frozenset[str]:
    """For servers that tell no capabilities at all."""
    embeds = any(part in name.lower() for part in ("embed", "minilm", "bge-", "e5-", "gte-"))
    return frozenset({"embedding" if embeds else "completion"})
