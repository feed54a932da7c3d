"""The workflows: thresholds, attempts, time limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragsite.rag_settings.fields import check


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectiveSettings:
    """The default workflow (seed 003). Thresholds are probabilities, 0-1."""

    good_score: float = 0.6  # a best passage at or above it: ANSWER
    weak_score: float = 0.3  # below it, after refining: NO_ANSWER
    max_refine_rounds: int = 3  # searches again before it gives up
    history_messages: int = 20  # of the session that are looked back at
    history_tokens: int = 1500  # and their length together
    context_passages: int = 6  # given to the answering model
    position: Literal["top_first", "sandwich"] = "top_first"  # where the best passages stand in the prompt
    clear_score: float = 0.8  # a first search that the model-free grader puts at or above it needs no better queries
    head_start_s: float = 0.15  # given to the first search before calls that would improve on its words begin
    max_rounds: int = 3  # model rounds before the first token
    extractive_sentences: int = 4  # of an answer that no model wrote
    boost_timeout_s: float = 2.0  # waiting for what ratings say
    timeout_s: float = 180.0  # a whole answer

    def __post_init__(self) -> None:
        check(0 <= self.weak_score <= self.good_score <= 1, "need 0 <= weak_score <= good_score <= 1")
