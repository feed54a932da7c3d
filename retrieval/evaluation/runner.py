"""Runs labelled questions through the chosen stages, and through a workflow for its decisions.

A labelled set is measured in a throw-away collection (`evaluate`, `throw_away_bench`); other questions wherever their
`Bench` says. Both go through `measure`, which gives what came of each question, and figures are made of that alone
(`stage_figures`, `decision_figures`): who keeps the outcomes can make the same figures of them again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from ragsite.core.errors import AppError
from ragsite.core.rag_settings import RagSettings
from retrieval.errors import EmbeddingUnavailableError, ModelError
from retrieval.evaluation.collection import Progress, ThrowAwayCollection, throw_away_collection
from retrieval.evaluation.dataset import Dataset, QueryClass
from retrieval.evaluation.embeddings import EmbeddingCache
from retrieval.evaluation.metrics import (
    RECALL_DEPTH,
    averages,
    by_best_chunk,
    first_relevant,
    latency,
    measure_each,
)
from retrieval.evaluation.stages import DECISIONS, Stage, make_stages
from retrieval.ports import BoostSource
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex, only_writer, schema
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import Trace
from retrieval.values import Question, SearchScope, StoredChunk
from retrieval.workflows import DEFAULT_WORKFLOW, get_workflow

CHUNKS_PER_DOCUMENT = 2  # candidates looked at for each document that recall@100 asks for
WARM_UP = 3  # searches before the clock starts
DEFAULT_K = 10  # the cut-off of nDCG and recall
IN_BATCH = 20  # questions whose outcomes are given at a time
FAILED = "FAILED"  # in place of a decision, where no answer came
KINDS: tuple[QueryClass, ...] = ("answerable", "unanswerable", "clarify")
RIGHT: Mapping[QueryClass, str] = {"answerable": "ANSWER", "unanswerable": "NO_ANSWER", "clarify": "CLARIFY"}


# ------------------------------------------------------------------------------------------------ values
@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question to measure. relevant: label of a document or chunk → grade above 0; empty: there is nothing to find.
    kind: what a right decision is about; None: it is not asked of a workflow."""

    id: str
    text: str
    scope: SearchScope
    relevant: Mapping[str, int] = field(default_factory=dict)
    kind: QueryClass | None = None


