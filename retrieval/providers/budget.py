"""Fitting prompts into the model's context length.

Ollama cuts a prompt that is too long without a word: the oldest messages go first, then the prompt's beginning, where
the instructions stand. So prompts are measured here before they are sent, and one that would not fit is refused.
"""

from __future__ import annotations

from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt
from retrieval.text.tokens import estimate_tokens

TEMPLATE_TOKENS = 64  # role marks and the like that the model's chat template adds around the messages


def prompt_budget(*, num_ctx: int, max_answer_tokens: int, context_length: int | None = None) -> int:
    """Tokens that a prompt may have. `context_length`: what the model was trained for; the server goes no further."""
    window = min(num_ctx, context_length or num_ctx)
    answer = min(max_answer_tokens, window // 2)
    return max(0, window - answer - TEMPLATE_TOKENS)


def prompt_tokens(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def require_fit(name: str, tokens: int, *, budget: int, num_ctx: int) -> None:
    """Raises ModelOutputError for a prompt that the server would cut."""
    if tokens > budget:
        raise ModelOutputError(
            f"prompt {name} has about {tokens} tokens, and only {budget} fit beside the answer"
            f" (context length {num_ctx})"
        )
