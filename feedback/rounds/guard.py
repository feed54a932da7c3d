"""Measures a proposal before it may go live, on golden, recent, rated and contrast questions."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import numpy as np
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from numpy.typing import NDArray

from chat.models import Message
from feedback.models import Evidence, GoldenQuestion, RatedPassage, RatedQuestion
from feedback.ranking import guard as limits
from feedback.ranking.boosts import QueryTallies
from feedback.ranking.contrast import contrasts_of
from feedback.ranking.guard import TOP, Compared, GuardReport, Outcome, judge
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import manual_rules, questions_terms, snapshot_make, snapshots_make
from feedback.rounds.proposals import Proposal
from feedback.rounds.questions import with_engine
from ragsite.core.errors import AppError
from ragsite.core.wording import worded
from ragsite.runtime import milvus_lite
from retrieval.engine import Engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Document
from retrieval.ports import SearchRequest
from retrieval.search.boosting import NO_BOOST, Ranked, rank_with_boosts
from retrieval.selectors import collection_ref, scope_as_asked, scope_for
from retrieval.text.analysis import query_terms
from retrieval.values import EmbeddingSpace, Query, ScoredChunk, SearchScope, TailHit

GOLDEN_QUESTIONS = 300  # measured at most; of more a sample
RECENT_QUESTIONS = 60  # a sample, to see how much changes; 0: golden questions alone are measured
RATED_SHARE = 0.5  # of these, from the questions whose boosts change; the others are chosen without regard to that
CONTRAST_QUESTIONS = 60  # made from a sample of the questions whose boosts change
RECENT_DAYS = 30  # how far back they are taken from
AT_ONCE = 4  # searches
SEED = 5  # the same sample for the same questions
NOTHING_TO_MEASURE = worded("there is no question to measure it with: nobody knows what it does to the first results")
Item = TypeVar("Item")
Hits = Sequence[ScoredChunk | TailHit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to measure. documents, chunks: id → grade of what is relevant, empty but for golden questions.

    contrast_of, change: of a contrast question, the rated question and what was changed in it.
    """

    text: str
    scope: SearchScope
    documents: Mapping[str, int] = field(default_factory=dict)
    chunks: Mapping[str, int] = field(default_factory=dict)
    contrast_of: str = ""
    change: str = ""

    @property
    def relevant(self) -> dict[str, int]:
        return {**self.documents, **self.chunks}

    def label(self, hit: Ranked) -> str:
        """The id by which the hit is counted: relevant chunks count as themselves, beside relevant documents."""
        by_document = hit.document_id in self.documents if self.chunks else bool(self.documents)
        return hit.document_id if by_document and hit.chunk_id not in self.chunks else hit.chunk_id


def guard_measure(proposal: Proposal, *, live: Content, report: Callable[[], None] = lambda: None) -> GuardReport:
    """Searches with golden, recent, rated and contrast questions, and compares the rankings by the live boosts, by the
    new ones, and by none.

    Only questions that a boost in question can touch are searched. `report` is called after each. When a search fails,
    the revision is held as not measured: it is not known then whether it is worse.
    """
    begun = time.monotonic()
    questions = _questions(proposal)
    judged = _judge(questions, proposal, live, report)
    return replace(judged, duration_ms=round((time.monotonic() - begun) * 1000))


def _judge(questions: _Questions, proposal: Proposal, live: Content, report: Callable[[], None]) -> GuardReport:
    every = (*questions.golden, *questions.recent, *questions.contrast)
    recent_from, contrast_from = len(questions.golden), len(every) - len(questions.contrast)
    if not every:
        held = RECENT_QUESTIONS > 0
        outcome, reason = (Outcome.NOTHING_TO_MEASURE, NOTHING_TO_MEASURE) if held else (Outcome.PASSED, "")
        return GuardReport(outcome=outcome, reason=reason, notes=(limits.NO_GOLDEN,))
    compared = [
        Compared(
            question=question.text, relevant=question.relevant, untouched=True,
            contrast_of=question.contrast_of, change=question.change,
        )
        for question in every
    ]  # fmt: skip
    rankers = _rankers(proposal, live)
    asked = with_engine(partial(_asked_all, every, rankers.spaces))
    touched = [
        place
        for place, question in enumerate(every)
        if rankers.may_touch(asked[place], by_changes=recent_from <= place < contrast_from)
    ]
    notes = _without_vectors(asked, rankers.spaces)
    if touched:
        try:
            measured = _measure([(every[place], asked[place]) for place in touched], rankers, report)
        except (AppError, milvus_lite.MilvusLiteError) as error:
            reason = worded("it could not be measured: {error}", error=getattr(error, "message", None) or str(error))
            return GuardReport(
                golden=len(questions.golden), recent=len(questions.recent), contrast=len(questions.contrast),
                outcome=Outcome.NOT_MEASURED, reason=reason, notes=notes,
            )  # fmt: skip
        for place, rankings in zip(touched, measured, strict=True):
            compared[place] = replace(
                compared[place], untouched=False, before=rankings.before, after=rankings.after,
                without=rankings.priors if every[place].contrast_of else rankings.nothing,
            )  # fmt: skip
    judged = judge(
        compared[:recent_from],
        compared[recent_from:contrast_from],
        compared[contrast_from:],
        margin=limits.GOLDEN_MARGIN,
        max_churn=limits.MAX_CHURN,
    )
    return replace(judged, notes=(*judged.notes, *notes))


