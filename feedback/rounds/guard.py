"""Measures a proposal before it may go live, on golden and on recent questions."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
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
from feedback.ranking.boosts import QueryTallies
from feedback.ranking.guard import TOP, Compared, GuardReport, judge
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import manual_rules, snapshot_make, snapshots_make
from feedback.rounds.proposals import Proposal
from feedback.rounds.query_moves import moved_request
from feedback.rounds.questions import with_engine
from ragsite.core.errors import AppError
from ragsite.runtime import milvus_lite
from retrieval.engine import Engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.search.boosting import NO_BOOST, Ranked, rank_with_boosts
from retrieval.selectors import collection_ref, scope_as_asked, scope_for
from retrieval.text.analysis import query_terms
from retrieval.values import EmbeddingSpace, Query, ScoredChunk, SearchScope, TailHit

GOLDEN_QUESTIONS = 300  # measured at most; of more a sample
RECENT_QUESTIONS = 60  # a sample, to see how much changes
RECENT_DAYS = 30  # how far back they are taken from
AT_ONCE = 4  # searches
SEED = 5  # the same sample for the same questions
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to measure. documents, chunks: id → grade of what is relevant, both empty for a recent question."""

    text: str
    scope: SearchScope
    documents: Mapping[str, int]
    chunks: Mapping[str, int]

    @property
    def relevant(self) -> dict[str, int]:
        return {**self.documents, **self.chunks}

    def label(self, hit: Ranked) -> str:
        """The id by which the hit is counted: relevant chunks count as themselves, beside relevant documents."""
        by_document = hit.document_id in self.documents if self.chunks else bool(self.documents)
        return hit.document_id if by_document and hit.chunk_id not in self.chunks else hit.chunk_id


def guard_measure(proposal: Proposal, *, live: Content, report: Callable[[], None] = lambda: None) -> GuardReport:
    """Searches with golden and recent questions, and compares the rankings by the live boosts and by the new ones.

    Only questions that are similar to one with a changed boost are searched. `report` is called after each. When a
    search fails, the revision is held: it is not known then whether it is worse.
    """
    golden, recent = golden_questions(GOLDEN_QUESTIONS), recent_questions(RECENT_QUESTIONS)
    questions = (*golden, *recent)
    compared = [Compared(question=question.text, relevant=question.relevant, untouched=True) for question in questions]
    touched = list(range(len(questions)))
    if questions and all(change.passage is not None for change in proposal.changes):  # no document's prior changes
        touched = with_engine(partial(_similar, questions, snapshot_make(_changed_rows(proposal, live))))
    if touched:
        try:
            results = _measure([questions[place] for place in touched], (live, proposal.content), report)
        except (AppError, milvus_lite.MilvusLiteError) as error:
            reason = f"it could not be measured: {error}"
            return GuardReport(golden=len(golden), recent=len(recent), reason=reason, not_measured=True)
        for place, result in zip(touched, results, strict=True):
            compared[place] = result
    margin, max_churn = limits.GOLDEN_MARGIN, limits.MAX_CHURN
    return judge(compared[: len(golden)], compared[len(golden) :], margin=margin, max_churn=max_churn)


def _changed_rows(proposal: Proposal, live: Content) -> Content:
    """The rows that differ, of both revisions; also those whose passage moves queries in one of them alone."""
    keys = {(change.question, change.passage) for change in proposal.changes}
    moving = np.setxor1d(proposal.content.moving, live.moving)
    parts = []
    for content in (live, proposal.content):
        pairs = zip(content.queries.question.tolist(), content.queries.passage.tolist(), strict=True)
        changed = np.asarray([pair in keys for pair in pairs], dtype=bool)
        parts.append(content.queries.where(changed | np.isin(content.queries.passage, moving)))
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in QueryTallies.__slots__}
    return Content(queries=QueryTallies(**joined), documents={}, parameters=proposal.content.parameters)


