"""The site's models, with another one to write the answer."""

from __future__ import annotations

from typing import Literal

from retrieval.ports import ChatModel, Embedder, Models, ModelStatus
from retrieval.values import EmbeddingSpace


class ChosenModel:
    """`retrieval.ports.Models`: `name` writes the answers; rewriting, judging and embedding stay as they are."""

    def __init__(self, models: Models, name: str) -> None:
        self._models = models
        self._name = name

    async def status(self, *, refresh: bool = False) -> ModelStatus:
        return await self._models.status(refresh=refresh)

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        return await self._models.chat(role, name=name or (self._name if role == "answer" else ""))

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        return await self._models.embedder(space)

    async def default_embedder(self) -> Embedder:
        return await self._models.default_embedder()

    async def context_length(self, space: EmbeddingSpace) -> int | None:
        return await self._models.context_length(space)

    async def close(self) -> None:
        """They belong to the engine."""
