"""Details of the steps that write, check and remember an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from retrieval.engine.path_details.base import StepDetails, StepName


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifyDetails(StepDetails):
    step: ClassVar[StepName] = "clarify"
    question: str | None = None
    options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateDetails(StepDetails):
    """of: passages. cited: markers. verdict: the word that the model wrote in place of an answer. shown, lines: of
    passages as they stand. by, on: who checked the answer beforehand, and when. help: whether the site's help alone
    was given, which answers nothing."""

    step: ClassVar[StepName] = "generate"
    characters: int | None = None
    shown: int | None = None
    lines: int | None = None
    by: str | None = None
    on: str | None = None
    of: int | None = None
    model: str | None = None
    cited: tuple[int, ...] | None = None
    partial: bool | None = None
    verdict: str | None = None
    help: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyDetails(StepDetails):
    """grounding: the sentences, as an answer stores them. good, weak, unchecked: how many of them."""

    step: ClassVar[StepName] = "verify"
    support: str | None = None
    grounding: tuple[Mapping[str, Any], ...] | None = None
    good: int | None = None
    weak: int | None = None
    unchecked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectDetails(StepDetails):
    """Of a draft: accepted, score, missing. Of what a plan found: relevance to scores; by_model: whether a model said
    so."""

    step: ClassVar[StepName] = "reflect"
    accepted: bool | None = None
    missing: str | None = None
    of: str | None = None
    relevance: float | None = None
    completeness: float | None = None
    factuality: float | None = None
    score: float | None = None
    outcome: str | None = None
    problems: tuple[str, ...] | None = None
    by_model: bool | None = None
    scores: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateDetails(StepDetails):
    step: ClassVar[StepName] = "consolidate"
    fact: str | None = None