class Labels:
    """How the chunks that a search finds are counted."""

    def of(self, question: AskedQuestion, chunk: StoredChunk) -> str:
        """The document."""
        return chunk.document_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Questions, and the tools that they are searched with."""

    questions: Sequence[AskedQuestion]
    tools: Toolbox
    labels: Labels = field(default_factory=Labels)
    embedding_model: str = ""

    @property
    def ranked(self) -> list[AskedQuestion]:
        return [question for question in self.questions if question.relevant]

    @property
    def decided(self) -> list[AskedQuestion]:
        return [question for question in self.questions if question.kind is not None and question.text.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one question at one stage.

    metrics: by `metric_names`, 0..1. first: the place of the first relevant document, from 1. ms: None where nothing
    was searched. fallbacks: "step: reason". Of the stage DECISIONS: decision and kind, and no metrics.
    """

    question: str
    stage: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    first: int | None = None
    ms: float | None = None
    fallbacks: tuple[str, ...] = ()
    kind: QueryClass | None = None
    decision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some outcomes of one stage. problem: why the rest of the stage could not be measured."""

    stage: str
    outcomes: Sequence[Outcome] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """queries: how many were ranked. stages: name → metrics 0..1 and latency in ms. decisions: what the question is
    → what the workflow did → how often. fallbacks: stage → "step: reason" → how often."""

    dataset: str
    queries: int
    k: int
    embedding_model: str
    stages: Mapping[str, Mapping[str, float]]
    decisions: Mapping[str, Mapping[str, int]]
    fallbacks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        return {
            "dataset": self.dataset,
            "queries": self.queries,
            "stages": {name: dict(values) for name, values in self.stages.items()},
            "decisions": {name: dict(counts) for name, counts in self.decisions.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """decisions: whether questions are asked of `workflow` too."""

    stages: Sequence[str]
    k: int = DEFAULT_K
    decisions: bool = True
    workflow: str = DEFAULT_WORKFLOW


# ------------------------------------------------------------------------------------------------ a labelled set
async def evaluate(
    dataset: Dataset, plan: Plan, *, settings: RagSettings, uri: str, cache: EmbeddingCache, progress: Progress,
    boosts: BoostSource | None = None,
) -> Evaluation:  # fmt: skip
    """uri: where Milvus listens. Raises EmbeddingUnavailableError, IndexUnavailableError, UnavailableError."""
    async with throw_away_bench(
        dataset, settings=settings, uri=uri, cache=cache, progress=progress, boosts=boosts
    ) as bench:
        outcomes = [outcome async for batch in measure(bench, plan, progress=progress) for outcome in batch.outcomes]
    return Evaluation(
        dataset=dataset.name,
        queries=len(bench.ranked),
        k=plan.k,
        embedding_model=bench.embedding_model,
        stages={stage: stage_figures(outcomes, stage, k=plan.k) for stage in plan.stages},
        decisions=decision_figures(outcomes),
        fallbacks=fallback_counts(outcomes),
    )


@asynccontextmanager
async def throw_away_bench(
    dataset: Dataset, *, settings: RagSettings, uri: str, cache: EmbeddingCache, progress: Progress,
    boosts: BoostSource | None = None, prefix: str = "",
) -> AsyncIterator[Bench]:  # fmt: skip
    """The set in an index of its own, gone afterwards. prefix: of its names there; by default one that nobody has.

    Raises EmbeddingUnavailableError, IndexUnavailableError.
    """
    models = ModelRegistry(settings.ollama)
    index = MilvusIndex(
        settings.milvus.replace(uri=uri, prefix=prefix or f"{settings.milvus.prefix}_evaluate_{uuid4().hex[:12]}"),
        uri=uri,
        writer_lock=only_writer,
        k1=schema.BM25_K1,
        b=schema.BM25_B,
    )
    try:
        async with throw_away_collection(
            dataset, settings=settings, index=index, models=models, cache=cache, progress=progress
        ) as collection:
            yield Bench(
                questions=_labelled(dataset, collection.scope),
                tools=_tools(collection, settings, boosts),
                labels=_OwnIds(collection.document_of),
                embedding_model=collection.embedding_model,
            )
    finally:
        await index.close()
        await models.close()


def _labelled(dataset: Dataset, scope: SearchScope) -> list[AskedQuestion]:
    decided = {query.id for query in dataset.decided}
    return [
        AskedQuestion(
            id=query.id,
            text=query.text,
            scope=scope,
            relevant=dataset.qrels.get(query.id, {}),
            kind=query.kind if query.id in decided else None,
        )
        for query in dataset.queries
    ]


class _OwnIds(Labels):
    """The set's own ids of documents."""

    def __init__(self, document_of: Mapping[str, str]) -> None:
        self._document_of = document_of

    def of(self, question: AskedQuestion, chunk: StoredChunk) -> str:
        return self._document_of[chunk.document_id]


def _tools(collection: ThrowAwayCollection, settings: RagSettings, boosts: BoostSource | None) -> Toolbox:
    hybrid = HybridSearcher(
        index=collection.index, store=collection.store, models=collection.models, settings=settings.search
    )
    return Toolbox(
        settings=settings,
        models=collection.models,
        prompts=PromptLibrary(settings.prompts_dir),
        store=collection.store,
        searcher=hybrid,
        boosts=boosts,
    )


# ------------------------------------------------------------------------------------------------ measuring
async def measure(
    bench: Bench, plan: Plan, *, progress: Progress, known: Collection[tuple[str, str]] = (), patient: bool = False
) -> AsyncGenerator[Batch, None]:
    """Stage by stage, then the decisions. known: (stage, question) that need not be measured again. patient: a stage
    that can't be measured is left with its problem, and an answer that fails counts as FAILED; else both raise.

    Raises IndexUnavailableError, InvalidQueryError, EmbeddingUnavailableError, ModelError, AppError.
    """
    stages = make_stages(
        plan.stages,
        tools=bench.tools,
        without_boosts=replace(bench.tools, boosts=None),
        scope=SearchScope(()),
        k=plan.k,
        depth=CHUNKS_PER_DOCUMENT * max(RECALL_DEPTH, plan.k),
    )
    for stage in stages:
        left = [question for question in bench.ranked if (stage.name, question.id) not in known]
        try:
            async for batch in _ranked(stage, left, bench, plan.k, progress):
                yield batch
        except EmbeddingUnavailableError as error:
            if not patient:
                raise
            yield Batch(stage=stage.name, problem=error.reason)
    if plan.decisions:
        left = [question for question in bench.decided if (DECISIONS, question.id) not in known]
        async for batch in _decided(left, bench, plan, progress, patient=patient):
            yield batch


