"""The questions of a run, and where they are searched.

Golden questions are searched in the site's own collections by the site's own engine: without its cache, which would
answer in no time, without memory, checked answers and the web, which are not what is measured. Imported sets are
indexed in a throw-away collection, as `manage.py evaluate` does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from feedback.evaluation.sets import golden_named, set_dataset
from feedback.models import EvaluationRun, FeedbackState, GoldenQuestion
from feedback.rounds.live import manual_rules
from ragsite.core.database import database_call
from ragsite.core.rag_settings import RagSettings
from ragsite.models import SettingRevision
from ragsite.runtime.live_settings import resolve
from retrieval.engine import Engine, get_engine, get_engine_for
from retrieval.evaluation.collection import Progress, index_of_its_own
from retrieval.evaluation.dataset import QueryClass
from retrieval.evaluation.embeddings import EMBEDDINGS, EmbeddingCache
from retrieval.evaluation.runner import AskedQuestion, Bench, Labels, throw_away_bench
from retrieval.models import Collection, Document
from retrieval.search.hybrid import HybridSearcher
from retrieval.selectors import collection_ref
from retrieval.values import SearchScope, StoredChunk

KIND_OF: Mapping[str, QueryClass] = {"ANSWER": "answerable", "NO_ANSWER": "unanswerable", "CLARIFY": "clarify"}
DIGEST_CHARS = 12
PREFIX = "evaluation_run"  # one run at a time: what a killed one left there, the next one removes


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Where an imported set's run indexes; empty for golden questions."""

    uri: str = ""


@contextmanager
def index_place(run: EvaluationRun) -> Iterator[IndexPlace]:
    """To be entered by the worker's main thread, outside of the loop. Raises MilvusLiteError."""
    if not run.set.is_imported:
        yield IndexPlace()
        return
    with index_of_its_own(settings.RAG) as uri:
        yield IndexPlace(uri)


@asynccontextmanager
async def bench_of(run: EvaluationRun, place: IndexPlace, *, progress: Progress) -> AsyncIterator[Bench]:
    """Raises DatasetError, EmbeddingUnavailableError, IndexUnavailableError."""
    if run.set.is_imported:
        dataset = await database_call(set_dataset, run.set, limit=run.limit)
        rag: RagSettings = settings.RAG
        with EmbeddingCache(Path(settings.DATA_DIR) / "cache" / EMBEDDINGS) as cache:
            async with throw_away_bench(
                dataset, settings=rag, uri=place.uri, cache=cache, progress=progress,
                prefix=f"{rag.milvus.prefix}_{PREFIX}",
            ) as bench:  # fmt: skip
                yield bench
        return
    yield await _golden_bench(run)


# ------------------------------------------------------------------------------------------------ golden questions
async def _golden_bench(run: EvaluationRun) -> Bench:
    asked, labels = await database_call(_golden_questions, run)
    engine = get_engine_for(await database_call(trial_settings, run)) if run.tried_id else get_engine()
    spaces = {ref.space.model for question in asked for ref in question.scope.collections if ref.space}
    return Bench(questions=asked, tools=_uncached(engine), labels=labels, embedding_model=", ".join(sorted(spaces)))


def _uncached(engine: Engine) -> Engine:
    hybrid = HybridSearcher(
        index=engine.index, store=engine.store, models=engine.models, settings=engine.settings.search
    )
    return replace(engine, searcher=hybrid, memory=None, curated=None, web=None)


def trial_settings(run: EvaluationRun) -> RagSettings:
    """Of the draft, or of what was live when it was tried: what goes live meanwhile changes neither side."""
    tried = SettingRevision.objects.select_related("base").get(pk=run.tried_id or 0)
    stored = tried if run.with_draft else tried.base
    return resolve(stored.changes if stored else {}).rag


def _golden_questions(run: EvaluationRun) -> tuple[list[AskedQuestion], GoldenLabels]:
    """Of more than the limit always the same, also when others are added or deleted."""
    named = run.set.golden if run.golden is None else run.golden
    rows = golden_named(named).select_related("collection").prefetch_related("relevant")
    chosen = sorted(rows, key=lambda row: hashlib.sha256(row.pk.bytes).digest())[: run.limit]
    labels = GoldenLabels()
    asked = []
    for row in sorted(chosen, key=lambda row: (row.created_at, row.pk)):
        relevant = list(row.relevant.all())
        documents = {str(item.document_id): item.grade for item in relevant if item.chunk_id is None}
        chunks = {str(item.chunk_id): item.grade for item in relevant if item.chunk_id is not None}
        if not relevant and not (run.workflow and row.expects != GoldenQuestion.Expected.ANSWER):
            continue  # what answered it was deleted, or there is nothing to find and no workflow is asked
        key = _key(row, documents, chunks)
        labels.add(key, documents=frozenset(documents), chunks=frozenset(chunks))
        asked.append(
            AskedQuestion(
                id=key,
                text=row.text,
                scope=SearchScope((collection_ref(row.collection),)),
                relevant={**documents, **chunks},
                kind=KIND_OF[row.expects],
            )
        )
    return asked, labels


def _key(row: GoldenQuestion, documents: Mapping[str, int], chunks: Mapping[str, int]) -> str:
    """The question's id, and a digest of its words and of what is right for it."""
    said = json.dumps(
        [row.text, str(row.collection_id), row.expects, sorted(documents.items()), sorted(chunks.items())]
    )
    return f"{row.pk}:{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:DIGEST_CHARS]}"


class GoldenLabels(Labels):
    """Relevant chunks count as themselves, beside relevant documents."""

    def __init__(self) -> None:
        self._documents: dict[str, frozenset[str]] = {}
        self._chunks: dict[str, frozenset[str]] = {}

    def add(self, question: str, *, documents: frozenset[str], chunks: frozenset[str]) -> None:
        self._documents[question], self._chunks[question] = documents, chunks

    def of(self, question: AskedQuestion, chunk: StoredChunk) -> str:
        documents, chunks = self._documents[question.id], self._chunks[question.id]
        if chunk.chunk_id in chunks or (chunks and chunk.document_id not in documents):
            return chunk.chunk_id
        return chunk.document_id


# ------------------------------------------------------------------------------------------------ what differs
async def setup_of(run: EvaluationRun, bench: Bench) -> dict[str, Any]:
    """What the site was like. Names of models are "" where there was none."""
    status = await bench.tools.models.status()
    setup: dict[str, Any] = {
        "embedding_model": bench.embedding_model,
        "chat_model": status.chat_model,
        "fast_model": status.fast_model,
    }
    if not run.set.is_imported:
        ids = {ref.id for question in bench.questions for ref in question.scope.collections}
        setup |= await database_call(_site, ids)
    else:
        setup |= {"documents": run.set.documents}
    return setup


def _site(collection_ids: set[str]) -> dict[str, Any]:
    searched = Q(collection__in=Collection.objects.filter(pk__in=collection_ids), status=Document.Status.READY)
    found = Document.objects.filter(searched, superseded_at=None).aggregate(
        documents=Count("pk"), chunks=Coalesce(Sum("chunk_count"), 0)
    )
    live = FeedbackState.objects.filter(pk=1).values_list("live__number", flat=True).first()
    return {**found, "revision": live, "boosts_by_hand": len(manual_rules())}
