"""Runs the questions of a labelled set through the chosen stages, and through a workflow for its decisions.

`dense`, `bm25` and `hybrid` stand alone. A stage with a plus adds its step to `hybrid` and to those steps before it
that are measured too: `hybrid,+rerank` reranks plain hybrid search, all stages together build up to the whole.
"""

from __future__ import annotations

import asyncio
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from tqdm import tqdm

from ragsite.core.rag_settings import RagSettings
from retrieval.engine.deps import Deps
from retrieval.engine.ports import SearchRequest
from retrieval.engine.prompting import PromptLibrary
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.providers.rerank_http import HttpReranker
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.milvus.index import BM25_B, BM25_K1, MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.search.space_search import SpaceSearcher
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.query.hyde import hyde
from retrieval.engine.steps.query.rewrite import rewrite
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.text.phrases import answer_language
from retrieval.engine.trace import Trace
from retrieval.engine.values import Query, Question, ScoredChunk
from retrieval.engine.workflows.registry import DEFAULT_WORKFLOW, get_workflow
from retrieval.evaluation.collection import ThrowAwayCollection, throw_away_collection
from retrieval.evaluation.dataset import Dataset, LabelledQuery
from retrieval.evaluation.metrics import RECALL_DEPTH, latency, measure

LEGS: dict[str, tuple[Literal["dense", "bm25"], ...]] = {
    "dense": ("dense",),
    "bm25": ("bm25",),
    "hybrid": ("dense", "bm25"),
}
ADDED = ("+rewrite", "+hyde", "+rerank", "+boosts")
STAGES = (*LEGS, *ADDED)
NO_RATINGS = "boost: there are no ratings to boost by"
CHUNKS_PER_DOCUMENT = 2  # candidates looked at for each document that recall@100 asks for
WARM_UP = 3  # searches before the clock starts
KINDS = ("answerable", "unanswerable", "clarify")


def parse_stages(text: str) -> tuple[str, ...]:
    """`dense,bm25,+rerank` (the plus may be left out) in the order of STAGES. Raises ArgumentTypeError."""
    names = [part.strip().lower() for part in text.split(",") if part.strip()]
    chosen = {name if name in STAGES else f"+{name}" for name in names}
    if not chosen or not chosen <= set(STAGES):
        raise ArgumentTypeError(f"There is no stage {text!r}; choose among {', '.join(STAGES)}.")
    return tuple(stage for stage in STAGES if stage in chosen)


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
        return {name: getattr(self, name) for name in ("dataset", "queries", "stages", "decisions")}


async def evaluate(
    dataset: Dataset,
    stages: Sequence[str],
    *,
    k: int,
    decisions: bool,
    settings: RagSettings,
    uri: str,
) -> Evaluation:
    """In an index of its own, gone afterwards. decisions: whether the default workflow is asked, too. uri: where Milvus
    listens.

    Raises EmbeddingUnavailableError, IndexUnavailableError, InvalidQueryError, ModelError, AppError.
    """
    async with loaded(dataset, settings=settings, uri=uri) as (deps, collection):
        figures: dict[str, dict[str, float]] = {}
        fallbacks: dict[str, Counter[str]] = {}
        for stage in stages:
            before = stages[: stages.index(stage) + 1] if stage in ADDED else ()
            added = frozenset(before) & frozenset(ADDED)
            figures[stage], fallbacks[stage] = await _ranked(
                deps, collection, dataset, stage, added, k
            )
        return Evaluation(
            dataset=dataset.name,
            queries=len(dataset.ranked),
            k=k,
            embedding_model=(await deps.models.default_embedder()).space.model,
            stages=figures,
            decisions=await _decided(deps, collection, dataset) if decisions else {},
            fallbacks={stage: dict(reasons) for stage, reasons in fallbacks.items() if reasons},
        )


@asynccontextmanager
async def loaded(
    dataset: Dataset, *, settings: RagSettings, uri: str
) -> AsyncIterator[tuple[Deps, ThrowAwayCollection]]:
    """The set in an index of its own, and an engine over it. uri: where Milvus listens.

    Raises EmbeddingUnavailableError, IndexUnavailableError.
    """
    models = ModelRegistry(settings.ollama)
    index = MilvusIndex(
        settings.milvus.replace(
            uri=uri, prefix=f"{settings.milvus.prefix}_evaluate_{uuid4().hex[:12]}"
        ),
        uri=uri,
        writer_lock=only_writer,
        k1=BM25_K1,
        b=BM25_B,
    )
    try:
        async with throw_away_collection(
            dataset, settings=settings, index=index, models=models
        ) as collection:
            deps = Deps(
                settings=settings,
                models=models,
                prompts=PromptLibrary(settings.own_prompts, settings.prompt_files),
                store=collection.store,
                searcher=HybridSearcher(
                    SpaceSearcher(
                        index=index, store=collection.store, models=models, settings=settings.search
                    )
                ),
                reranker=HttpReranker(settings.rerank) if settings.rerank.url else None,
            )
            yield deps, collection
    finally:
        await index.close()
        await models.close()