# ------------------------------------------------------------------------------------------------ rankings
@dataclass(frozen=True, slots=True, kw_only=True)
class _Rankings:
    """One question's best TOP ids, by each of the contents that are compared."""

    before: list[str]
    after: list[str]
    priors: list[str]
    nothing: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rankers:
    """before, after: the live revision and the new one. priors: the new one's documents alone, without what was voted
    for questions. nothing: no feedback. changed: the rows that differ. All with the boosts by hand but `changed`.

    priors_change, any_prior: whether documents' priors differ, and whether there are any: these touch every question.
    parameters_change: so every boost may count otherwise.
    """

    before: Snapshot
    after: Snapshot
    priors: Snapshot
    nothing: Snapshot
    changed: Snapshot
    priors_change: bool
    any_prior: bool
    parameters_change: bool

    @property
    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        snapshots = (self.before, self.after)
        return tuple({space for snapshot in snapshots for space in snapshot.spaces})

    def may_touch(self, asked: AskedQuestion, *, by_changes: bool) -> bool:
        """Whether the question may be ranked otherwise: by what changes, or by any boost at all."""
        if by_changes and not self.parameters_change:
            return self.priors_change or self.changed.highest_similarity(asked) > 0.0
        snapshots = (self.before, self.after)
        return self.any_prior or any(snapshot.highest_similarity(asked) > 0.0 for snapshot in snapshots)

    def rankings(self, question: Question, asked: AskedQuestion, hits: Hits) -> _Rankings:
        """hits: what the search has found, whatever the boosts."""
        now = timezone.now().timestamp()

        def ranking(snapshot: Snapshot) -> list[str]:
            boosts = snapshot.boosts(asked, hits, now=now)
            visible = [hit for hit in hits if not boosts.by_chunk.get(hit.chunk_id, NO_BOOST).hide]
            return list(dict.fromkeys(map(question.label, rank_with_boosts(visible, boosts, pool=hits))))[:TOP]

        before, after, priors, nothing = map(ranking, (self.before, self.after, self.priors, self.nothing))
        return _Rankings(before=before, after=after, priors=priors, nothing=nothing)


def _rankers(proposal: Proposal, live: Content) -> _Rankers:
    new = proposal.content
    nothing = Content.empty(new.parameters)
    contents = (live, new, replace(nothing, documents=new.documents), nothing)
    before, after, priors, without = snapshots_make(contents, manual=manual_rules())
    return _Rankers(
        before=before,
        after=after,
        priors=priors,
        nothing=without,
        changed=snapshot_make(_changed_rows(proposal, live)),
        priors_change=any(change.passage is None for change in proposal.changes),
        any_prior=bool(live.documents or new.documents),
        parameters_change=dict(live.parameters) != dict(new.parameters),
    )


def _changed_rows(proposal: Proposal, live: Content) -> Content:
    """The rows that differ, of both revisions."""
    keys = {(change.question, change.passage) for change in proposal.changes}
    parts = []
    for content in (live, proposal.content):
        pairs = zip(content.queries.question.tolist(), content.queries.passage.tolist(), strict=True)
        parts.append(content.queries.where(np.asarray([pair in keys for pair in pairs], dtype=bool)))
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in QueryTallies.__slots__}
    return replace(proposal.content, queries=QueryTallies(**joined), documents={})


def _measure(
    questions: Sequence[tuple[Question, AskedQuestion]], rankers: _Rankers, report: Callable[[], None]
) -> list[_Rankings]:
    """Raises AppError, MilvusLiteError."""

    async def work(engine: Engine) -> list[_Rankings]:
        limit = asyncio.Semaphore(AT_ONCE)

        async def measure(question: Question, asked: AskedQuestion) -> _Rankings:
            async with limit:
                found = await _search(question, engine)
                rankings = rankers.rankings(question, asked, found)
            await sync_to_async(report)()
            return rankings

        return await asyncio.gather(*(measure(question, asked) for question, asked in questions))

    with contextlib.ExitStack() as stack:
        if not settings.RAG.milvus.uri:  # the index's own server, where the site does not run
            stack.enter_context(milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port))
        return with_engine(work)


