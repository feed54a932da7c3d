"""Runs the questions of a labelled set through the chosen stages, and through a workflow for its decisions."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ragsite.core.rag_settings import RagSettings
from retrieval.evaluation.collection import Progress, ThrowAwayCollection, throw_away_collection
from retrieval.evaluation.dataset import Dataset, QueryClass
from retrieval.evaluation.embeddings import EmbeddingCache
from retrieval.evaluation.metrics import RECALL_DEPTH, by_best_chunk, latency, measure
from retrieval.evaluation.stages import Stage, make_stages
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex, only_writer, schema
from retrieval.steps.deps import Deps
from retrieval.trace import Trace
from retrieval.values import Question
from retrieval.workflows import DEFAULT_WORKFLOW, get_workflow

CHUNKS_PER_DOCUMENT = 2  # candidates looked at for each document that recall@100 asks for
WARM_UP = 3  # searches before the clock starts
DEFAULT_K = 10  # the cut-off of nDCG and recall
KINDS: tuple[QueryClass, ...] = ("answerable", "unanswerable", "clarify")


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
    """decisions: whether questions are asked of the default workflow too."""

    stages: tuple[str, ...]
    k: int = DEFAULT_K
    decisions: bool = True


async def evaluate(
    dataset: Dataset, plan: Plan, *, settings: RagSettings, uri: str, cache: EmbeddingCache, progress: Progress
) -> Evaluation:
    """In an index of its own, gone afterwards. uri: where Milvus listens.

    Raises EmbeddingUnavailableError, IndexUnavailableError, InvalidQueryError, ModelError, AppError.
    """
    models = ModelRegistry(settings.ollama)
    index = MilvusIndex(
        settings.milvus.replace(uri=uri, prefix=f"{settings.milvus.prefix}_evaluate_{uuid4().hex[:12]}"),
        uri=uri,
        writer_lock=only_writer,
        k1=schema.BM25_K1,
        b=schema.BM25_B,
    )
    try:
        async with throw_away_collection(
            dataset, settings=settings, index=index, models=models, cache=cache, progress=progress
        ) as collection:
            return await _evaluated(dataset, plan, collection, settings, progress)
    finally:
        await index.close()
        await models.close()


async def _evaluated(
    dataset: Dataset, plan: Plan, collection: ThrowAwayCollection, settings: RagSettings, progress: Progress
) -> Evaluation:
    hybrid = HybridSearcher(
        index=collection.index, store=collection.store, models=collection.models, settings=settings.search
    )
    tools = Deps(
        settings=settings,
        models=collection.models,
        prompts=PromptLibrary(settings.prompts_dir),
        store=collection.store,
        searcher=hybrid,
    )
    depth = CHUNKS_PER_DOCUMENT * max(RECALL_DEPTH, plan.k)
    figures: dict[str, dict[str, float]] = {}
    fallbacks: dict[str, Counter[str]] = {}
    for stage in make_stages(plan.stages, tools=tools, scope=collection.scope, k=plan.k, depth=depth):
        figures[stage.name], fallbacks[stage.name] = await _ranked(stage, dataset, collection, plan.k, progress)
    return Evaluation(
        dataset=dataset.name,
        queries=len(dataset.ranked),
        k=plan.k,
        embedding_model=collection.embedding_model,
        stages=figures,
        decisions=await _decided(dataset, collection, tools, progress) if plan.decisions else {},
        fallbacks={stage: dict(reasons) for stage, reasons in fallbacks.items() if reasons},
    )


async def _ranked(
    stage: Stage, dataset: Dataset, collection: ThrowAwayCollection, k: int, progress: Progress
) -> tuple[dict[str, float], Counter[str]]:
    """Metrics as means over the questions, rounded to 4 digits, with `p50_ms` and `p95_ms`; and what fell back."""
    for question in [question for question in dataset.ranked if question.text.strip()][:WARM_UP]:
        await stage.run(question.text)
    bar = progress(stage.name, len(dataset.ranked))
    rankings: dict[str, list[str]] = {}
    times: list[float] = []
    fallbacks: Counter[str] = Counter()
    for question in dataset.ranked:
        rankings[question.id] = []
        if question.text.strip():  # an empty question finds nothing
            begun = time.perf_counter()
            result = await stage.run(question.text)
            times.append((time.perf_counter() - begun) * 1000)
            fallbacks.update(result.fallbacks)
            found = (collection.document_of[candidate.chunk.document_id] for candidate in result.candidates)
            rankings[question.id] = by_best_chunk(found)
        bar.update(1)
    bar.close()
    means = await asyncio.to_thread(measure, dataset.qrels, rankings, k=k)
    return {**{name: round(value, 4) for name, value in means.items()}, **latency(times)}, fallbacks


async def _decided(
    dataset: Dataset, collection: ThrowAwayCollection, tools: Deps, progress: Progress
) -> dict[str, dict[str, int]]:
    """What the question is → what the workflow did → how often."""
    workflow = get_workflow(DEFAULT_WORKFLOW)
    counts: dict[str, Counter[str]] = {}
    bar = progress("decisions", len(dataset.decided))
    for question in dataset.decided:
        asked = Question(text=question.text, scope=collection.scope)
        answer = await workflow.answer(asked, engine=tools, trace=Trace())
        counts.setdefault(question.kind, Counter())[str(answer.decision)] += 1
        bar.update(1)
    bar.close()
    return {kind: dict(counts[kind]) for kind in KINDS if kind in counts}
