"""Details of the steps that look at the question, before anything is searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from retrieval.engine.path_details.base import StepDetails, StepName
from retrieval.engine.path_details.rows import PlannedTask, RecalledFact


# The steps
@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantDetails(StepDetails):
    """name, version: of the assistant that the question is asked by. characters: of its instructions. collections: that
    it looks into; unreadable: those of them that the asker may not read. lost: what it names and the site no longer
    has."""

    step: ClassVar[StepName] = "assistant"
    name: str | None = None
    version: int | None = None
    characters: int | None = None
    collections: int | None = None
    unreadable: int | None = None
    lost: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetails(StepDetails):
    step: ClassVar[StepName] = "memory"
    facts: tuple[RecalledFact, ...] | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CondenseDetails(StepDetails):
    step: ClassVar[StepName] = "condense"
    standalone_question: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDetails(StepDetails):
    """preferred: values of the documents, by filter. from_model: those that a model read; values: all of them.
    route: a strategy of `dual_loop`. curated: the checked answer that fits, question: its wording. not_offered: how many
    columns and values of the documents a model was not shown, by kind."""

    step: ClassVar[StepName] = "route"
    from_model: Mapping[str, Sequence[Any]] | None = None
    filters: Mapping[str, Any] | None = None
    preferred: Mapping[str, Sequence[Any]] | None = None
    values: tuple[Any, ...] | None = None
    evidence: str | None = None
    task: str | None = None
    documents: tuple[str, ...] | None = None
    route: str | None = None
    available: tuple[str, ...] | None = None
    standalone_question: str | None = None
    curated: Mapping[str, str] | None = None
    question: str | None = None
    not_offered: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetails(StepDetails):
    """order: the tasks by id and type. type: of the question. rewrite: whether the query is, before it is searched for;
    route: what the model said of that."""

    step: ClassVar[StepName] = "plan"
    tasks: tuple[PlannedTask, ...] | None = None
    order: tuple[str, ...] | None = None
    type: str | None = None
    complexity: str | None = None
    problem: str | None = None
    remedy: str | None = None
    retry: int | None = None
    rewrite: bool | None = None
    route: str | None = None