async def _search(question: Question, engine: Engine) -> Hits:
    """Raises AppError."""
    request = SearchRequest(queries=(Query(question.text),), scope=question.scope, top_k=TOP)
    result = await engine.searcher.search(request)
    return (*result.candidates, *result.tail_hits)


async def _asked_all(
    questions: Sequence[Question], spaces: Sequence[EmbeddingSpace], engine: Engine
) -> list[AskedQuestion]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(question: Question) -> AskedQuestion:
        async with limit:
            return await _asked(question.text, spaces, engine)

    return await asyncio.gather(*map(one, questions))


def _without_vectors(asked: Sequence[AskedQuestion], spaces: Sequence[EmbeddingSpace]) -> tuple[str, ...]:
    count = sum(len(question.vectors) < len(spaces) for question in asked)
    if not count:
        return ()
    return (
        worded(
            "{count} of {total} questions were compared by words alone: an embedding model could not be asked",
            count=count, total=len(asked),
        ),
    )  # fmt: skip


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
@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    golden: list[Question]
    recent: list[Question]
    contrast: list[Question]


def _questions(proposal: Proposal) -> _Questions:
    changed = changed_questions(proposal, RECENT_QUESTIONS)
    rated = list(changed.values())[: round(RECENT_QUESTIONS * RATED_SHARE)]
    known = {_plain(question.text) for question in rated}
    recent = recent_questions(RECENT_QUESTIONS - len(rated))
    recent = [*rated, *(question for question in recent if _plain(question.text) not in known)]
    return _Questions(
        golden=golden_questions(GOLDEN_QUESTIONS), recent=recent,
        contrast=contrast_questions(proposal, changed, CONTRAST_QUESTIONS),
    )  # fmt: skip


def changed_questions(proposal: Proposal, limit: int) -> dict[int, Question]:
    """By id: rated questions whose boosts change, or that are on a document whose prior changes; where none does, any
    with a boost. Of more than `limit` a sample. Each in the collections of these documents."""
    documents: dict[int, set[UUID]] = {}
    for change in proposal.changes:
        if change.question is not None:
            documents.setdefault(change.question, set()).add(change.document)
    if not proposal.changes and limit:  # what moves queries has changed, or how similar questions have to be
        rows = proposal.content.queries
        some = set(_sample(np.unique(rows.question).tolist(), limit))
        passages = dict(zip(rows.passage.tolist(), rows.question.tolist(), strict=True))
        of_some = [passage for passage, question in passages.items() if question in some]
        for passage, document in RatedPassage.objects.filter(pk__in=of_some).values_list("pk", "document_id"):
            documents.setdefault(passages[passage], set()).add(document)
    by_prior = [change.document for change in proposal.changes if change.question is None]
    if by_prior and limit:
        votes = Evidence.objects.filter(passage__document__in=_sample(by_prior, limit)).order_by().distinct()
        for question, document in votes.values_list("question", "passage__document")[: limit * 20]:
            documents.setdefault(question, set()).add(document)
    chosen = _sample(sorted(documents), limit)
    texts = dict(RatedQuestion.objects.filter(pk__in=chosen).values_list("pk", "text"))
    wanted = set().union(*(documents[key] for key in chosen))
    found = Document.objects.select_related("collection").in_bulk(wanted)
    questions = {}
    for key in chosen:
        collections = {found[document].collection for document in documents[key] if document in found}
        if key in texts and collections:
            scope = SearchScope(tuple(map(collection_ref, sorted(collections, key=lambda one: one.pk))))
            questions[key] = Question(text=texts[key], scope=scope)
    return questions


def contrast_questions(proposal: Proposal, changed: Mapping[int, Question], limit: int) -> list[Question]:
    """Made from these rated questions, and asked where they are."""
    if not changed:
        return []
    rated = questions_terms({*np.unique(proposal.content.queries.question).tolist(), *changed})
    texts = {key: question.text for key, question in changed.items()}
    return [
        Question(
            text=made.text, scope=changed[made.question].scope, contrast_of=made.source, change=made.change
        )
        for made in contrasts_of(texts, rated, limit=limit)
    ]  # fmt: skip


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
    if limit <= 0:
        return []
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    rows = Message.objects.filter(role=Message.Role.ASSISTANT, decision=Message.Decision.ANSWER, created_at__gte=since)
    newest = rows.exclude(reply_to=None).order_by("-created_at").values_list("pk", "reply_to__text")[: limit * 20]
    distinct = {_plain(text): key for key, text in newest if text.strip()}
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
            asked.append(Question(text=row.reply_to.text, scope=scope))
    return asked


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _sample(rows: Sequence[Item], limit: int) -> list[Item]:
    return list(rows) if len(rows) <= limit else random.Random(SEED).sample(list(rows), limit)  # noqa: S311