async def _ranked(
    stage: Stage, questions: Sequence[AskedQuestion], bench: Bench, k: int, progress: Progress
) -> AsyncIterator[Batch]:
    for question in [question for question in questions if question.text.strip()][:WARM_UP]:
        await replace(stage, scope=question.scope).run(question.text)
    bar = progress(stage.name, len(questions))
    for start in range(0, len(questions), IN_BATCH):
        some = questions[start : start + IN_BATCH]
        rankings: dict[str, list[str]] = {}
        times: dict[str, float | None] = {}
        fallbacks: dict[str, tuple[str, ...]] = {}
        for question in some:
            rankings[question.id], times[question.id], fallbacks[question.id] = [], None, ()
            if question.text.strip():  # an empty question finds nothing
                begun = time.perf_counter()
                result = await replace(stage, scope=question.scope).run(question.text)
                times[question.id] = (time.perf_counter() - begun) * 1000
                fallbacks[question.id] = result.fallbacks
                labels = (bench.labels.of(question, candidate.chunk) for candidate in result.candidates)
                rankings[question.id] = by_best_chunk(labels)
            bar.update(1)
        qrels = {question.id: question.relevant for question in some}
        measured = await asyncio.to_thread(measure_each, qrels, rankings, k=k)
        yield Batch(
            stage=stage.name,
            outcomes=[
                Outcome(
                    question=question.id,
                    stage=stage.name,
                    metrics=measured[question.id],
                    first=first_relevant(question.relevant, rankings[question.id]),
                    ms=times[question.id],
                    fallbacks=fallbacks[question.id],
                )
                for question in some
            ],
        )
    bar.close()


async def _decided(
    questions: Sequence[AskedQuestion], bench: Bench, plan: Plan, progress: Progress, *, patient: bool
) -> AsyncIterator[Batch]:
    """What the workflow decides on each question."""
    if not questions:
        return
    workflow = get_workflow(plan.workflow, engine=bench.tools)
    bar = progress(DECISIONS, len(questions))
    for question in questions:
        begun, trace = time.perf_counter(), Trace()
        failed: tuple[str, ...] = ()
        try:
            async with asyncio.timeout(bench.tools.settings.limits.answer_timeout_s if patient else None):
                answer = await workflow.answer(Question(text=question.text, scope=question.scope), trace=trace)
            decision = str(answer.decision)
        except (AppError, ModelError, TimeoutError) as error:
            if not patient:
                raise
            decision = FAILED
            reason = getattr(error, "message", "") or getattr(error, "reason", "") or "no answer within its time"
            failed = (f"answer: {reason}",)
        told = dict.fromkeys(f"{entry['step']}: {entry['reason']}" for entry in trace.degraded)
        yield Batch(
            stage=DECISIONS,
            outcomes=[
                Outcome(
                    question=question.id,
                    stage=DECISIONS,
                    kind=question.kind,
                    decision=decision,
                    ms=(time.perf_counter() - begun) * 1000,
                    fallbacks=(*failed, *told),
                )
            ],
        )
        bar.update(1)
    bar.close()


# ------------------------------------------------------------------------------------------------ figures
def stage_figures(outcomes: Iterable[Outcome], stage: str, *, k: int) -> dict[str, float]:
    """Means over the stage's questions, rounded to 4 digits, and `p50_ms`, `p95_ms`."""
    rows = [outcome for outcome in outcomes if outcome.stage == stage]
    means = {name: round(value, 4) for name, value in averages((row.metrics for row in rows), k=k).items()}
    return {**means, **latency([row.ms for row in rows if row.ms is not None])}


def decision_figures(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """What the question is → what the workflow did → how often."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if outcome.stage == DECISIONS and outcome.kind:
            counts.setdefault(outcome.kind, Counter())[outcome.decision] += 1
    return {kind: dict(counts[kind]) for kind in KINDS if kind in counts}


def fallback_counts(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """Stage → "step: reason" → how often; of stages of retrieval."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if outcome.fallbacks and outcome.stage != DECISIONS:
            counts.setdefault(outcome.stage, Counter()).update(outcome.fallbacks)
    return {stage: dict(reasons) for stage, reasons in counts.items()}
