"""Measures a proposal before it may go live: searches golden and recent questions, and ranks what was found with the
live boosts and with the new ones."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

import numpy as np
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from numpy.typing import NDArray

from chat.models import Message
from feedback.models import GoldenQuestion
from feedback.ranking import guard as limits
from feedback.ranking.guard import TOP, Compared, GuardReport, judge
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.engine_work import with_engine
from feedback.rounds.live import manual_rules, snapshot_make, snapshots_make
from feedback.rounds.proposals import Proposal
from ragsite.core.errors import AppError
from ragsite.runtime import milvus_lite
from retrieval.engine import Engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import SearchRequest
from retrieval.search.boosting import NO_BOOST, Ranked, ranked_with
from retrieval.selectors import collection_ref, scope_as_asked, scope_for
from retrieval.text.analysis import query_terms
from retrieval.values import Contender, EmbeddingSpace, Query, ScoredChunk, SearchScope

GOLDEN_QUESTIONS = 300  # measured at most; more are sampled
RECENT_QUESTIONS = 60  # sampled to see how much changes
RECENT_DAYS = 30  # how far back they are taken from

AT_ONCE = 4  # searches
SEED = 5  # the same sample for the same questions
Item = TypeVar("Item")
Found = Sequence[ScoredChunk | Contender]
Vectors = Mapping[EmbeddingSpace, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to measure. documents, chunks: id → grade of what is relevant, both empty for a recent question."""

    text: str
    scope: SearchScope
    documents: Mapping[str, int]
    chunks: Mapping[str, int]


def guard_measure(proposal: Proposal, *, live: Content, report: Callable[[], None] = lambda: None) -> GuardReport:
    """What could not be measured is a reason to hold: nobody knows then whether it is worse."""
    golden, recent = golden_questions(GOLDEN_QUESTIONS), recent_questions(RECENT_QUESTIONS)
    if not golden and not recent:
        return judge([], [], margin=limits.GOLDEN_MARGIN, max_churn=limits.MAX_CHURN)
    priors_changed = any(change.passage is None for change in proposal.changes)
    changed = None if priors_changed else snapshot_make(_changed_rows(proposal, live))
    asked = (*golden, *recent)
    near = asked if changed is None else with_engine(partial(_near, asked, changed))
    try:
        measured = _measure(near, (live, proposal.content), report) if near else []
    except (AppError, milvus_lite.MilvusLiteError) as error:
        reason = f"it could not be measured: {error}"
        return GuardReport(golden=len(golden), recent=len(recent), reason=reason)
    results = _with_the_untouched(measured, asked)
    return judge(
        [one for one in results if one.relevant],
        [one for one in results if not one.relevant],
        margin=limits.GOLDEN_MARGIN,
        max_churn=limits.MAX_CHURN,
    )


def _measure(near: Sequence[Asked], contents: Sequence[Content], report: Callable[[], None]) -> list[Compared]:
    """contents: before and after. Raises AppError, MilvusLiteError."""
    before, after = snapshots_make(contents, manual=manual_rules())

    async def work(engine: Engine) -> list[Compared]:
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(asked: Asked) -> Compared:
            async with limit:
                compared = await _compared(asked, engine, before, after)
            await sync_to_async(report)()
            return compared

        return await asyncio.gather(*map(one, near))

    with _index_at_hand():
        return with_engine(work)


def _index_at_hand() -> AbstractContextManager[object]:
    """The index's own server, where the site does not run and none is configured."""
    if settings.RAG.milvus.uri:
        return nullcontext()
    return milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port)


def _changed_rows(proposal: Proposal, live: Content) -> Content:
    """The rows of both that differ: a question that is near none of them is ranked as before."""
    keys = {(change.question, change.passage) for change in proposal.changes if change.passage is not None}
    parts = []
    for content in (live, proposal.content):
        rows = content.queries
        pairs = zip(rows.question.tolist(), rows.passage.tolist(), strict=True)
        parts.append(rows.where(np.asarray([pair in keys for pair in pairs], dtype=bool)))
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in type(parts[0]).__slots__}
    return Content(queries=type(parts[0])(**joined), documents={}, parameters=proposal.content.parameters)


def _with_the_untouched(measured: Sequence[Compared], asked: Sequence[Asked]) -> list[Compared]:
    """All questions: those that no changed boost is near to are ranked as before."""
    done = {(one.question, tuple(sorted(one.relevant))) for one in measured}
    rest = [one for one in asked if (one.text, tuple(sorted(_relevant(one)))) not in done]
    return [*measured, *(Compared(question=one.text, relevant=_relevant(one), untouched=True) for one in rest)]


