"""The models that can be used at this moment: found by capability, or named in the settings; or none.

| RAG_OFFLINE | server not there | server there |
|---|---|---|
| `auto` | no chat model; new collections get the lexical embedder | its models |
| `0` | errors, also for new collections | its models |
| `1` | as `auto` without a server: it is never called | as `auto` without a server |

A server that is there but silent, as it is busy, goes on with the models that it listed last; before it has listed any,
models that the settings name are called all the same, and new collections wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ragsite.core.rag_settings import OllamaSettings
from ragsite.core.wording import Sentence, joined, worded
from retrieval.errors import EmbeddingUnavailableError, ModelUnavailableError
from retrieval.ports import ChatModel, Embedder, ModelStatus
from retrieval.providers import server
from retrieval.providers.breaker import ModelMissingError
from retrieval.providers.discovery import (
    FRESHER_WAIT_S,
    RETRY_WAIT_S,
    Discovery,
    InstalledModel,
    Snapshot,
    canonical,
)
from retrieval.providers.failures import not_installed
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.providers.lexical import LexicalEmbedder
from retrieval.providers.server import OllamaServer
from retrieval.providers.vectors import QUERY_VECTORS_KEPT, VectorCache
from retrieval.trace import note_models
from retrieval.values import EmbeddingSpace

if TYPE_CHECKING:
    from retrieval.providers.ollama import OllamaChatModel, OllamaEmbedder

FORCED_OFFLINE = worded("offline mode is switched on (RAG_OFFLINE=1)")
NO_CHAT_MODEL = worded("Ollama has no chat model: ollama pull one, e.g. qwen3:4b")
NO_EMBED_MODEL = worded("Ollama has no embedding model: ollama pull one, e.g. bge-m3")


def thinks_anyway(model: str) -> Sentence:
    return worded(
        "model '{model}' can't be told not to think: answers take longer; choose another with RAG_CHAT_MODEL",
        model=model,
    )


class ModelSilentError(ModelUnavailableError):
    """The server is there, but has not listed its models yet."""


class ModelRegistry:
    """Implements `retrieval.ports.Models`. Belongs to one event loop; opens no connection before its first call."""

    def __init__(self, settings: OllamaSettings) -> None:
        self._settings = settings
        self._server = OllamaServer(settings)
        self._discovery = Discovery(self._server)
        self._lexical = LexicalEmbedder()
        self._cache = VectorCache(QUERY_VECTORS_KEPT)
        self._chat_models: dict[InstalledModel, OllamaChatModel] = {}
        self._embedders: dict[EmbeddingSpace, OllamaEmbedder] = {}
        self._dimensions: dict[InstalledModel, int] = {}

    async def status(self, *, refresh: bool = False) -> ModelStatus:
        """Never raises. `reason` also tells which of the configured models is missing."""
        if self._settings.offline == "1":
            return ModelStatus(reachable=False, offline_forced=True, reason=FORCED_OFFLINE)
        snapshot = await self._discovery.snapshot(refresh=refresh, wait_s=RETRY_WAIT_S)
        names: dict[str, str] = {}
        warnings: list[str] = []
        problems: list[str] = [snapshot.reason] if snapshot.reason else []
        for role in ("answer", "fast", "embed"):
            try:
                model = self._choose(snapshot, role)
                names[role] = model.name
                if role != "embed" and await self._thinks_anyway(model):
                    warnings.append(thinks_anyway(model.name))
            except ModelUnavailableError as error:
                problems.append(error.reason)
        return ModelStatus(
            reachable=snapshot.reachable,
            chat_model=names.get("answer", ""),
            fast_model=names.get("fast", ""),
            embed_model=names.get("embed", ""),
            models=tuple(model.name for model in snapshot.models),
            chat_models=self._chat_models_of(snapshot),
            reason=joined("; ", dict.fromkeys(problems)),
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _chat_models_of(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Those that can chat and that the site allows, the one that answers by itself first."""
        allowed = [canonical(name).lower() for name in self._settings.chat_models]
        names = [model.name for model in snapshot.models if snapshot.reachable and model.can_chat]
        if not allowed:
            return tuple(names)
        return tuple(
            sorted((name for name in names if name.lower() in allowed), key=lambda n: allowed.index(n.lower()))
        )

    async def _thinks_anyway(self, model: InstalledModel) -> bool:
        """By its description, or by what it has shown."""
        told = model.thinks and (await self._discovery.details(model)).always_thinks
        return told or self._server.habits(model.name).thinks_anyway

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        """Raises ModelUnavailableError with the reason."""
        model = self._choose(await self._snapshot(role, name), role, name)
        known = self._chat_models.get(model)
        if known is None:
            details = await self._discovery.details(model)
            from retrieval.providers.ollama import OllamaChatModel  # with LangChain: 36 MiB and a second, if it is used

            known = OllamaChatModel(
                model.name,
                server=self._server,
                thinking=model.thinks,
                always_thinks=details.always_thinks,
                context_length=details.context_length,
            )
            if details.context_length:
                self._chat_models[model] = known
        return known

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        """Raises EmbeddingUnavailableError."""
        if space == LEXICAL_SPACE:
            return self._lexical
        try:
            snapshot = await self._snapshot("embed", space.model)
            if snapshot.reachable and snapshot.find(space.model) is None:
                raise EmbeddingUnavailableError(not_installed(space.model))
        except ModelUnavailableError as error:
            raise EmbeddingUnavailableError(error.reason) from error
        return self._embedder(space)

    async def default_embedder(self) -> Embedder:
        """Raises EmbeddingUnavailableError with RAG_OFFLINE=0, for a named model that a reachable server lacks, and
        while the server is silent: what a new collection begins with, it keeps."""
        try:
            model = self._choose(await self._snapshot("embed"), "embed")
        except ModelUnavailableError as error:
            wrongly_named = isinstance(error, ModelMissingError) and bool(self._settings.embed_model)
            if self._settings.offline == "0" or wrongly_named or isinstance(error, ModelSilentError):
                raise EmbeddingUnavailableError(error.reason) from error
            return self._lexical
        return self._embedder(EmbeddingSpace(model=model.name, dim=await self._dimension(model)))

    async def context_length(self, space: EmbeddingSpace) -> int | None:
        """As Ollama describes the model; what is longer it cuts off and says nothing. None: all, or not known."""
        if space == LEXICAL_SPACE:
            return None
        try:
            model = (await self._snapshot("embed", space.model)).find(space.model)
        except ModelUnavailableError:
            return None
        if model is None:
            return None
        return (await self._discovery.details(model, wait_s=server.DISCOVERY_TIMEOUT_S)).context_length

    async def close(self) -> None:
        self._chat_models.clear()
        self._embedders.clear()
        await self._discovery.close()
        await self._server.close()

    async def _snapshot(self, role: str, name: str = "") -> Snapshot:
        """What is known of the server. Raises ModelUnavailableError when there is none to call.

        Not reachable, but silent: only for a model with a name, which need not be looked up to be tried.
        """
        if self._settings.offline == "1":
            raise ModelUnavailableError(FORCED_OFFLINE)
        named = bool(self._wanted(role, name))
        snapshot = await self._discovery.snapshot(wait_s=FRESHER_WAIT_S if named else None)
        if snapshot.silent:
            note_models(snapshot.reason)
        if not snapshot.reachable and not (snapshot.silent and named):
            kind = ModelSilentError if snapshot.silent else ModelUnavailableError
            raise kind(snapshot.reason)
        return snapshot

    def _wanted(self, role: str, name: str) -> str:
        """The model's name, if the caller or the settings say one."""
        settings = self._settings
        by_role = {
            "answer": settings.answer_model,
            "fast": settings.fast_model or settings.answer_model,
            "embed": settings.embed_model,
        }
        return name or by_role[role]

    def _choose(self, snapshot: Snapshot, role: str, name: str = "") -> InstalledModel:
        """The named model, else the role's configured one, else the first that can do it. Raises ModelMissingError."""
        wanted = self._wanted(role, name)
        can = "embedding" if role == "embed" else "completion"
        if wanted and not snapshot.reachable and snapshot.silent:
            return InstalledModel(canonical(wanted), digest="", capabilities=frozenset({can}))
        fitting = [model for model in snapshot.models if (model.can_embed if role == "embed" else model.can_chat)]
        if not wanted:
            if not fitting:
                raise ModelMissingError(NO_EMBED_MODEL if role == "embed" else NO_CHAT_MODEL)
            return fitting[0]
        model = snapshot.find(wanted)
        if model is None:
            raise ModelMissingError(not_installed(wanted))
        if model not in fitting:
            raise ModelMissingError(
                worded(
                    "model '{wanted}' can't {how}",
                    wanted=wanted,
                    how=(worded("embed") if role == "embed" else worded("chat")),
                )
            )
        return model

    def _embedder(self, space: EmbeddingSpace) -> OllamaEmbedder:
        if space not in self._embedders:
            self._embedders[space] = self._make_embedder(space)
        return self._embedders[space]

    def _make_embedder(self, space: EmbeddingSpace) -> OllamaEmbedder:
        from retrieval.providers.ollama import OllamaEmbedder

        return OllamaEmbedder(space, server=self._server, cache=self._cache)

    async def _dimension(self, model: InstalledModel) -> int:
        if model not in self._dimensions:
            unmeasured = self._make_embedder(EmbeddingSpace(model=model.name, dim=0))
            self._dimensions[model] = await unmeasured.measure()
        return self._dimensions[model]
