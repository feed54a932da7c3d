"""Measures new boosts before they may go live, on golden and on recently asked questions."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from chat.models import Message
from feedback.models import GoldenQuestion
from feedback.ranking.guard import TOP, Compared, GuardReport, judge
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import manual_rules, query_vector
from ragsite.core.errors import AppError
from ragsite.core.messages import worded
from ragsite.runtime import milvus_lite
from retrieval.compose import Engine, with_engine
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.ports import SearchRequest
from retrieval.engine.search.boosting import NO_BOOST, Hit, rank_with_boosts
from retrieval.engine.text.same_question import Wording, wording
from retrieval.engine.values import Query, ScoredChunk, SearchScope, TailHit
from retrieval.knowledge.scopes import collection_ref, scope_for, scope_of_earlier

GOLDEN_QUESTIONS = 300  # measured at most; of more a sample
RECENT_QUESTIONS = 60  # a sample, to see how much changes
RECENT_DAYS = 30  # how far back they are taken from
AT_ONCE = 4  # searches
SEED = 5  # the same sample for the same questions
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQuestion:
    """A question to measure. documents: ids of those that answer it; empty but for golden questions."""

    text: str
    scope: SearchScope
    documents: frozenset[str] = frozenset()

    def label(self, hit: Hit) -> str:
        """The id by which the hit is counted."""
        return hit.document_id if self.documents else hit.chunk_id


def guard_measure(
    new: Content, *, live: Content, report: Callable[[], None] = lambda: None
) -> GuardReport:
    """Searches with golden and recent questions, and compares the rankings by the live boosts and by the new ones.

    `report` is called after each search. When one fails, it is not known whether the revision is worse: not measured,
    and held.
    """
    questions = [*golden_questions(), *recent_questions()]
    others = GoldenQuestion.objects.filter(documents=None).count()
    if not questions:
        return judge([], other_golden=others)
    rules = manual_rules()
    before = Snapshot(live, manual=rules)
    after = Snapshot(new, manual=rules)
    try:
        with contextlib.ExitStack() as stack:
            if not settings.RAG.milvus.uri:  # the index's own server, where the site does not run
                stack.enter_context(
                    milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port)
                )
            compared = with_engine(partial(_compare, questions, before, after, report=report))
    except (AppError, milvus_lite.MilvusLiteError) as error:
        reason = worded(
            "it could not be measured: {error}", error=getattr(error, "message", None) or str(error)
        )
        return GuardReport(reason=reason, measured=False)
    golden = sum(bool(question.documents) for question in questions)
    touched = sum(bool(question.relevant) for question in compared)
    recent = len(questions) - golden
    changed = len(compared) - touched
    return judge(
        compared,
        untouched_golden=golden - touched,
        untouched_recent=recent - changed,
        other_golden=others,
    )


async def _compare(
    questions: Sequence[MeasuredQuestion],
    before: Snapshot,
    after: Snapshot,
    engine: Engine,
    *,
    report: Callable[[], None],
) -> list[Compared]:
    """Those that the new boosts rank otherwise. Raises AppError."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def compare(question: MeasuredQuestion) -> Compared | None:
        async with limit:
            vector, _ = await query_vector(
                question.text, after.space or before.space, engine.models
            )
            own = await asyncio.to_thread(wording, question.text, vector)
            request = SearchRequest(
                queries=(Query(question.text),), scope=question.scope, top_k=TOP
            )
            result = await engine.searcher.search(request)
            if not await engine.searcher.is_whole(question.scope):
                raise IndexUnavailableError  # what the database finds in its place is ranked otherwise
        hits: list[ScoredChunk | TailHit] = [*result.candidates, *result.tail_hits]
        rankings = [_ranking(question, snapshot, own, hits) for snapshot in (before, after)]
        await sync_to_async(report)()
        if rankings[0] == rankings[1]:
            return None
        return Compared(
            question=question.text,
            before=rankings[0],
            after=rankings[1],
            relevant=dict.fromkeys(question.documents, 1),
        )

    found = await asyncio.gather(*map(compare, questions))
    return [one for one in found if one is not None]


def _ranking(
    question: MeasuredQuestion,
    snapshot: Snapshot,
    own: Wording,
    hits: Sequence[ScoredChunk | TailHit],
) -> list[str]:
    """hits: what the search has found, whatever the boosts. The best TOP ids."""
    boosts = snapshot.boosts(own, hits, now=timezone.now().timestamp())
    visible = [hit for hit in hits if not boosts.by_chunk.get(hit.chunk_id, NO_BOOST).hide]
    return list(dict.fromkeys(map(question.label, rank_with_boosts(visible, boosts, pool=hits))))[
        :TOP
    ]


# ------------------------------------------------------------------------------------------------ the questions
def golden_questions() -> list[MeasuredQuestion]:
    """Those with documents that still exist."""
    rows = (
        GoldenQuestion.objects.filter(documents__isnull=False)
        .distinct()
        .order_by("created_at", "pk")
    )
    chosen = _sample(
        list(rows.select_related("collection").prefetch_related("documents")), GOLDEN_QUESTIONS
    )
    return [
        MeasuredQuestion(
            text=row.text,
            scope=SearchScope((collection_ref(row.collection),)),
            documents=frozenset(str(document.pk) for document in row.documents.all()),
        )
        for row in chosen
    ]


def recent_questions() -> list[MeasuredQuestion]:
    """What users asked lately, each wording once, in the collections that its answer was looked for in."""
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    rows = Message.objects.filter(
        role=Message.Role.ASSISTANT, decision=Message.Decision.ANSWER, created_at__gte=since
    )
    rows = rows.filter(
        session__kept=True, request__documents__isnull=True
    )  # what is asked of one document is no search
    newest = rows.exclude(reply_to=None).order_by("-created_at").values_list("pk", "reply_to__text")
    distinct = {
        " ".join(text.casefold().split()): key
        for key, text in newest[: RECENT_QUESTIONS * 20]
        if text.strip()
    }
    chosen = _sample(sorted(distinct.values()), RECENT_QUESTIONS)
    questions = []
    for row in (
        Message.objects.filter(pk__in=chosen)
        .select_related("reply_to", "session__user")
        .order_by("pk")
    ):
        try:
            scope = scope_of_earlier(
                user=row.session.user,
                names=row.request.get("collections", []),
                ids=row.request.get("collection_ids", []),
                asked_at=row.created_at,
            )
        except AppError:  # one of the collections is not there any more
            scope = scope_for(user=row.session.user)
        if row.reply_to:
            questions.append(MeasuredQuestion(text=row.reply_to.text, scope=scope))
    return questions


def _sample(rows: Sequence[Item], limit: int) -> list[Item]:
    return list(rows) if len(rows) <= limit else random.Random(SEED).sample(list(rows), limit)  # noqa: S311
