"""The models that can be used at this moment: found by what they can do, or named in the settings; or none.

| RAG_OFFLINE | server not there | server there |
|---|---|---|
| `auto` | no chat model; new collections get the built-in embedding model | its models |
| `0` | errors, also for new collections | its models |
| `1` | as `auto` without a server: it is never called | as `auto` without a server |
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Literal

from ragsite.core.messages import joined, worded
from ragsite.core.server_settings import OllamaSettings, ServerAddress
from retrieval.engine.errors import (
    EmbeddingUnavailableError,
    ModelError,
    ModelMissingError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from retrieval.engine.ports import ChatModel, Embedder, Models, ModelStatus
from retrieval.engine.providers.builtin import BUILTIN_SPACE, BuiltinEmbedder
from retrieval.engine.providers.chat import Habits, ServedChatModel
from retrieval.engine.providers.embeddings import MAX_QUERY_VECTORS, ServedEmbedder, VectorCache
from retrieval.engine.providers.server import CircuitBreaker, ModelServer, ServedModel, canonical
from retrieval.engine.values import EmbeddingSpace

Role = Literal["answer", "fast", "embed"]
ROLES: tuple[Role, ...] = ("answer", "fast", "embed")
HABITS: defaultdict[tuple[str, str], Habits] = defaultdict(
    Habits
)  # by server and model, of all loops of this process
CHAT_ROLES: tuple[Literal["answer", "fast"], ...] = ("answer", "fast")
LOAD_TIMEOUT_S = 300.0  # of a model, into memory
LISTED_EVERY_S = 15.0  # how long the list of models is believed
FORCED_OFFLINE = worded("offline mode is switched on (RAG_OFFLINE=1)")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server listed, or why it did not."""

    models: tuple[ServedModel, ...] = ()
    failure: ModelError | None = None

    def find(self, name: str) -> ServedModel | None:
        return next(
            (model for model in self.models if canonical(model.name) == canonical(name)), None
        )


class Connection:
    """One server, with its gates and its list of models."""

    def __init__(self, server: ModelServer, *, limit: int) -> None:
        self.server = server
        self.chat_breaker = CircuitBreaker(limit=limit)
        self.embed_breaker = CircuitBreaker(limit=limit)
        self._listing = Listing()
        self._listed_at = float("-inf")
        self._asking = asyncio.Lock()

    def look_again(self) -> None:
        self._listed_at = float("-inf")

    async def listing(self) -> Listing:
        """Callers share a request. Never raises."""
        called_at = time.monotonic()
        async with self._asking:
            if self._listed_at < called_at - LISTED_EVERY_S:
                begun_at = time.monotonic()
                try:
                    self._listing = Listing(await self.server.models())
                except ModelError as error:
                    # A busy server may be too slow to list what it listed before.
                    if not (isinstance(error, ModelTimeoutError) and self._listing.models):
                        self._listing = Listing(failure=error)
                self._listed_at = begun_at
        return self._listing


async def load_kind(kind: str) -> None:
    """Load what a kind of server needs, beside the event loop: with LangChain it takes a second."""
    await asyncio.to_thread(importlib.import_module, f"retrieval.engine.providers.{kind}")


def make_server(address: ServerAddress, settings: OllamaSettings) -> ModelServer:
    """Its module is loaded here: with LangChain it takes 36 MiB and a second, where it is used."""
    kind, url = address
    if kind == "openai":
        from retrieval.engine.providers.openai import OpenAIServer

        return OpenAIServer(settings, url)
    from retrieval.engine.providers.ollama import OllamaServer

    return OllamaServer(settings)


class ChosenModel:
    """The site's models, but `name` writes the answers; rewriting, judging and embedding stay as they are."""

    def __init__(self, models: Models, name: str) -> None:
        self._models = models
        self._name = name

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        return await self._models.chat(role, name=name or (self._name if role == "answer" else ""))

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._models, attribute)