async def _near(asked: Sequence[Asked], changed: Snapshot, engine: Engine) -> list[Asked]:
    """The questions that a changed boost is near to."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def is_near(one: Asked) -> bool:
        async with limit:
            terms = await asyncio.to_thread(query_terms, one.text)
            return changed.nearest(terms, await _vectors(one.text, changed.spaces, engine)) > 0.0

    near = await asyncio.gather(*map(is_near, asked))
    return [one for one, yes in zip(asked, near, strict=True) if yes]


async def _compared(asked: Asked, engine: Engine, before: Snapshot, after: Snapshot) -> Compared:
    """Raises AppError."""
    terms = await asyncio.to_thread(query_terms, asked.text)
    vectors = await _vectors(asked.text, tuple({*before.spaces, *after.spaces}), engine)
    request = SearchRequest(queries=(Query(asked.text),), scope=asked.scope, top_k=TOP)
    result = await engine.searcher.search(request)
    found: Found = (*result.candidates, *result.contenders)
    return Compared(
        question=asked.text,
        before=_ranking(asked, found, before, terms, vectors),
        after=_ranking(asked, found, after, terms, vectors),
        relevant=_relevant(asked),
    )


async def _vectors(text: str, spaces: Sequence[EmbeddingSpace], engine: Engine) -> Vectors:
    vectors: dict[EmbeddingSpace, NDArray[np.float32]] = {}
    for space in spaces:
        try:
            vectors[space] = await (await engine.models.embedder(space)).embed_query(text)
        except EmbeddingUnavailableError:  # searches do without it as well
            continue
    return vectors


def _ranking(asked: Asked, found: Found, snapshot: Snapshot, terms: Sequence[str], vectors: Vectors) -> list[str]:
    """The best TOP: documents where the question's labels are documents, else chunks."""
    boosts = snapshot.boosts(terms, vectors, found, now=timezone.now().timestamp())
    shown = [one for one in found if not boosts.by_chunk.get(one.chunk_id, NO_BOOST).hide]
    ranked = ranked_with(shown, boosts, pool=found)
    ids = [_label(asked, one) for one in ranked]
    return list(dict.fromkeys(ids))[:TOP]


def _label(asked: Asked, one: Ranked) -> str:
    """What the question's labels call it: relevant chunks stand for themselves beside relevant documents."""
    if not asked.chunks:
        return one.document_id if asked.documents else one.chunk_id
    return one.document_id if one.document_id in asked.documents and one.chunk_id not in asked.chunks else one.chunk_id


def _relevant(asked: Asked) -> dict[str, int]:
    return {**asked.documents, **asked.chunks}


# ------------------------------------------------------------------------------------------------ what is asked
def golden_questions(limit: int) -> list[Asked]:
    """Those that are switched on and have something relevant that still exists; a seeded sample of more."""
    rows = GoldenQuestion.objects.filter(enabled=True, relevant__isnull=False).distinct().order_by("created_at", "pk")
    chosen = _sample(list(rows.select_related("collection").prefetch_related("relevant")), limit)
    return [
        Asked(
            text=row.text,
            scope=SearchScope((collection_ref(row.collection),)),
            documents={str(one.document_id): one.grade for one in row.relevant.all() if one.chunk_id is None},
            chunks={str(one.chunk_id): one.grade for one in row.relevant.all() if one.chunk_id is not None},
        )
        for row in chosen
    ]


def recent_questions(limit: int) -> list[Asked]:
    """What users asked lately, each wording once, in the collections that its answer was looked for in."""
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    rows = Message.objects.filter(role=Message.Role.ASSISTANT, decision=Message.Decision.ANSWER, created_at__gte=since)
    newest = rows.exclude(reply_to=None).order_by("-created_at").values_list("pk", "reply_to__text")[: limit * 20]
    distinct = {" ".join(text.casefold().split()): key for key, text in newest if text.strip()}
    chosen = _sample(sorted(distinct.values()), limit)
    asked = []
    for row in Message.objects.filter(pk__in=chosen).select_related("reply_to", "session__user").order_by("pk"):
        try:
            scope = scope_as_asked(
                user=row.session.user,
                names=row.request.get("collections", []),
                ids=row.request.get("collection_ids", []),
                asked_at=row.created_at,
            )
        except AppError:  # one of the collections is not there any more
            scope = scope_for(user=row.session.user)
        if row.reply_to:
            asked.append(Asked(text=row.reply_to.text, scope=scope, documents={}, chunks={}))
    return asked


def _sample(rows: Sequence[Item], limit: int) -> list[Item]:
    return list(rows) if len(rows) <= limit else random.Random(SEED).sample(list(rows), limit)  # noqa: S311
