"""The workflows: thresholds, attempts, time limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragsite.core.rag_settings.fields import check


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectiveSettings:
    """The default workflow (seed 003). Thresholds are probabilities, 0-1."""

    good_score: float = 0.6  # P(the documents hold the answer), or a model's best score, at or above it: ANSWER
    weak_score: float = 0.4  # below it, after refining: NO_ANSWER
    max_refine_rounds: int = 3  # searches again before it gives up
    history_messages: int = 20  # of the session that are looked back at
    history_tokens: int = 1500  # and their length together
    context_passages: int = 6  # given to the answering model
    position: Literal["top_first", "sandwich"] = "top_first"  # where the best passages stand in the prompt
    clear_score: float = 0.7  # a first search that the trained grader puts at or above it needs no better queries
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSettings:
    """The workflow that plans (seed 002 §8). Scores are 0-1."""

    enabled: bool = True  # off: its questions are answered by the corrective workflow, which the path says
    max_retries: int = 2  # times that the plan is mended after a reflection
    timeout_s: float = 180.0  # a whole answer
    planner_model: str = ""  # makes the plan; empty: the fast model
    max_tasks: int = 8  # of one plan
    max_concurrency: int = 4  # tasks at once
    task_timeout_s: float = 45.0  # one task
    pass_score: float = 0.8  # a reflection at or above it: answer
    retry_score: float = 0.5  # below it another way is tried; between the two the search is tuned
    relevance_weight: float = 0.5  # of the reflection's score
    completeness_weight: float = 0.3  # of the reflection's score
    factuality_weight: float = 0.2  # of the reflection's score
    low_average: float = 0.5  # average score of the passages below it: reword, more candidates
    low_coverage: float = 0.6  # completeness below it: search wider, more queries
    absent_score: float = 0.3  # all passages below it: the documents do not hold it, so the web is searched
    max_age_years: int = 3  # a question about today's state whose newest passage is older is outdated
    check_answer: bool = True  # show the answer once a statement of it is borne out; else search again

    def __post_init__(self) -> None:
        check(self.max_retries >= 0, "max_retries must not be negative")
        check(self.timeout_s > 0, "timeout_s must be positive")
        check(1 <= self.max_tasks <= 20, f"max_tasks={self.max_tasks} is not in 1..20")
        check(self.max_concurrency >= 1, "max_concurrency must be at least 1")
        check(0 <= self.retry_score <= self.pass_score <= 1, "retry_score and pass_score: need 0 <= retry <= pass <= 1")
        total = self.relevance_weight + self.completeness_weight + self.factuality_weight
        check(abs(total - 1) < 1e-6, "relevance_weight, completeness_weight and factuality_weight must add up to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """What is remembered of earlier answers, per user (seed 001). Each user may switch it off for themselves."""

    enabled: bool = True  # for users who have not said otherwise
    max_per_user: int = 200  # facts; beyond it, the one that was of no use for longest is forgotten
    recalled: int = 4  # facts at most that an answer is begun with
    min_similarity: float = 0.5  # cosine, from which a fact is near enough to the question
    min_coverage: float = 0.5  # or the share of the question's words that it holds, rare ones counting more
    near_duplicate: float = 0.95  # cosine of two facts, from which the newer one takes the older one's place
    near_duplicate_terms: float = 0.8  # the same as the share of their words that both hold
    max_chars: int = 400  # of one fact
    timeout_s: float = 2.0  # looking for facts by meaning; by words, or writing one down, may take twice as long
    prompt: str = "consolidate"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        check(self.max_per_user >= 1, "max_per_user must be at least 1")
        check(0 <= self.recalled <= 20, f"recalled={self.recalled} is not in 0..20")
        check(80 <= self.max_chars <= 2000, f"max_chars={self.max_chars} is not in 80..2000")
        for name in ("min_similarity", "min_coverage", "near_duplicate", "near_duplicate_terms"):
            check(0 < getattr(self, name) <= 1, f"{name} must be above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class DualLoopSettings:
    """The workflow with two loops (seed 001). Search and answer numbers are those of the default workflow."""

    max_corrections: int = 2  # times that a rejected answer is searched and written anew
    good_answer: float = 0.6  # a grade at or above it: the answer is accepted, 0-1
    timeout_s: float = 240.0  # a whole answer
    route_prompt: str = "dual_loop_route"  # its file in retrieval/prompts
    rewrite_prompt: str = "corrective_rewrite"  # its file in retrieval/prompts
    grade_prompt: str = "grade_answer"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        check(0 <= self.max_corrections <= 5, f"max_corrections={self.max_corrections} is not in 0..5")
        check(0 < self.good_answer <= 1, "good_answer must be above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactSettings:
    """The workflow that rewrites its query until what it finds is enough (seed 004)."""

    short_query_chars: int = 10  # a shorter question is rewritten before it is searched for
    max_rewrites: int = 2  # the one before the first search included
    top_k: int = 5  # passages that the evaluator is shown
    rewrite_prompt: str = "query_rewriter"  # its file in retrieval/prompts
    evaluate_prompt: str = "sufficiency"  # its file in retrieval/prompts
    timeout_s: float = 180.0  # a whole answer

    def __post_init__(self) -> None:
        check(self.short_query_chars >= 0, "short_query_chars must not be negative")
        check(0 <= self.max_rewrites <= 5, f"max_rewrites={self.max_rewrites} is not in 0..5")
        check(1 <= self.top_k <= 50, f"top_k={self.top_k} is not in 1..50")
        check(self.timeout_s > 0, "timeout_s must be positive")
