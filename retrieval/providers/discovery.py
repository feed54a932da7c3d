"""Which models an Ollama server has, and what they can do.

A busy server answers late; that does not mean that it is away. While it is silent, its last list of models is used, and
asked for again in the background. It is away only if it can't be reached at all, or is no Ollama.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from ragsite.core.wording import worded
from retrieval.providers import server
from retrieval.providers.server import OllamaServer

DISCOVERY_TTL_S = 15.0  # how long the list of models is believed
DISCOVERY_BELIEVED_S = 300.0  # how long a server that is silent goes on being taken for one that serves

FRESHER_WAIT_S = 0.25  # that a caller gives a better list than the one that is there
RETRY_WAIT_S = 2.0  # that a caller waits for a server which has been silent so far
DETAILS_WAIT_S = 1.0  # that a caller waits for the description of a model
MALFORMED = (ValueError, KeyError, TypeError, AttributeError)  # JSON, but not of the shape that Ollama sends
SHOWN_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """None: the server doesn't say."""

    capabilities: frozenset[str] = frozenset()
    context_length: int | None = None
    always_thinks: bool = False  # it can't be told not to


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
    """What is known of the server at one moment.

    reachable: there is a list of models, which may be an older one. silent: it did not answer in time, so that the list
    is older than it should be, or there is none; it may well serve. reason: why it is not reachable, or was not asked.
    """

    reachable: bool
    models: tuple[InstalledModel, ...] = ()
    reason: str = ""
    silent: bool = False
    listed_at: float = 0.0  # by the clock of `Discovery`

    def find(self, name: str) -> InstalledModel | None:
        wanted = canonical(name)
        return next((model for model in self.models if model.name.lower() == wanted.lower()), None)


