"""Calls of models, and what an answer cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from retrieval.engine.ports import Prompt


@dataclass(slots=True)
class ModelCall:
    """One call of a chat or embedding model. Times in ms since the run began."""

    kind: Literal["chat", "embed"]
    model: str
    prompt_name: str = ""
    prompt_hash: str = ""
    prompt: Prompt | None = None  # as it was filled; not a part of the path
    asked_ms: float | None = None  # where it waited in a queue of ours: since when
    started_ms: float = 0.0
    ended_ms: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefill_ms: float | None = None  # as the server tells: reading the prompt
    generation_ms: float | None = None  # and writing the answer
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "model": self.model,
            "prompt": self.prompt_name,
            "prompt_hash": self.prompt_hash,
            "started_ms": round(self.started_ms),
            "ended_ms": None if self.ended_ms is None else round(self.ended_ms),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "error": self.error,
            "prefill_ms": None if self.prefill_ms is None else round(self.prefill_ms),
            "generation_ms": None if self.generation_ms is None else round(self.generation_ms),
        }


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost. llm_rounds: calls on the longest chain before the first token."""

    llm_calls: int
    llm_rounds: int
    prompt_tokens: int
    completion_tokens: int
    first_token_ms: int | None
    total_ms: int

    def as_dict(self) -> dict[str, int | None]:
        return asdict(self)


def longest_chain(calls: Sequence[ModelCall], *, until_ms: float | None = None) -> int:
    """The most calls that ran one after the other, counting those begun before `until_ms` (the first token).

    Calls that overlap are one round; so are those that were ready together and waited in a queue of ours. Greedy by
    earliest end, which is optimal for disjoint intervals.
    """
    spans = sorted(
        (
            call.ended_ms if call.ended_ms is not None else float("inf"),
            call.started_ms if call.asked_ms is None else call.asked_ms,
        )
        for call in calls
        if until_ms is None or call.started_ms <= until_ms
    )
    rounds = 0
    free_from = -1.0
    for ended, started in spans:
        if started >= free_from:
            rounds = rounds + 1
            free_from = ended
    return rounds
