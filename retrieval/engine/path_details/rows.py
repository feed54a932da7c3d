"""What stands in rows of its own in the details of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


# What stands in rows of its own
@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledFact:
    """By its id alone: the path is shown to staff, and stays when its user erases the fact."""

    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """note: how much it found, or why it failed."""

    id: str
    type: str
    input: str
    depends_on: tuple[str, ...]
    priority: int
    state: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedQuery:
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidate:
    """ranks: from 1, in every leg that found it."""

    chunk_id: str
    ranks: Mapping[str, int]
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDocument:
    document_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedBoost:
    """origin: why, for people."""

    multiplier: float
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """published: YYYY-MM-DD, or empty."""

    title: str
    url: str
    published: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedDocument:
    """text: an excerpt. confidence: in the verdict, 0..1. by_model: False where no model graded it, so it stays."""

    chunk_id: str
    document_id: str
    title: str
    file_name: str
    page: int | None
    heading: str
    text: str
    relevant: bool
    confidence: float
    reason: str
    by_model: bool
    graded_before: bool
    scores: Mapping[str, float]
