"""Details of the steps that find words for a search, and of those that search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from retrieval.engine.path_details.base import StepDetails, StepName
from retrieval.engine.path_details.rows import (
    AppliedBoost,
    FoundCandidate,
    FoundPage,
    NamedDocument,
    SearchedQuery,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesDetails(StepDetails):
    """tried: queries of before. missing: what the passages lacked. found: statements that the query follows."""

    queries: tuple[str, ...] | None = None
    tried: tuple[str, ...] | None = None
    missing: str | None = None
    found: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteDetails(QueriesDetails):
    """attempt: of the loop of `self_corrective`, from 1."""

    step: ClassVar[StepName] = "rewrite"
    original: str | None = None
    rewritten: str | None = None
    rewrite_reason: str | None = None
    keywords: tuple[str, ...] | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBackDetails(QueriesDetails):
    step: ClassVar[StepName] = "step_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeDetails(QueriesDetails):
    step: ClassVar[StepName] = "decompose"


@dataclass(frozen=True, slots=True, kw_only=True)
class HydeDetails(StepDetails):
    step: ClassVar[StepName] = "hyde"
    passage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveDetails(StepDetails):
    """Of a search, or of documents that are read whole.

    documents: how many were searched; searched: how many queries. lifted: candidates that are preferred, by `values`.
    whole_documents, titles, read, total: those that are read, and how many of their sections. unread: files of the
    conversation that could not be searched.
    """

    step: ClassVar[StepName] = "retrieve"
    purpose: str | None = None
    preferred: Mapping[str, Sequence[Any]] | None = None
    values: tuple[Any, ...] | None = None
    lifted: int | None = None
    queries: tuple[SearchedQuery, ...] | None = None
    filters: Mapping[str, Any] | None = None
    relaxed: tuple[str, ...] | None = None
    timings_ms: Mapping[str, float] | None = None
    notes: Mapping[str, Any] | None = None
    candidates: tuple[FoundCandidate, ...] | None = None
    found: int | None = None
    searched: int | None = None
    documents: int | None = None
    whole_documents: tuple[NamedDocument, ...] | None = None
    titles: tuple[str, ...] | None = None
    read: int | None = None
    total: int | None = None
    unread: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDetails(StepDetails):
    """filters: what was counted by. total: of all; shown: how many rows are. looked_at, to_look_at, being_read, failed,
    partly_read: documents. unread_cells: rows that could not be compared, of which ambiguous_cells can be read in two
    ways; empty_cells: rows where a compared cell is empty. other_units: cells, one of each unit. words_left_out: that
    were not looked for."""

    step: ClassVar[StepName] = "count"
    filters: Mapping[str, Any] | None = None
    unit: str | None = None
    total: int | None = None
    documents: int | None = None
    shown: int | None = None
    looked_at: int | None = None
    to_look_at: int | None = None
    complete: bool | None = None
    being_read: int | None = None
    failed: int | None = None
    partly_read: int | None = None
    unread_cells: int | None = None
    ambiguous_cells: int | None = None
    empty_cells: int | None = None
    other_units: tuple[str, ...] | None = None
    words_left_out: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostDetails(StepDetails):
    """boosts: by chunk. rated: how many of the `found` candidates have one. lifted: ids of those that were further down
    than the candidates."""

    step: ClassVar[StepName] = "boost"
    boosts: Mapping[str, AppliedBoost] | None = None
    revision: str | None = None
    lifted: tuple[str, ...] | None = None
    rated: int | None = None
    found: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineDetails(StepDetails):
    """number: of the round, from 1."""

    step: ClassVar[StepName] = "refine"
    stage: str | None = None
    purpose: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchDetails(StepDetails):
    step: ClassVar[StepName] = "web_search"
    query: str | None = None
    engine: str | None = None
    results: tuple[FoundPage, ...] | None = None
    count: int | None = None
