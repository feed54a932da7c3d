"""The site's models, with another one to write the answer."""

from __future__ import annotations

from typing import Any, Literal

from retrieval.ports import ChatModel, Models


class ChosenModel:
    """`retrieval.ports.Models`: `name` writes the answers; rewriting, judging and embedding stay as they are."""

    def __init__(self, models: Models, name: str) -> None:
        self._models, self._name = models, name

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        return await self._models.chat(role, name=name or (self._name if role == "answer" else ""))

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._models, attribute)
