"""Details of the steps that judge, order and shorten what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from retrieval.engine.path_details.base import StepDetails, StepName
from retrieval.engine.path_details.rows import GradedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeDetails(StepDetails):
    """dropped: chunk → the passage that says the same. merged: passage → the chunks that were joined to it."""

    step: ClassVar[StepName] = "dedupe"
    before: int | None = None
    after: int | None = None
    dropped: Mapping[str, str] | None = None
    merged: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankDetails(StepDetails):
    """scores: by chunk. best, title: of the first one."""

    step: ClassVar[StepName] = "rerank"
    reranker: str | None = None
    scores: Mapping[str, float] | None = None
    best: float | None = None
    title: str | None = None
    min_score: float | None = None
    left_out: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessDetails(StepDetails):
    """Of a judgement: verdict, by_model, named (ids of the passages that answer), missing, and of the eight criteria
    scores, good and min_docs. Of `self_corrective`: pass_rate to stop. Of the path's last entry: decision."""

    step: ClassVar[StepName] = "assess"
    verdict: str | None = None
    by_model: bool | None = None
    named: tuple[str, ...] | None = None
    missing: str | None = None
    scores: Mapping[str, float] | None = None
    good: int | None = None
    min_docs: int | None = None
    pass_rate: float | None = None
    pass_count: int | None = None
    total_count: int | None = None
    pass_threshold: float | None = None
    passed_in_all: int | None = None
    stop: str | None = None
    decision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeDetails(StepDetails):
    step: ClassVar[StepName] = "grade"
    pass_rate: float | None = None
    pass_count: int | None = None
    total_count: int | None = None
    graded_before: int | None = None
    documents: tuple[GradedDocument, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressDetails(StepDetails):
    """before, after: tokens of the passages; dropped: those of which nothing is left. changed to same: sentences of two
    documents. notes, rows: that a model made of documents, in `calls` parts; rows_dropped: those that do not hold;
    read: sections."""

    step: ClassVar[StepName] = "compress"
    before: int | None = None
    after: int | None = None
    dropped: tuple[str, ...] | None = None
    changed: int | None = None
    new: int | None = None
    gone: int | None = None
    same: int | None = None
    notes: int | None = None
    rows: int | None = None
    rows_dropped: int | None = None
    read: int | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDetails(StepDetails):
    """given: of the `found` candidates. joined: passage → its neighbours. positions: ranks as they stand in the prompt.
    left_out: less similar than `least`."""

    step: ClassVar[StepName] = "order"
    given: int | None = None
    found: int | None = None
    chunk_ids: tuple[str, ...] | None = None
    joined: Mapping[str, Sequence[str]] | None = None
    positions: tuple[int, ...] | None = None
    left_out: int | None = None
    least: float | None = None
