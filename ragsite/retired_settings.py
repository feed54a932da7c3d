"""Variables of the version before. Those that are constants now still work in this version; those whose behaviour is
gone are passed over. Either way a warning at start says so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ragsite.core.rag_settings.fields import (
    Address,
    Count,
    Number,
    PositiveShare,
    Seconds,
    SettingsError,
    Share,
    WholeNumber,
    sentence,
)

logger = logging.getLogger(__name__)

RETIRED: dict[str, tuple[str, Any]] = {  # variable → `module:constant`, and what it may be
    "RAG_OLLAMA_CONNECT_TIMEOUT_S": ("retrieval.providers.server:CONNECT_TIMEOUT_S", Number),
    "RAG_OLLAMA_BETWEEN_TOKENS_TIMEOUT_S": ("retrieval.providers.ollama:BETWEEN_TOKENS_TIMEOUT_S", Number),
    "RAG_OLLAMA_STREAM_TIMEOUT_S": ("retrieval.providers.ollama:STREAM_TIMEOUT_S", Number),
    "RAG_OLLAMA_DISCOVERY_TTL_S": ("retrieval.providers.discovery:DISCOVERY_TTL_S", Number),
    "RAG_OLLAMA_DISCOVERY_TIMEOUT_S": ("retrieval.providers.server:DISCOVERY_TIMEOUT_S", Number),
    "RAG_OLLAMA_DISCOVERY_BELIEVED_S": ("retrieval.providers.discovery:DISCOVERY_BELIEVED_S", Number),
    "RAG_OLLAMA_BREAKER_FAILURES": ("retrieval.providers.server:BREAKER_FAILURES", Count),
    "RAG_OLLAMA_BREAKER_RESET_S": ("retrieval.providers.server:BREAKER_RESET_S", Number),
    "RAG_OLLAMA_TEMPERATURE": ("retrieval.providers.ollama:TEMPERATURE", Number),
    "RAG_OLLAMA_EMBED_BATCH_SIZE": ("retrieval.providers.batches:EMBED_BATCH_SIZE", Count),
    "RAG_OLLAMA_BUSY_RETRY_S": ("retrieval.providers.ollama:BUSY_RETRY_S", Number),
    "RAG_MILVUS_TIMEOUT_S": ("retrieval.search.index.connection:TIMEOUT_S", Number),
    "RAG_MILVUS_WRITE_TIMEOUT_S": ("retrieval.search.index.milvus:WRITE_TIMEOUT_S", Number),
    "RAG_MILVUS_CONNECT_TIMEOUT_S": ("retrieval.search.index.connection:CONNECT_TIMEOUT_S", Number),
    "RAG_MILVUS_HNSW_M": ("retrieval.search.index.schema:HNSW_M", Count),
    "RAG_MILVUS_HNSW_EF_CONSTRUCTION": ("retrieval.search.index.schema:HNSW_EF_CONSTRUCTION", Count),
    "RAG_MILVUS_HNSW_EF": ("retrieval.search.index.milvus:HNSW_EF", Count),
    "RAG_MILVUS_WRITE_BATCH_SIZE": ("retrieval.search.index.milvus:WRITE_BATCH_SIZE", Count),
    "RAG_INGEST_SUMMARY_TOKENS": ("retrieval.ingest.reader:SUMMARY_TOKENS", Count),
    "RAG_INGEST_MAX_PAGES": ("retrieval.ingest.reader:MAX_PAGES", Count),
    "RAG_INGEST_MAX_CHUNKS": ("retrieval.ingest.reader:MAX_CHUNKS", Count),
    "RAG_INGEST_PARSE_TIMEOUT_S": ("retrieval.ingest.reader:PARSE_TIMEOUT_S", Number),
    "RAG_INGEST_PARSE_MEMORY_MIB": ("retrieval.ingest.reader:PARSE_MEMORY_MIB", Count),
    "RAG_INGEST_PARSE_OUTPUT_MIB": ("retrieval.ingest.reader:PARSE_OUTPUT_MIB", Count),
    "RAG_INGEST_MAX_UNPACKED_MIB": ("retrieval.ingest.reader:MAX_UNPACKED_MIB", Count),
    "RAG_INGEST_MAX_TEXT_CHARS": ("retrieval.ingest.reader:MAX_TEXT_CHARS", Count),
    "RAG_INGEST_MAX_CELLS": ("retrieval.ingest.reader:MAX_CELLS", Count),
    "RAG_INGEST_TURN_S": ("retrieval.services.ingest:TURN_S", Number),
    "RAG_INGEST_LEASE_S": ("retrieval.services.ingest_jobs:LEASE_S", Number),
    "RAG_INGEST_MAX_ATTEMPTS": ("retrieval.services.ingest_jobs:MAX_ATTEMPTS", Count),
    "RAG_INGEST_MAX_WAITS": ("retrieval.services.ingest_jobs:MAX_WAITS", WholeNumber),
    "RAG_INGEST_RETRY_FIRST_S": ("retrieval.services.ingest_jobs:RETRY_FIRST_S", Number),
    "RAG_INGEST_RETRY_LAST_S": ("retrieval.services.ingest_jobs:RETRY_LAST_S", Number),
    "RAG_INGEST_REQUEUE_AFTER_S": ("retrieval.services.documents:REQUEUE_AFTER_S", Number),
    "RAG_INGEST_DEFAULT_COLLECTION": ("retrieval.services.documents:DEFAULT_COLLECTION", str),
    "RAG_INGEST_PERSONAL_COLLECTION": ("retrieval.api.documents:PERSONAL_COLLECTION", str),
    "RAG_SEARCH_WINDOW_MULTIPLIER": ("retrieval.search.hybrid:WINDOW_MULTIPLIER", Count),
    "RAG_SEARCH_SHORT_WINDOW_MULTIPLIER": ("retrieval.search.hybrid:SHORT_WINDOW_MULTIPLIER", Count),
    "RAG_SEARCH_SHORT_QUERY_TERMS": ("retrieval.search.space_fusion:SHORT_QUERY_TERMS", WholeNumber),
    "RAG_SEARCH_DENSE_WEIGHT": ("retrieval.search.space_fusion:SEED_DENSE_WEIGHT", Number),
    "RAG_SEARCH_BM25_WEIGHT": ("retrieval.search.space_fusion:SEED_BM25_WEIGHT", Number),
    "RAG_SEARCH_ZSCORE_BM25_WEIGHT": ("retrieval.search.space_fusion:ZSCORE_BM25_WEIGHT", Number),
    "RAG_SEARCH_LEAST_DENSE_TRUST": ("retrieval.search.space_fusion:LEAST_DENSE_TRUST", Share),
    "RAG_SEARCH_VARIANT_FUSION": ("retrieval.search.space_fusion:VARIANT_FUSION", Literal["mean", "rrf"]),
    "RAG_SEARCH_RRF_K": ("retrieval.search.fusion:RRF_K", Count),
    "RAG_SEARCH_BM25_K1": ("retrieval.search.index.schema:BM25_K1", Number),
    "RAG_SEARCH_BM25_B": ("retrieval.search.index.schema:BM25_B", Number),
    "RAG_SEARCH_BOOST_WINDOW": ("retrieval.search.hybrid:BOOST_WINDOW", WholeNumber),
    "RAG_SEARCH_HIERARCHICAL_DOCUMENTS": ("retrieval.search.hybrid:HIERARCHICAL_DOCUMENTS", Count),
    "RAG_SEARCH_TIMEOUT_S": ("retrieval.search.hybrid:SEARCH_TIMEOUT_S", Number),
    "RAG_ROUTE_PROMPT": ("retrieval.steps.query.route:PROMPT", str),
    "RAG_REWRITE_VARIANTS": ("retrieval.steps.query.query_rewriter:VARIANTS", Annotated[int, Field(ge=1, le=8)]),
    "RAG_REWRITE_PROMPT": ("retrieval.steps.query.query_rewriter:REWRITE_PROMPT", str),
    "RAG_HYDE_PROMPT": ("retrieval.steps.query.hyde:PROMPT", str),
    "RAG_STEP_BACK_ENABLED": ("retrieval.steps.query.transform:STEP_BACK_ENABLED", bool),
    "RAG_DECOMPOSE_ENABLED": ("retrieval.steps.query.transform:DECOMPOSE_ENABLED", bool),
    "RAG_STEP_BACK_PROMPT": ("retrieval.steps.query.transform:STEP_BACK_PROMPT", str),
    "RAG_DECOMPOSE_SUB_QUERIES": ("retrieval.steps.query.transform:SUB_QUERIES", Annotated[int, Field(ge=2, le=4)]),
    "RAG_DECOMPOSE_PROMPT": ("retrieval.steps.query.transform:DECOMPOSE_PROMPT", str),
    "RAG_DEDUPE_ENABLED": ("retrieval.steps.retrieve.dedupe:ENABLED", bool),
    "RAG_DEDUPE_NEAR_DUPLICATE": ("retrieval.steps.retrieve.dedupe:NEAR_DUPLICATE", PositiveShare),
    "RAG_DEDUPE_MERGE_TOKENS": ("retrieval.steps.retrieve.dedupe:MERGE_TOKENS", Count),
    "RAG_RERANK_SNIPPET_LENGTH": (
        "retrieval.steps.judge.evaluator:SNIPPET_LENGTH",
        Annotated[int, Field(ge=100, le=4000)],
    ),
    "RAG_RERANK_PROMPT": ("retrieval.steps.judge.judge:PROMPT", str),
    "RAG_RERANK_CRITERIA_PROMPT": ("retrieval.steps.judge.judge:CRITERIA_PROMPT", str),
    "RAG_RERANK_TIMEOUT_S": ("retrieval.providers.rerank_http:TIMEOUT_S", Number),
    "RAG_RERANK_MIN_SCORE": ("retrieval.steps.judge.judge:MIN_SCORE", Number),
    "RAG_RERANK_BOOST_SHARE": ("retrieval.steps.judge.evaluator:BOOST_SHARE", Number),
    "RAG_COMPRESS_THRESHOLD": ("retrieval.steps.retrieve.compress:THRESHOLD", Share),
    "RAG_COMPRESS_MIN_STRIPS": ("retrieval.steps.retrieve.compress:MIN_STRIPS", Count),
    "RAG_COMPRESS_NEIGHBOURS": ("retrieval.steps.retrieve.compress:NEIGHBOURS", Annotated[int, Field(ge=0, le=10)]),
    "RAG_COMPRESS_TOKEN_TARGET": ("retrieval.steps.retrieve.compress:TOKEN_TARGET", WholeNumber),
    "RAG_VERIFY_MAX_SENTENCES": ("retrieval.steps.grounding.verify:MAX_SENTENCES", Count),
    "RAG_VERIFY_PROMPT": ("retrieval.steps.grounding.verify:PROMPT", str),
    "RAG_GRADE_PROMPT": ("retrieval.steps.judge.grade:PROMPT", str),
    "RAG_GRADE_SNIPPET_LENGTH": ("retrieval.steps.judge.grade:SNIPPET_LENGTH", Annotated[int, Field(ge=100, le=8000)]),
    "RAG_GRADE_RELEVANT_SCORE": ("retrieval.steps.judge.grade:RELEVANT_SCORE", Annotated[float, Field(gt=0, lt=1)]),
    "RAG_GRADE_TIMEOUT_S": ("retrieval.steps.judge.grade:TIMEOUT_S", Seconds),
    "RAG_CORRECTIVE_HISTORY_MESSAGES": ("retrieval.text.quoting:HISTORY_MESSAGES", WholeNumber),
    "RAG_CORRECTIVE_HISTORY_TOKENS": ("retrieval.text.quoting:HISTORY_TOKENS", WholeNumber),
    "RAG_CORRECTIVE_POSITION": ("retrieval.steps.retrieve.order:POSITION", Literal["top_first", "sandwich"]),
    "RAG_CORRECTIVE_CLEAR_SCORE": ("retrieval.workflows.base:CLEAR_SCORE", Number),
    "RAG_CORRECTIVE_HEAD_START_S": ("retrieval.steps.toolbox:HEAD_START_S", Number),
    "RAG_CORRECTIVE_MAX_ROUNDS": ("retrieval.workflows.corrective:MAX_ROUNDS", Count),
    "RAG_CORRECTIVE_EXTRACTIVE_SENTENCES": ("retrieval.steps.answer.generate:EXTRACTIVE_SENTENCES", Count),
    "RAG_CORRECTIVE_BOOST_TIMEOUT_S": ("retrieval.search.boosting:BOOST_TIMEOUT_S", Number),
    "RAG_SELF_CORRECTIVE_TOP_K": ("retrieval.workflows.self_corrective:TOP_K", Annotated[int, Field(ge=1, le=50)]),
    "RAG_SELF_CORRECTIVE_MIN_SIMILARITY": ("retrieval.workflows.self_corrective:MIN_SIMILARITY", Share),
    "RAG_SELF_CORRECTIVE_STRICT_PASS_RATE": ("chat.views:STRICT_PASS_RATE", Share),
    "RAG_SELF_CORRECTIVE_RELAXED_PASS_RATE": ("chat.views:RELAXED_PASS_RATE", Share),
    "RAG_SELF_CORRECTIVE_REWRITES_LIMIT": (
        "retrieval.workflows.self_corrective:REWRITES_LIMIT",
        Annotated[int, Field(ge=0, le=10)],
    ),
    "RAG_SELF_CORRECTIVE_STAGNANT_REWRITES": ("retrieval.workflows.self_corrective:STAGNANT_REWRITES", Count),
    "RAG_SELF_CORRECTIVE_REWRITE_PROMPT": ("retrieval.steps.query.query_rewriter:RETRY_PROMPT", str),
    "RAG_SELF_CORRECTIVE_TIMEOUT_S": ("retrieval.workflows.self_corrective:TIMEOUT_S", Seconds),
    "RAG_DUAL_LOOP_MAX_CORRECTIONS": (
        "retrieval.workflows.dual_loop.workflow:MAX_CORRECTIONS",
        Annotated[int, Field(ge=0, le=5)],
    ),
    "RAG_REACT_MAX_REWRITES": ("retrieval.workflows.react:MAX_REWRITES", Annotated[int, Field(ge=0, le=5)]),
    "RAG_DUAL_LOOP_TIMEOUT_S": ("retrieval.workflows.dual_loop.workflow:TIMEOUT_S", Number),
    "RAG_DUAL_LOOP_ROUTE_PROMPT": ("retrieval.workflows.dual_loop.strategy:PROMPT", str),
    "RAG_DUAL_LOOP_REWRITE_PROMPT": ("retrieval.steps.query.query_rewriter:CORRECTIVE_PROMPT", str),
    "RAG_DUAL_LOOP_GRADE_PROMPT": ("retrieval.workflows.dual_loop.answer_grade:PROMPT", str),
    "RAG_MEMORY_MAX_PER_USER": ("retrieval.memory.services:MAX_PER_USER", Count),
    "RAG_MEMORY_RECALLED": ("retrieval.steps.memory:RECALLED", Annotated[int, Field(ge=0, le=20)]),
    "RAG_MEMORY_MIN_SIMILARITY": ("retrieval.memory.store:MIN_SIMILARITY", PositiveShare),
    "RAG_MEMORY_MIN_COVERAGE": ("retrieval.memory.store:MIN_COVERAGE", PositiveShare),
    "RAG_MEMORY_NEAR_DUPLICATE": ("retrieval.memory.sync:NEAR_DUPLICATE", PositiveShare),
    "RAG_MEMORY_NEAR_DUPLICATE_TERMS": ("retrieval.memory.services:NEAR_DUPLICATE_TERMS", PositiveShare),
    "RAG_MEMORY_MAX_CHARS": ("retrieval.steps.memory:MAX_CHARS", Annotated[int, Field(ge=80, le=2000)]),
    "RAG_MEMORY_TIMEOUT_S": ("retrieval.steps.memory:TIMEOUT_S", Number),
    "RAG_MEMORY_PROMPT": ("retrieval.steps.memory:PROMPT", str),
    "RAG_PLANNED_TIMEOUT_S": ("retrieval.workflows.planned.workflow:TIMEOUT_S", Seconds),
    "RAG_PLANNED_MAX_TASKS": ("retrieval.workflows.planned.plan:MAX_TASKS", Annotated[int, Field(ge=1, le=20)]),
    "RAG_PLANNED_MAX_CONCURRENCY": ("retrieval.workflows.planned.workflow:MAX_CONCURRENCY", Count),
    "RAG_PLANNED_TASK_TIMEOUT_S": ("retrieval.workflows.planned.workflow:TASK_TIMEOUT_S", Number),
    "RAG_PLANNED_PASS_SCORE": ("retrieval.workflows.planned.reflect:PASS_SCORE", Share),
    "RAG_PLANNED_RETRY_SCORE": ("retrieval.workflows.planned.reflect:RETRY_SCORE", Share),
    "RAG_PLANNED_RELEVANCE_WEIGHT": ("retrieval.workflows.planned.reflect:RELEVANCE_WEIGHT", Share),
    "RAG_PLANNED_COMPLETENESS_WEIGHT": ("retrieval.workflows.planned.reflect:COMPLETENESS_WEIGHT", Share),
    "RAG_PLANNED_FACTUALITY_WEIGHT": ("retrieval.workflows.planned.reflect:FACTUALITY_WEIGHT", Share),
    "RAG_PLANNED_LOW_AVERAGE": ("retrieval.workflows.planned.reflect:LOW_AVERAGE", Share),
    "RAG_PLANNED_LOW_COVERAGE": ("retrieval.workflows.planned.reflect:LOW_COVERAGE", Share),
    "RAG_PLANNED_ABSENT_SCORE": ("retrieval.workflows.planned.reflect:ABSENT_SCORE", Share),
    "RAG_PLANNED_MAX_AGE_YEARS": ("retrieval.workflows.planned.reflect:MAX_AGE_YEARS", WholeNumber),
    "RAG_PLANNED_CHECK_ANSWER": ("retrieval.workflows.planned.workflow:CHECK_ANSWER", bool),
    "RAG_REACT_SHORT_QUERY_CHARS": ("retrieval.workflows.react:SHORT_QUERY_CHARS", WholeNumber),
    "RAG_REACT_TOP_K": ("retrieval.workflows.react:TOP_K", Annotated[int, Field(ge=1, le=50)]),
    "RAG_REACT_REWRITE_PROMPT": ("retrieval.steps.query.query_rewriter:KEY_CONCEPT_PROMPT", str),
    "RAG_REACT_EVALUATE_PROMPT": ("retrieval.steps.judge.sufficiency:PROMPT", str),
    "RAG_REACT_TIMEOUT_S": ("retrieval.workflows.react:TIMEOUT_S", Seconds),
    "RAG_FEEDBACK_HALF_LIFE_DAYS": ("feedback.ranking.boosts:HALF_LIFE_DAYS", Seconds),
    "RAG_FEEDBACK_FULL_VOTES": ("feedback.ranking.boosts:FULL_VOTES", Annotated[float, Field(ge=1)]),
    "RAG_FEEDBACK_COSINE_FROM": (
        "feedback.ranking.question_similarity:COSINE_FROM",
        Annotated[float, Field(ge=-1, le=1)],
    ),
    "RAG_FEEDBACK_COSINE_FULL": (
        "feedback.ranking.question_similarity:COSINE_FULL",
        Annotated[float, Field(ge=-1, le=1)],
    ),
    "RAG_FEEDBACK_OVERLAP_FROM": ("feedback.ranking.question_similarity:OVERLAP_FROM", Share),
    "RAG_FEEDBACK_OVERLAP_FULL": ("feedback.ranking.question_similarity:OVERLAP_FULL", Share),
    "RAG_FEEDBACK_DOCUMENT_PRIOR": ("feedback.ranking.boosts:DOCUMENT_PRIOR", Seconds),
    "RAG_FEEDBACK_MIN_DOCUMENT_RATERS": ("feedback.ranking.boosts:MIN_DOCUMENT_RATERS", Count),
    "RAG_FEEDBACK_MAX_LIVE_BOOSTS": ("feedback.ranking.boosts:MAX_LIVE_BOOSTS", Count),
    "RAG_FEEDBACK_LEAST_EFFECT": ("feedback.ranking.boosts:LEAST_EFFECT", Number),
    "RAG_FEEDBACK_REFRESH_S": ("feedback.rounds.boost_source:REFRESH_S", Number),
    "RAG_FEEDBACK_RATINGS_PER_DAY": ("feedback.ranking.boosts:RATINGS_PER_DAY", Count),
    "RAG_FEEDBACK_NEW_ACCOUNT_DAYS": ("feedback.ranking.voters:NEW_ACCOUNT_DAYS", Number),
    "RAG_FEEDBACK_NEW_ACCOUNT_WEIGHT": ("feedback.ranking.voters:NEW_ACCOUNT_WEIGHT", Number),
    "RAG_FEEDBACK_STAFF_WEIGHT": ("feedback.ranking.voters:STAFF_WEIGHT", Number),
    "RAG_FEEDBACK_BURST_VOTES": ("feedback.ranking.boosts:BURST_VOTES", Annotated[int, Field(ge=2)]),
    "RAG_FEEDBACK_BURST_ACCOUNTS": ("feedback.ranking.boosts:BURST_ACCOUNTS", Count),
    "RAG_FEEDBACK_GOLDEN_MARGIN": ("feedback.ranking.guard:GOLDEN_MARGIN", Number),
    "RAG_FEEDBACK_GOLDEN_QUESTIONS": ("feedback.rounds.guard:GOLDEN_QUESTIONS", WholeNumber),
    "RAG_FEEDBACK_RECENT_QUESTIONS": ("feedback.rounds.guard:RECENT_QUESTIONS", WholeNumber),
    "RAG_FEEDBACK_RECENT_DAYS": ("feedback.rounds.guard:RECENT_DAYS", Count),
    "RAG_FEEDBACK_MAX_CHURN": ("feedback.ranking.guard:MAX_CHURN", Share),
    "RAG_FEEDBACK_KEEP_REVISIONS": ("feedback.rounds.revisions:KEEP_REVISIONS", Annotated[int, Field(ge=2)]),
    "RAG_FEEDBACK_LEASE_S": ("feedback.rounds.round:LEASE_S", Number),
    "RAG_FEEDBACK_GAP_DAYS": ("feedback.curation.gap_selectors:GAP_DAYS", Count),
    "RAG_FEEDBACK_GAP_QUESTIONS": ("feedback.curation.gap_selectors:GAP_QUESTIONS", Count),
    "RAG_FEEDBACK_GAP_OVERLAP": ("feedback.curation.gap_selectors:GAP_OVERLAP", PositiveShare),
    "RAG_FEEDBACK_GAP_COSINE": ("feedback.curation.gap_selectors:GAP_COSINE", PositiveShare),
    "RAG_FEEDBACK_GOLDEN_IMPORT_BYTES": ("feedback.curation.golden_files:GOLDEN_IMPORT_BYTES", Count),
    "RAG_FEEDBACK_GOLDEN_IMPORT_LINES": ("feedback.curation.golden_files:GOLDEN_IMPORT_LINES", Count),
    "RAG_LIMIT_HEARTBEAT_S": ("chat.runs.event_log:HEARTBEAT_S", Number),
    "RAG_LIMIT_SAVE_EVERY_S": ("chat.runs.run:SAVE_EVERY_S", Number),
    "RAG_LIMIT_STALE_AFTER_S": ("chat.runs.answers:STALE_AFTER_S", Number),
    "RAG_LIMIT_EVENT_LOG_TTL_S": ("chat.runs.event_log:EVENT_LOG_TTL_S", WholeNumber),
    "RAG_LIMIT_EVENT_LOG_ANSWERS": ("chat.runs.event_log:EVENT_LOG_ANSWERS", WholeNumber),
    "RAG_LIMIT_EVENT_LOG_MIB": ("chat.runs.event_log:EVENT_LOG_MIB", Count),
    "RAG_LIMIT_TOKENS_PER_USER": ("ragsite.accounts.tokens:TOKENS_PER_USER", Count),
    "RAG_QUOTA_RUNNING_INGESTS": ("retrieval.services.ingest_jobs:RUNNING_INGESTS", WholeNumber),
    "RAG_QUOTA_OPEN_INGESTS": ("retrieval.services.quotas:OPEN_INGESTS", WholeNumber),
    "RAG_WEB_SEARCH_GOOGLE_URL": ("retrieval.providers.web_search:GOOGLE_URL", Address),
    "RAG_WEB_SEARCH_MAX_RESULTS": (
        "retrieval.steps.retrieve.web_search:MAX_RESULTS",
        Annotated[int, Field(ge=1, le=10)],
    ),
    "RAG_WEB_SEARCH_SNIPPET_CHARS": (
        "retrieval.providers.web_search:SNIPPET_CHARS",
        Annotated[int, Field(ge=50, le=4000)],
    ),
    "RAG_WEB_SEARCH_MAX_ANSWER_KIB": ("retrieval.providers.web_search:MAX_ANSWER_KIB", Count),
    "RAG_WEB_SEARCH_TIMEOUT_S": ("retrieval.providers.web_search:TIMEOUT_S", Seconds),
    "RAG_WEB_SEARCH_SAFE_SEARCH": ("retrieval.providers.web_search:SAFE_SEARCH", bool),
    "RAG_WEB_SEARCH_PROMPT": ("retrieval.steps.retrieve.web_search:PROMPT", str),
}

GONE: dict[str, str] = {  # variable → why nothing heeds it any more
    "RAG_SEARCH_MIN_FILTERED_CANDIDATES": "filters that a question suggests are relaxed where what they leave does not"
    " answer, however much they leave; those of a request never are",
    "RAG_DUAL_LOOP_GOOD_ANSWER": "an answer is accepted by the probability that it is good, which is no model's score",
}

RULES: list[tuple[tuple[str, ...], Callable[..., bool], str]] = [  # variables, what holds for their values, in words
    (("RAG_FEEDBACK_COSINE_FROM", "RAG_FEEDBACK_COSINE_FULL"), lambda begin, full: begin < full, "must rise"),
    (("RAG_FEEDBACK_OVERLAP_FROM", "RAG_FEEDBACK_OVERLAP_FULL"), lambda begin, full: begin < full, "must rise"),
    (("RAG_PLANNED_RETRY_SCORE", "RAG_PLANNED_PASS_SCORE"), lambda retry, good: retry <= good, "must not fall"),
    (
        ("RAG_PLANNED_RELEVANCE_WEIGHT", "RAG_PLANNED_COMPLETENESS_WEIGHT", "RAG_PLANNED_FACTUALITY_WEIGHT"),
        lambda *weights: abs(sum(weights) - 1.0) < 0.001,
        "must add up to 1",
    ),
]


def retired_values(environ: Mapping[str, str]) -> dict[str, Any]:
    """Variable → value, of those that are set. Raises SettingsError with the name of the first wrong variable."""
    return {name: _read(name, environ[name].strip()) for name in RETIRED if environ.get(name, "").strip()}


def apply_retired(values: Mapping[str, Any]) -> None:
    """Set the constants, once, before the first request; their modules read them as globals when they need them.

    Raises SettingsError where several of them do not go together.
    """
    for variables, holds, words in RULES:
        if any(variable in values for variable in variables):
            numbers = [values.get(variable, _constant(variable)) for variable in variables]
            if not holds(*numbers):
                shown = ", ".join(f"{variable}={number:g}" for variable, number in zip(variables, numbers, strict=True))
                raise SettingsError(f"{shown} {words}")
    for variable, value in values.items():
        module, _, constant = RETIRED[variable][0].partition(":")
        setattr(import_module(module), constant, value)
        logger.warning(
            "%s is the constant %s in %s now; the variable is heeded for the last time in this version and will be "
            "ignored from the next one on.",
            variable, constant, module,
        )  # fmt: skip


def gone_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Those that are set although nothing heeds them any more."""
    return tuple(name for name in GONE if environ.get(name, "").strip())


def warn_of_gone(variables: Iterable[str]) -> None:
    for variable in variables:
        logger.warning("%s is not heeded any more: %s.", variable, GONE[variable])


def _constant(variable: str) -> Any:
    module, _, constant = RETIRED[variable][0].partition(":")
    return getattr(import_module(module), constant)


def _read(variable: str, text: str) -> Any:
    kind = RETIRED[variable][1]
    value = "" if kind is Address else f"={text!r}"  # an address may hold a password
    try:
        return TypeAdapter(kind, config=ConfigDict(allow_inf_nan=False)).validate_python(text)
    except ValidationError as error:
        raise SettingsError(f"{variable}{value} {sentence(error.errors(include_url=False)[0])}") from None
