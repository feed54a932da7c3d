"""Runs a labelled set through the chosen stages, and its questions through the corrective workflow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from ragsite.core.rag_settings import RagSettings
from retrieval.evaluation.collection import Progress, ThrowAwayCollection, throw_away_collection
from retrieval.evaluation.dataset import Dataset
from retrieval.evaluation.embeddings import EmbeddingCache
from retrieval.evaluation.metrics import RECALL_DEPTH, by_best_chunk, latency, measure
from retrieval.evaluation.stages import Stage, make_stages
from retrieval.ports import BoostSource
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex, only_writer, schema
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import Trace
from retrieval.values import Question
from retrieval.workflows import DEFAULT_WORKFLOW, get_workflow

CHUNKS_PER_DOCUMENT = 2  # candidates looked at for each document that recall@100 asks for
WARM_UP = 3  # searches before the clock starts


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
    stages: Sequence[str]
    k: int = 10
    decisions: bool = True


async def evaluate(
    dataset: Dataset, plan: Plan, *, settings: RagSettings, uri: str, cache: EmbeddingCache, progress: Progress,
    boosts: BoostSource | None = None,
) -> Evaluation:  # fmt: skip
    """uri: where Milvus listens. Raises EmbeddingUnavailableError, IndexUnavailableError, UnavailableError."""
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
            tools = _tools(collection, settings, boosts)
            stages, fallbacks = await _stages(dataset, plan, tools, collection, progress)
            decisions = await _decisions(dataset, tools, collection, progress) if plan.decisions else {}
    finally:
        await index.close()
        await models.close()
    return Evaluation(
        dataset=dataset.name,
        queries=len(dataset.ranked),
        k=plan.k,
        embedding_model=collection.embedding_model,
        stages=stages,
        decisions=decisions,
        fallbacks=fallbacks,
    )


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


# ------------------------------------------------------------------------------------------------ rankings
async def _stages(
    dataset: Dataset, plan: Plan, tools: Toolbox, collection: ThrowAwayCollection, progress: Progress
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    stages = make_stages(
        plan.stages,
        tools=tools,
        without_boosts=replace(tools, boosts=None),
        scope=collection.scope,
        k=plan.k,
        depth=CHUNKS_PER_DOCUMENT * max(RECALL_DEPTH, plan.k),
    )
    results: dict[str, dict[str, float]] = {}
    fallbacks: dict[str, dict[str, int]] = {}
    for stage in stages:
        reasons: Counter[str] = Counter()
        results[stage.name] = await _stage(stage, dataset, collection, plan.k, reasons, progress)
        if reasons:
            fallbacks[stage.name] = dict(reasons)
    return results, fallbacks


async def _stage(
    stage: Stage, dataset: Dataset, collection: ThrowAwayCollection, k: int, reasons: Counter[str], progress: Progress
) -> dict[str, float]:
    rankings: dict[str, list[str]] = {}
    times: list[float] = []
    asked = [query for query in dataset.ranked if query.text.strip()]
    for query in asked[:WARM_UP]:
        await stage.run(query.text)
    rankings.update({query.id: [] for query in dataset.ranked})  # an empty question finds nothing
    bar = progress(stage.name, len(asked))
    for query in asked:
        begun = time.perf_counter()
        result = await stage.run(query.text)
        times.append((time.perf_counter() - begun) * 1000)
        reasons.update(result.fallbacks)
        documents = (collection.document_of[candidate.chunk.document_id] for candidate in result.candidates)
        rankings[query.id] = by_best_chunk(documents)
        bar.update(1)
    bar.close()
    return {**_rounded(measure(dataset.qrels, rankings, k=k)), **latency(times)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}


# ------------------------------------------------------------------------------------------------ decisions
async def _decisions(
    dataset: Dataset, tools: Toolbox, collection: ThrowAwayCollection, progress: Progress
) -> dict[str, dict[str, int]]:
    """What the corrective workflow decides on each kind of question."""
    if not dataset.decided:
        return {}
    workflow = get_workflow(DEFAULT_WORKFLOW, engine=tools)
    decisions: dict[str, Counter[str]] = {}
    bar = progress("decisions", len(dataset.decided))
    for query in dataset.decided:
        answer = await workflow.answer(Question(text=query.text, scope=collection.scope), trace=Trace())
        decisions.setdefault(query.kind, Counter())[answer.decision] += 1
        bar.update(1)
    bar.close()
    return {kind: dict(decisions[kind]) for kind in ("answerable", "unanswerable", "clarify") if kind in decisions}