class ModelRegistry:
    """Implements `retrieval.engine.ports.Models`. Belongs to one event loop; opens no connection before its first
    call."""

    def __init__(self, settings: OllamaSettings) -> None:
        self._settings = settings
        self._connections: dict[ServerAddress, Connection] = {}
        self._builtin = BuiltinEmbedder()
        self._cache: VectorCache = VectorCache(MAX_QUERY_VECTORS)
        self._embedders: dict[EmbeddingSpace, ServedEmbedder] = {}
        self._dimensions: dict[ServedModel, int] = {}

    def _connection(self, role: Role) -> Connection:
        address = self._settings.server_of(role)
        if address not in self._connections:
            server = make_server(address, self._settings)
            self._connections[address] = Connection(server, limit=self._settings.max_concurrency)
        return self._connections[address]

    async def status(self) -> ModelStatus:
        """Never raises. `reason` also tells which of the configured models is missing."""
        if self._settings.offline == "1":
            return ModelStatus(reachable=False, offline_forced=True, reason=FORCED_OFFLINE)
        names: dict[Role, str] = {}
        problems: list[str] = []
        for role in ROLES:
            try:
                names[role] = self._choose(await self._listing(role), role).name
            except ModelUnavailableError as error:
                problems.append(error.reason)
        listing = await self._listing("answer")
        return ModelStatus(
            reachable=listing.failure is None,
            chat_model=names.get("answer", ""),
            fast_model=names.get("fast", ""),
            embed_model=names.get("embed", ""),
            chat_models=self._offered(listing),
            ignoring_format=self._ignoring_format(),
            reason=joined("; ", dict.fromkeys(problems)),
        )

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        """Raises ModelUnavailableError with the reason."""
        model = self._choose(await self._listing(role), role, name)
        connection = self._connection(role)
        return ServedChatModel(
            model,
            server=connection.server,
            breaker=connection.chat_breaker,
            settings=self._settings,
            habits=HABITS[connection.server.address, model.name],
        )

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        """Raises EmbeddingUnavailableError."""
        if space == BUILTIN_SPACE:
            return self._builtin
        try:
            self._choose(await self._listing("embed"), "embed", space.model)
        except ModelUnavailableError as error:
            raise EmbeddingUnavailableError(error.reason) from error
        return self._embedder(space)

    async def default_embedder(self) -> Embedder:
        """Raises EmbeddingUnavailableError with RAG_OFFLINE=0, for a named model that the server lacks, and while the
        server is too slow to list its models: what a new collection begins with, it keeps."""
        if self._settings.offline == "1":
            return self._builtin
        listing = await self._listing("embed")
        try:
            model = self._choose(listing, "embed")
        except ModelUnavailableError as error:
            is_named = bool(self._settings.embed_model) and not listing.failure
            if (
                self._settings.offline == "0"
                or is_named
                or isinstance(listing.failure, ModelTimeoutError)
            ):
                raise EmbeddingUnavailableError(error.reason) from error
            return self._builtin
        if model not in self._dimensions:
            unmeasured = self._embedder(EmbeddingSpace(model=model.name, dim=0))
            self._dimensions[model] = await unmeasured.measure()
        return self._embedder(EmbeddingSpace(model=model.name, dim=self._dimensions[model]))

    async def context_length(self, space: EmbeddingSpace) -> int | None:
        """As the server describes the model; what is longer it cuts off and says nothing. None: all, or not known."""
        if space == BUILTIN_SPACE or self._settings.offline == "1":
            return None
        model = (await self._listing("embed")).find(space.model)
        return model.context_length or None if model else None

    async def load(self) -> None:
        """Have the models loaded that write and judge. Raises ModelUnavailableError."""
        if self._settings.offline == "1":
            return
        for role in CHAT_ROLES:
            model = self._choose(await self._listing(role), role)
            server = self._connection(role).server
            async with server.in_time(LOAD_TIMEOUT_S):
                await server.load(model)

    def look_again(self) -> None:
        for connection in self._connections.values():
            connection.look_again()

    async def close(self) -> None:
        self._embedders.clear()
        for connection in self._connections.values():
            await connection.server.close()

    async def _listing(self, role: Role) -> Listing:
        if self._settings.offline == "1":
            return Listing(failure=ModelUnavailableError(FORCED_OFFLINE))
        if self._settings.server_of(role) not in self._connections:
            await load_kind(self._settings.server_of(role)[0])
        return await self._connection(role).listing()

    def _choose(self, listing: Listing, role: Role, name: str = "") -> ServedModel:
        """The named model, else the role's configured one, else the first that can do it.

        Raises ModelUnavailableError.
        """
        if listing.failure:
            raise ModelUnavailableError(listing.failure.reason)
        settings = self._settings
        chat_model = (
            settings.fast_model or settings.answer_model
            if role == "fast"
            else settings.answer_model
        )
        model_name = name or (settings.embed_model if role == "embed" else chat_model)
        fitting = [
            model
            for model in listing.models
            if (model.can_embed if role == "embed" else model.can_chat)
        ]
        if not model_name and not fitting:
            raise self._connection(role).server.missing("")
        model = listing.find(model_name) if model_name else fitting[0]
        if model is None:
            raise self._connection(role).server.missing(model_name)
        if model not in fitting:
            ability = worded("embed") if role == "embed" else worded("chat")
            raise ModelMissingError(
                worded("model '{wanted}' can't {how}", wanted=model_name, how=ability)
            )
        return model

    def _ignoring_format(self) -> tuple[str, ...]:
        servers = {connection.server.address for connection in self._connections.values()}
        habits = [(name, habit) for (server, name), habit in HABITS.items() if server in servers]
        return tuple(sorted({name for name, habit in habits if habit.ignores_format}))

    def _offered(self, listing: Listing) -> tuple[str, ...]:
        """Those that can chat and that the site allows, the one that answers by itself first."""
        models = [model.name for model in listing.models if model.can_chat]
        allowed = [canonical(name) for name in self._settings.chat_models]
        if not allowed:
            return tuple(models)
        return tuple(
            sorted(
                (m for m in models if canonical(m) in allowed),
                key=lambda m: allowed.index(canonical(m)),
            )
        )

    def _embedder(self, space: EmbeddingSpace) -> ServedEmbedder:
        if space not in self._embedders:
            self._embedders[space] = ServedEmbedder(
                space,
                server=self._connection("embed").server,
                breaker=self._connection("embed").embed_breaker,
                cache=self._cache,
                timeout_s=self._settings.embed_timeout_s,
            )
        return self._embedders[space]