async def _similar(questions: Sequence[Question], changed: Snapshot, engine: Engine) -> list[int]:
    """The places of the questions that are similar to one of those in `changed`."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def is_similar(question: Question) -> bool:
        async with limit:
            return changed.highest_similarity(await _asked(question.text, changed.spaces, engine)) > 0.0

    similar = await asyncio.gather(*map(is_similar, questions))
    return [place for place, chosen in enumerate(similar) if chosen]


def _measure(questions: Sequence[Question], contents: Sequence[Content], report: Callable[[], None]) -> list[Compared]:
    """contents: before and after. Raises AppError, MilvusLiteError."""
    before, after = snapshots_make(contents, manual=manual_rules())

    async def work(engine: Engine) -> list[Compared]:
        limit = asyncio.Semaphore(AT_ONCE)

        async def measure(question: Question) -> Compared:
            async with limit:
                compared = await _compared(question, engine, before, after)
            await sync_to_async(report)()
            return compared

        return await asyncio.gather(*map(measure, questions))

    with contextlib.ExitStack() as stack:
        if not settings.RAG.milvus.uri:  # the index's own server, where the site does not run
            stack.enter_context(milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port))
        return with_engine(work)


async def _compared(question: Question, engine: Engine, before: Snapshot, after: Snapshot) -> Compared:
    """Raises AppError. What moves the query is searched once for each revision; else one search is ranked twice."""
    spaces = {*before.spaces, *after.spaces, *before.move_spaces, *after.move_spaces}
    asked = await _asked(question.text, tuple(spaces), engine)
    request = SearchRequest(queries=(Query(question.text),), scope=question.scope, top_k=TOP)
    requests = [moved_request(request, snapshot, asked) for snapshot in (before, after)]
    found = [await engine.searcher.search(requests[0])]
    found.append(await engine.searcher.search(requests[1]) if any(one.moves for one in requests) else found[0])

    def ranking(snapshot: Snapshot, result: SearchResult) -> list[str]:
        hits: Sequence[ScoredChunk | TailHit] = (*result.candidates, *result.tail_hits)
        boosts = snapshot.boosts(asked, hits, now=timezone.now().timestamp())
        visible = [hit for hit in hits if not boosts.by_chunk.get(hit.chunk_id, NO_BOOST).hide]
        return list(dict.fromkeys(map(question.label, rank_with_boosts(visible, boosts, pool=hits))))[:TOP]

    return Compared(
        question=question.text,
        before=ranking(before, found[0]),
        after=ranking(after, found[1]),
        relevant=question.relevant,
    )


async def _asked(text: str, spaces: Sequence[EmbeddingSpace], engine: Engine) -> AskedQuestion:
    vectors: dict[EmbeddingSpace, NDArray[np.float32]] = {}
    for space in spaces:
        try:
            vectors[space] = await (await engine.models.embedder(space)).embed_query(text)
        except EmbeddingUnavailableError:  # searches go on without the vector as well
            continue
    terms = await asyncio.to_thread(query_terms, text)
    return AskedQuestion(text=text, terms=terms, vectors=vectors)


# ------------------------------------------------------------------------------------------------ the questions
def golden_questions(limit: int) -> list[Question]:
    """Those that are switched on and have something relevant that still exists; of more than `limit` a sample."""
    rows = GoldenQuestion.objects.filter(enabled=True, relevant__isnull=False).distinct().order_by("created_at", "pk")
    chosen = _sample(list(rows.select_related("collection").prefetch_related("relevant")), limit)
    return [
        Question(
            text=row.text,
            scope=SearchScope((collection_ref(row.collection),)),
            documents={str(item.document_id): item.grade for item in row.relevant.all() if item.chunk_id is None},
            chunks={str(item.chunk_id): item.grade for item in row.relevant.all() if item.chunk_id is not None},
        )
        for row in chosen
    ]


def recent_questions(limit: int) -> list[Question]:
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
            asked.append(Question(text=row.reply_to.text, scope=scope, documents={}, chunks={}))
    return asked


def _sample(rows: Sequence[Item], limit: int) -> list[Item]:
    return list(rows) if len(rows) <= limit else random.Random(SEED).sample(list(rows), limit)  # noqa: S311