async def _ranked(
    deps: Deps,
    collection: ThrowAwayCollection,
    dataset: Dataset,
    stage: str,
    added: frozenset[str],
    k: int,
) -> tuple[dict[str, float], Counter[str]]:
    """Metrics as means over the questions, rounded to 4 digits, with `p50_ms` and `p95_ms`; and what fell back."""
    questions = [question for question in dataset.ranked if question.text.strip()]
    for question in questions[:WARM_UP]:
        await _search(deps, collection, question.text, stage, added, k)
    rankings: dict[str, list[str]] = {
        question.id: [] for question in dataset.ranked
    }  # an empty one finds nothing
    times: list[float] = []
    fallbacks: Counter[str] = Counter()
    for question in _with_progress(questions, stage):
        begun = time.perf_counter()
        candidates, fell_back = await _search(deps, collection, question.text, stage, added, k)
        times.append((time.perf_counter() - begun) * 1000)
        fallbacks.update(fell_back)
        found = (collection.document_of[candidate.chunk.document_id] for candidate in candidates)
        rankings[question.id] = list(
            dict.fromkeys(found)
        )  # a document stands where its best chunk does
    means = await asyncio.to_thread(measure, dataset.qrels, rankings, k=k)
    return {**{name: round(value, 4) for name, value in means.items()}, **latency(times)}, fallbacks


async def _search(
    deps: Deps,
    collection: ThrowAwayCollection,
    text: str,
    stage: str,
    added: frozenset[str],
    k: int,
) -> tuple[Sequence[ScoredChunk], set[str]]:
    """Candidates, best first, and "step: reason" for every step that could not do its own work.

    Raises IndexUnavailableError, InvalidQueryError; EmbeddingUnavailableError for `dense` alone.
    """
    trace = Trace()
    timeout_s = deps.settings.corrective.timeout_s
    deps = deps.for_answer(trace, timeout_s=timeout_s, language=answer_language(text))
    question = Question(text=text, scope=collection.scope)
    queries: tuple[Query, ...] = (Query(text),)
    if "+rewrite" in added:
        queries += await rewrite(deps, question)
    if "+hyde" in added:
        queries += await hyde(deps, question)
    request = SearchRequest(
        queries=queries,
        scope=collection.scope,
        top_k=k,  # what a user would ask for, which decides how wide is searched
        depth=CHUNKS_PER_DOCUMENT * max(RECALL_DEPTH, k),
        stages=LEGS.get(stage, LEGS["hybrid"]),
    )
    candidates = (await search_documents(deps, request)).candidates
    if "+rerank" in added:
        # As an answer has it: of what it searches for, each said once. It never sees the others.
        found = breadth(question, deps.settings)
        ranked = await rerank(
            deps, question, await dedupe(deps, candidates[:found]), by_default=True
        )
        candidates = (*ranked, *candidates[found:])
    fallbacks = {f"{entry['step']}: {entry['reason']}" for entry in trace.degraded}
    return candidates, fallbacks | ({NO_RATINGS} if "+boosts" in added else set())


async def _decided(
    deps: Deps, collection: ThrowAwayCollection, dataset: Dataset
) -> dict[str, dict[str, int]]:
    """What the question is → what the workflow did → how often."""
    workflow = get_workflow(DEFAULT_WORKFLOW)
    counts: dict[str, Counter[str]] = {}
    for question in _with_progress(dataset.decided, "decisions"):
        answer = await workflow.answer(
            Question(text=question.text, scope=collection.scope), engine=deps, trace=Trace()
        )
        counts.setdefault(question.kind, Counter())[str(answer.decision)] += 1
    return {kind: dict(counts[kind]) for kind in KINDS if kind in counts}


def _with_progress(questions: Sequence[LabelledQuery], label: str) -> Iterable[LabelledQuery]:
    return tqdm(questions, desc=label, mininterval=0.5, leave=False)