def canonical(name: str) -> str:
    """A name without a tag means `:latest`. The colon of a registry's port is not a tag's."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


class Discovery:
    """Asks the server at most every `discovery_ttl_s`, in the background; callers share the request. Never raises."""

    def __init__(self, server: OllamaServer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._latest: Snapshot | None = None
        self._asked_at = 0.0  # when `_latest` was asked for
        self._asking: asyncio.Task[None] | None = None
        self._details: dict[tuple[str, str], ModelDetails] = {}
        self._describing: dict[tuple[str, str], tuple[float, asyncio.Task[ModelDetails]]] = {}  # since when

    async def snapshot(self, *, refresh: bool = False, wait_s: float | None = None) -> Snapshot:
        """refresh: as of now, not of up to a few seconds ago; waits for it as long as the server may take.

        wait_s: at most, for the first list; else as long as a server that was not heard yet may take.
        """
        wanted_since = self._clock() - (0.0 if refresh else DISCOVERY_TTL_S)
        if self._latest is None or self._asked_at < wanted_since:
            latest = self._latest
            if refresh or (latest is None and wait_s is None):
                limit_s = server.DISCOVERY_TIMEOUT_S + server.CONNECT_TIMEOUT_S
            elif latest is None:
                limit_s = wait_s or 0.0
            else:
                limit_s = FRESHER_WAIT_S if latest.reachable and DISCOVERY_TTL_S else RETRY_WAIT_S
            # Not awaited itself: a caller that gives up must not break off what others wait for.
            await asyncio.wait({self._refreshing()}, timeout=limit_s)
        return self._believed()

    async def details(self, model: InstalledModel, *, wait_s: float = DETAILS_WAIT_S) -> ModelDetails:
        """From /api/show, once per version of a model; empty when there is no answer in time.

        wait_s: from the moment that it was asked, so that the calls of one question do not wait one after the other.
        """
        key = (model.name, model.digest)
        if key in self._details:
            return self._details[key]
        if key not in self._describing:
            self._describing[key] = self._clock(), asyncio.create_task(self._describe(key))
        since, task = self._describing[key]
        done, _ = await asyncio.wait({task}, timeout=max(0.0, since + wait_s - self._clock()))
        return task.result() if done and not task.cancelled() else ModelDetails()

    async def close(self) -> None:
        for task in [self._asking, *(task for _, task in self._describing.values())]:
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait({task})

    def _refreshing(self) -> asyncio.Task[None]:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._refresh())
        return self._asking

    async def _refresh(self) -> None:
        asked_at = self._clock()
        answer, latest = await self._ask(), self._latest
        if answer.silent and latest is not None and latest.reachable and self._heard_lately(latest):
            answer = replace(latest, silent=True, reason=answer.reason)
        self._latest, self._asked_at = answer, asked_at

    def _heard_lately(self, latest: Snapshot) -> bool:
        """A list, or any call of a model that went well, is a sign of life."""
        heard_at = max(latest.listed_at, *self._server.served_at())
        return self._clock() < heard_at + DISCOVERY_BELIEVED_S

    def _believed(self) -> Snapshot:
        """The latest list; where it is older than it should be, `reason` says so."""
        if self._latest is None:
            reason = worded("Ollama at {address} has not answered yet", address=self._server.address)
            return Snapshot(reachable=False, silent=True, reason=reason)
        if not (self._latest.silent and self._latest.reachable):
            return self._latest
        age_s = self._clock() - self._latest.listed_at
        return replace(
            self._latest,
            reason=worded(
                "{reason}; its list of {age_s:.0f} s ago is believed", reason=self._latest.reason, age_s=age_s
            ),
        )

    async def _describe(self, key: tuple[str, str]) -> ModelDetails:
        try:
            self._details[key] = parse_details(await self._json("POST", "/api/show", {"model": key[0]}))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, *MALFORMED):
            return ModelDetails()  # not kept: the next caller asks again
        finally:
            del self._describing[key]
        return self._details[key]

    async def _ask(self) -> Snapshot:
        server, silent = self._server, False
        try:
            listed = (await self._json("GET", "/api/tags"))["models"]
            models = await self._with_capabilities([_listed(entry) for entry in listed])
            return Snapshot(reachable=True, models=models, listed_at=self._clock())
        except (TimeoutError, httpx.TimeoutException):
            silent = True
            reason = worded(
                "Ollama at {address} did not answer within {limit_s:g} s", address=server.address, limit_s=self._limit_s
            )
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            silent = status == 429 or status >= 500
            reason = worded("Ollama at {address} answered HTTP {status}", address=server.address, status=status)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            silent = True
            reason = worded("Ollama is not reachable at {address}: it closed the connection", address=server.address)
        except (httpx.HTTPError, httpx.InvalidURL):
            reason = worded("Ollama is not reachable at {address}", address=server.address)
        except MALFORMED:
            reason = worded("the server at {address} does not speak Ollama's protocol", address=server.address)
        return Snapshot(reachable=False, silent=silent, reason=reason)

    @property
    def _limit_s(self) -> float:
        return server.DISCOVERY_TIMEOUT_S

    async def _with_capabilities(self, models: list[InstalledModel]) -> tuple[InstalledModel, ...]:
        """Older servers do not list them: each model is shown, once."""
        slots = asyncio.Semaphore(SHOWN_AT_ONCE)

        async def completed(model: InstalledModel) -> InstalledModel:
            if model.capabilities:
                return model
            async with slots:
                details = await self.details(model, wait_s=self._limit_s)
            return InstalledModel(model.name, model.digest, details.capabilities or guessed(model.name))

        return tuple(await asyncio.gather(*map(completed, models)))

    async def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with asyncio.timeout(self._limit_s):
            response = await self._server.http.request(method, path, json=body)
        response.raise_for_status()
        return response.json()


def _listed(entry: Mapping[str, Any]) -> InstalledModel:
    name = str(entry.get("name") or entry["model"])
    return InstalledModel(canonical(name), str(entry.get("digest", "")), frozenset(entry.get("capabilities") or ()))


def parse_details(payload: Mapping[str, Any]) -> ModelDetails:
    """The length stands in `model_info` under the architecture's name, e.g. `bert.context_length`."""
    info: Mapping[str, Any] = payload.get("model_info") or {}
    lengths = (int(value) for key, value in info.items() if key.endswith(".context_length") and value)
    capabilities = frozenset(payload.get("capabilities") or ())
    always_thinks = "thinking" in capabilities and not obeys(str(payload.get("template") or ""))
    return ModelDetails(capabilities, next(lengths, None), always_thinks)


def obeys(template: str) -> bool:
    """Whether a thinking model's chat template heeds `think: false`.

    Where the template does not deal with thoughts, as the server has a renderer of its own, it is taken to; a model
    that thinks all the same is noticed by its answers.
    """
    return "Thinking" not in template or re.search(r"\.Think\b|IsThinkSet", template) is not None


def guessed(name: str) -> frozenset[str]:
    """For servers that tell no capabilities at all."""
    embeds = any(part in name.lower() for part in ("embed", "minilm", "bge-", "e5-", "gte-"))
    return frozenset({"embedding" if embeds else "completion"})
