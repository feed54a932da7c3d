"""Fitting prompts into the model's context length.

Ollama cuts a prompt that is too long without a word: the oldest messages go first, then the prompt's beginning, where
the instructions stand. So prompts are measured here before they are sent, what is left out is reported, and a prompt
that still would not fit is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt
from retrieval.text.tokens import estimate_tokens
from retrieval.values import HistoryMessage

T = TypeVar("T")
TEMPLATE_TOKENS = 64  # role marks and the like that the model's chat template adds around the messages


@dataclass(frozen=True, slots=True)
class Fitted(Generic[T]):
    """What fits, in its first order, and what was left out. `tokens`: the estimate for what was kept."""

    kept: tuple[T, ...]
    dropped: tuple[T, ...]
    tokens: int

    def note(self, noun: str) -> str:
        """For the decision path, e.g. "2 of 6 passages left out: the context is full"; empty when all fit."""
        if not self.dropped:
            return ""
        return f"{len(self.dropped)} of {len(self.kept) + len(self.dropped)} {noun} left out: the context is full"


def prompt_budget(*, num_ctx: int, max_answer_tokens: int, context_length: int | None = None) -> int:
    """Tokens that a prompt may have. `context_length`: what the model was trained for; the server goes no further."""
    window = min(num_ctx, context_length or num_ctx)
    answer = min(max_answer_tokens, window // 2)
    return max(0, window - answer - TEMPLATE_TOKENS)


def prompt_tokens(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def fit_passages(passages: Sequence[T], *, tokens: int, text: Callable[[T], str]) -> Fitted[T]:
    """Keep passages, best first, while they fit; one that is too long is left out and shorter ones after it go in."""
    kept: list[T] = []
    dropped: list[T] = []
    used = 0
    for passage in passages:
        cost = estimate_tokens(text(passage))
        if used + cost <= tokens:
            kept.append(passage)
            used += cost
        else:
            dropped.append(passage)
    return Fitted(tuple(kept), tuple(dropped), used)


def fit_history(history: Sequence[HistoryMessage], *, tokens: int) -> Fitted[HistoryMessage]:
    """Keep the newest messages, without a gap."""
    used, first = 0, len(history)
    while first > 0:
        cost = estimate_tokens(history[first - 1].text)
        if used + cost > tokens:
            break
        used += cost
        first -= 1
    return Fitted(tuple(history[first:]), tuple(history[:first]), used)


def require_fit(name: str, tokens: int, *, budget: int, num_ctx: int) -> None:
    """Raises ModelOutputError for a prompt that the server would cut."""
    if tokens > budget:
        raise ModelOutputError(
            f"prompt {name} has about {tokens} tokens, and only {budget} fit beside the answer"
            f" (context length {num_ctx})"
        )
