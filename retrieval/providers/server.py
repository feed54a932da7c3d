"""What the site needs of a model server; each kind has one module that implements it (`ollama`, `openai`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from retrieval.errors import ModelMissingError

Message = tuple[Literal["system", "human", "ai"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model that a server lists. context_length: tokens it was trained for; 0: the server doesn't say."""

    name: str
    can_chat: bool = False
    can_embed: bool = False
    can_think: bool = False  # it writes thoughts before its answer unless told not to
    context_length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """What is asked of a chat model. max_tokens: of the reply. schema: JSON schema that the reply is held to.

    is_judgement: the likeliest token each time, and in one piece, as nobody reads the reply before it is whole.
    """

    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    is_judgement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChunk:
    """A piece of a reply. end: "stop" or "length", with the last piece; counts and times (ms) come with it."""

    text: str = ""
    end: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefill_ms: float | None = None
    generation_ms: float | None = None


class ModelServer(Protocol):
    """Belongs to one event loop. Raises the `ModelError`s of `retrieval.errors`, nothing else.

    label: its name for people; address: host and port for people, never a password.
    """

    label: str
    address: str

    def missing(self, name: str) -> ModelMissingError:
        """What to say where there is no model of this name, or ("") none that fits; with what mends it."""
        ...

    async def models(self) -> tuple[ServedModel, ...]:
        """All that it has. Raises ModelTimeoutError where it is too slow to list them."""
        ...

    def chat(self, model: ServedModel, call: ChatCall) -> AsyncGenerator[ChatChunk, None]:
        """The reply; closing it closes the connection, which stops the model. Its caller watches the time."""
        ...

    async def embed(self, model: str, texts: list[str]) -> list[list[float]]:
        """One vector for each text, in order. Its caller watches the time."""
        ...

    async def close(self) -> None: ...


def canonical(name: str) -> str:
    """The same for all ways to write a model's name: one without a tag means `:latest`."""
    return name.lower().removesuffix(":latest")
