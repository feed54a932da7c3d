"""The details of the decision path: one class for each step, written by the step, read back by `from_json`.

    note("queries_made", RewriteDetails(queries=tuple(texts)))

    for search in details_in(message["decision_path"], RetrieveDetails):
        print(search.documents, search.found)

A field that is None was not said: it stands in no JSON. Times, scores and shares are as in `retrieval.engine.values`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

logger = logging.getLogger(__name__)

StepName = Literal[
    "memory",
    "condense",
    "route",
    "plan",
    "rewrite",
    "step_back",
    "decompose",
    "hyde",
    "retrieve",
    "boost",
    "dedupe",
    "rerank",
    "assess",
    "grade",
    "refine",
    "web_search",
    "compress",
    "order",
    "clarify",
    "generate",
    "verify",
    "reflect",
    "consolidate",
]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDetails:
    """Of any step. waited_for_index_s: while the index was being restarted."""

    step: ClassVar[StepName]
    waited_for_index_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in self.said()}

    def said(self) -> list[tuple[str, Any]]:
        """(name, value) of each field that has one."""
        pairs = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in pairs if value is not None]


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(held) for held in value]
    return value


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
class ReadDocument:
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


# The steps
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
    route: a strategy of `dual_loop`. curated: the checked answer that fits, question: its wording."""

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
    whole_documents: tuple[ReadDocument, ...] | None = None
    titles: tuple[str, ...] | None = None
    read: int | None = None
    total: int | None = None
    unread: tuple[str, ...] | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifyDetails(StepDetails):
    step: ClassVar[StepName] = "clarify"
    question: str | None = None
    options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateDetails(StepDetails):
    """of: passages. cited: markers. verdict: the word that the model wrote in place of an answer. shown, lines: of
    passages as they stand. by, on: who checked the answer beforehand, and when."""

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


D = TypeVar("D", bound=StepDetails)
KINDS: tuple[type[StepDetails], ...] = (
    MemoryDetails,
    CondenseDetails,
    RouteDetails,
    PlanDetails,
    RewriteDetails,
    StepBackDetails,
    DecomposeDetails,
    HydeDetails,
    RetrieveDetails,
    BoostDetails,
    DedupeDetails,
    RerankDetails,
    AssessDetails,
    GradeDetails,
    RefineDetails,
    WebSearchDetails,
    CompressDetails,
    OrderDetails,
    ClarifyDetails,
    GenerateDetails,
    VerifyDetails,
    ReflectDetails,
    ConsolidateDetails,
)
DETAILS: Mapping[str, type[StepDetails]] = {kind.step: kind for kind in KINDS}


def from_json(kind: type[D], detail: Json) -> D:
    """The details of a stored or sent entry. What stands there besides them (`reason`, `model_calls`) is left out.

    Of an entry whose JSON is of another shape nothing is known; the log says so.
    """
    try:
        details: D = _reader(kind.step).validate_python(dict(detail))
    except ValidationError as error:
        logger.warning("a %s entry of a decision path can't be read: %s", kind.step, error)
        return kind()
    return details


@cache
def _reader(step: StepName) -> TypeAdapter[Any]:
    return TypeAdapter(DETAILS[step])


def details_of(entry: Json) -> StepDetails:
    """Of an entry of a `decision_path`, in the contract's shape; none of a step that is not known."""
    kind = DETAILS.get(entry["name"])
    return from_json(kind, entry["detail"]) if kind else StepDetails()


def details_in(path: Iterable[Json], kind: type[D]) -> list[D]:
    """Of the steps of this kind that did something."""
    entries = [entry for entry in path if entry["name"] == kind.step and entry["status"] != "skipped"]
    return [from_json(kind, entry["detail"]) for entry in entries]
