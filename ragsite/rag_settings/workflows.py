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


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCorrectiveSettings:
    """Every document graded by itself, and searched again in other words (seed 000)."""

    top_k: int = 5  # documents that a search gives the grader
    # cosine below which a document that only the vectors found is left out; not used with the lexical embedder
    min_similarity: float = 0.3
    pass_rate: float = 0.6  # share of relevant documents from which it is answered
    strict_pass_rate: float = 0.8  # the same for the strict preset of the page
    relaxed_pass_rate: float = 0.4  # and for the relaxed one
    max_rewrites: int = 3  # searches in other words; then it answers from what passed
    rewrites_limit: int = 5  # the most that a request may ask for
    # searches in a row that bring nothing new that passes, after which it answers from what has passed
    stagnant_rewrites: int = 2
    rewrite_prompt: str = "retry_rewrite"  # its file in retrieval/prompts
    timeout_s: float = 180.0  # a whole answer
    # addresses that `milvusConfig.address` may name, with commas: all of them mean this site's own index, and none is
    # ever connected to
    allowed_addresses: str = ""

    def __post_init__(self) -> None:
        for name in ("min_similarity", "pass_rate", "strict_pass_rate", "relaxed_pass_rate"):
            check(0 <= getattr(self, name) <= 1, f"{name} must be in 0..1")
        check(1 <= self.top_k <= 50, f"top_k={self.top_k} is not in 1..50")
        check(0 <= self.max_rewrites <= self.rewrites_limit <= 10, "max_rewrites must be in 0..rewrites_limit")
        check(self.stagnant_rewrites >= 1, "stagnant_rewrites must be at least 1")
        check(self.timeout_s > 0, "timeout_s must be positive")
