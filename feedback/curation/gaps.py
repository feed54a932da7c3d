"""Knowledge gaps: questions that were not answered well, by what they are about, and what curators do with them.

    new unanswered question ─► the gap whose first question is near, by terms or by vector, or a new gap
    document added ─► its questions are asked again as soon as it is ready ─► answered now, or the gap is open again

Near is a cosine of the distinct terms of OVERLAP, or of the embeddings of COSINE. A gap does not drift from its first
question ("leader" clustering: Hartigan, Clustering Algorithms, 1975, ch. 3).
"""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone
from numpy.typing import NDArray

from chat.models import Message, Replay
from chat.review.replay.replays import replays_create
from chat.review.roles import DeskAccess, desk_access
from feedback.curation.gap_selectors import requests_sent
from feedback.models import GapDocument, GapQuestion, GapRequest, KnowledgeGap, Rating
from feedback.models.ratings import BAD_SCORE
from feedback.rounds.questions import signature
from ragsite.core.database import after_commit
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.leases import NamedLease
from ragsite.core.messages import worded, wording_of
from retrieval.compose import Engine, with_engine
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.text.analysis import analyze
from retrieval.engine.text.same_question import vector_decode, vector_encode
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Collection, Document

DAYS = 90  # questions of the last days
MOST_QUESTIONS = 2000  # placed at once, the newest
OVERLAP = 0.5
COSINE = 0.8
MAX_TERMS = 96
MOST_WORDINGS = 200  # wordings of a gap at once, the most asked first
ONLY_STYLE = [Rating.Tag.STYLE.value]  # the knowledge was there
NOBODY_ASKS = worded("The account that added the document is gone.")
State = KnowledgeGap.State
Vector = NDArray[np.float32]
logger = logging.getLogger(__name__)
# Sent with `gap_id`, `keys` of its questions that have an answer now, and `by`: id of the person who closed it or wrote
# the answer, None: they were asked again; perhaps `cited`: the documents of an answer that was written for them. Once
# for each question, until it is asked again.
questions_answered = Signal()


# ------------------------------------------------------------------------------------------------ find
def unanswered(since: Any) -> QuerySet[Message]:
    """Questions that got no answer by a model's word, while everything was read, badly rated answers, and questions
    that wait for a person to whom they were sent; not those that were answered again. Without a model nobody has said
    that the documents lack an answer."""
    bad = Rating.objects.filter(message=OuterRef("pk"), source=None, score__lte=BAD_SCORE).exclude(
        tags=ONLY_STYLE
    )
    answers = Message.objects.filter(
        session__kept=True,
        role=Message.Role.ASSISTANT,
        created_at__gte=since,
        reply_to__isnull=False,
        written_by__isnull=True,
    )
    refused = Q(decision=Message.Decision.NO_ANSWER, being_read=0) & ~Q(model="")
    waits = requests_sent().filter(message=OuterRef("pk"), state=GapRequest.State.OPEN)
    return answers.filter(Q(superseded=False) & (refused | Q(Exists(bad))) | Q(Exists(waits)))


def gaps_refresh() -> int:
    """Put the newest unanswered questions into their gaps, and take in what was found when gaps were asked again.
    Returns how many gaps are new; 0 where another process is at it."""
    lease = NamedLease("knowledge gaps", seconds=120.0)
    if not lease.take():
        return 0
    try:
        since = timezone.now() - timedelta(days=DAYS)
        still = unanswered(since)
        GapQuestion.objects.filter(message__created_at__gte=since).exclude(
            message__in=still.values("pk")
        ).delete()
        new = still.exclude(pk__in=GapQuestion.objects.values("message")).select_related("reply_to")
        made = _place(list(new.order_by("-created_at")[:MOST_QUESTIONS])[::-1])
        empty = KnowledgeGap.objects.filter(questions=None, note="", assignee=None, documents=None)
        empty.exclude(Exists(requests_sent().filter(gap=OuterRef("pk")))).delete()
        gap_results_take()
        return made
    finally:
        lease.release()


def gap_of_answer(answer: Message) -> KnowledgeGap:
    """The gap that an answer is in, put into one now where it is in none, and open again where that was closed."""
    placed = GapQuestion.objects.filter(message=answer).select_related("gap")
    question = placed.first()
    if question is None:
        with suppress(IntegrityError):  # another process was faster
            _place([answer])
        question = placed.get()
    if question.gap.state == State.CLOSED:
        _reopen(question.gap)
    return question.gap


def searched_words(answer: Message) -> str:
    """Its question as the first search had it, by which its gap is found."""
    return answer.searched_for or _question(answer)


def _question(answer: Message) -> str:
    return answer.reply_to.text if answer.reply_to else ""


def _place(answers: Sequence[Message]) -> int:
    """Each question into its gap, the oldest first. Returns how many gaps are new."""
    texts = {answer.pk: searched_words(answer) for answer in answers}
    model, vectors = _embedded([text for text in texts.values() if text.strip()])
    leaders = _Leaders(model)
    if answers:
        for earlier in KnowledgeGap.objects.order_by("pk"):
            leaders.add(earlier)
    made = 0
    questions = []
    for answer in answers:
        if not (text := texts[answer.pk]).strip():
            continue
        collection = _collection(answer.request)
        terms = frozenset(analyze(text)[:MAX_TERMS])
        vector = vectors.get(text)
        gap = leaders.nearest(terms, vector, collection_id=collection)
        if gap is None:
            known = Collection.objects.filter(pk=collection).first() if collection else None
            gap = KnowledgeGap.objects.create(
                collection=known, terms=" ".join(sorted(terms)), vector_model=model if vector is not None else "",
                vector=vector_encode(vector) if vector is not None else b"",
            )  # fmt: skip
            leaders.add(gap)
            made += 1
        if gap.state == State.CLOSED and answer.created_at > gap.state_at:
            _reopen(gap)
        questions.append(GapQuestion(gap=gap, message=answer, key=signature(text)))
    GapQuestion.objects.bulk_create(questions, batch_size=500)
    return made


class _Leaders:
    """Gaps by their first questions, so that thousands of them need not be compared one by one."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._gaps: list[KnowledgeGap] = []
        self._terms: list[frozenset[str]] = []
        self._with_term: dict[str, list[int]] = defaultdict(list)
        self._without_terms: list[int] = []
        self._embedded: list[int] = []
        self._vectors: list[Vector] = []
        self._matrix: Vector | None = None  # of the vectors; None: to be made again

    def add(self, gap: KnowledgeGap) -> None:
        at = len(self._gaps)
        terms = frozenset(gap.terms.split())
        self._gaps.append(gap)
        self._terms.append(terms)
        for term in terms:
            self._with_term[term].append(at)
        if not terms:
            self._without_terms.append(at)
        if gap.vector and gap.vector_model == self._model:
            self._embedded.append(at)
            self._vectors.append(vector_decode(gap.vector))
            self._matrix = None

    def nearest(
        self, terms: frozenset[str], vector: Vector | None, *, collection_id: UUID | None
    ) -> KnowledgeGap | None:
        """The oldest gap of the collection that the question is near to."""
        near = set(self._without_terms) if not terms else set()
        shared = Counter(at for term in terms for at in self._with_term.get(term, ()))
        for at, count in shared.items():
            if count / math.sqrt(len(terms) * len(self._terms[at])) >= OVERLAP:
                near.add(at)
        if vector is not None and self._vectors:
            if self._matrix is None:
                self._matrix = np.stack(self._vectors)
            near.update(
                self._embedded[row] for row in np.flatnonzero(self._matrix @ vector >= COSINE)
            )
        return next(
            (
                self._gaps[at]
                for at in sorted(near)
                if self._gaps[at].collection_id == collection_id
            ),
            None,
        )


def _embedded(texts: Sequence[str]) -> tuple[str, Mapping[str, Vector]]:
    """The model's name and vectors by text; none where no embedding model can be asked."""

    async def work(engine: Engine) -> tuple[str, Mapping[str, Vector]]:
        try:
            embedder = await engine.models.default_embedder()
            if embedder.space == BUILTIN_SPACE:
                return "", {}
            return embedder.space.model, dict(
                zip(texts, await embedder.embed_queries(list(texts)), strict=True)
            )
        except EmbeddingUnavailableError as error:
            logger.info("knowledge gaps: questions are compared by words alone: %s", error.reason)
            return "", {}

    return with_engine(work) if texts else ("", {})


def _collection(request: Mapping[str, Any]) -> UUID | None:
    """The one that was searched; None where there were several."""
    ids = request.get("collection_ids") or []
    return as_uuid(str(ids[0])) if len(ids) == 1 else None


# ------------------------------------------------------------------------------------------------ work
def gap_mark(*, access: DeskAccess, gap: KnowledgeGap, **changes: Any) -> None:
    """changes: any of `state`, `assignee` and `note`."""
    access.require("curate")
    turns = changes.get("state", gap.state) != gap.state
    if turns:
        changes |= {"state_by": access.user, "state_at": timezone.now(), "reopened": False}
    KnowledgeGap.objects.filter(pk=gap.pk).update(**changes)
    if turns and changes["state"] == State.CLOSED:
        _tell_of_closing(gap, by=access.user.pk)


def _tell_of_closing(gap: KnowledgeGap, *, by: int) -> None:
    """Not while its questions are asked again, or wait for a document: then what is found decides."""
    asked_again = gap.questions.filter(answered=None, replay__isnull=False).exists()
    if asked_again or gap.documents.filter(asked=False).exists():
        return
    keys = set(gap.questions.exclude(answered=True).values_list("key", flat=True))
    keys |= set(gap.requests.filter(state=GapRequest.State.OPEN).values_list("key", flat=True))
    questions_answered.send(KnowledgeGap, gap_id=gap.pk, keys=sorted(keys), by=by)


@transaction.atomic
def gap_document_add(
    *, access: DeskAccess, gap: KnowledgeGap, document: Document, close: bool
) -> GapDocument:
    """A document that should answer the gap's questions. They are asked again as soon as it is ready (at once where it
    is); close: the gap is closed with it, and reopened where some are not answered then."""
    access.require("curate")
    added, _ = GapDocument.objects.update_or_create(
        gap=gap,
        document=document,
        defaults={"added_by": access.user, "asked": False, "problem": None},
    )
    if close:
        gap_mark(access=access, gap=gap, state=State.CLOSED)
    if document.status == Document.Status.READY:
        after_commit(gap_document_ready, document.pk)
    return added


def gap_document_ready(document_id: UUID) -> None:
    """Ask the questions of the gaps that it was added for, in the name of the person who added it."""
    for added in GapDocument.objects.filter(document=document_id, asked=False).select_related(
        "gap", "added_by"
    ):
        if not GapDocument.objects.filter(pk=added.pk, asked=False).update(asked=True):
            continue
        if added.added_by is None:
            not_asked(added, NOBODY_ASKS)
            continue
        try:
            gap_ask_again(access=desk_access(added.added_by, "curate"), gap=added.gap)
        except NotFoundError:  # no question is left
            continue
        except AppError as error:  # no right any more, or too many replays
            not_asked(added, error.message)


def not_asked(added: GapDocument, why: str) -> None:
    """Its pages say so, and a person asks again by hand; a gap that was closed with it is open again."""
    logger.info("gap %s is not asked again by itself: %s", added.gap_id, why)
    problem = {"text": str(why), "wording": wording_of(why)}
    GapDocument.objects.filter(pk=added.pk).update(problem=problem)
    if added.gap.state == State.CLOSED:
        _reopen(added.gap)


@transaction.atomic
def gap_ask_again(*, access: DeskAccess, gap: KnowledgeGap) -> int:
    """Its wordings, the most asked first, each by its newest question, as its asker may search. A worker does it.

    Returns how many. Raises NotFoundError where none is left, TooManyReplaysError.
    """
    access.require("curate")
    wordings = (
        gap.questions.order_by()
        .values("key")
        .annotate(times=Count("pk"), newest=Max("message__created_at"))
    )
    newest: dict[str, UUID] = {}
    for key, message in gap.questions.order_by("message__created_at").values_list("key", "message"):
        newest[key] = message
    messages = [
        newest[row["key"]] for row in wordings.order_by("-times", "-newest")[:MOST_WORDINGS]
    ]
    replays = replays_create(access=access, message_ids=messages, change={})
    for replay in replays:
        gap.questions.filter(message=replay.message_id).update(replay=replay, answered=None)
    gap.documents.update(problem=None)
    return len(replays)


def gap_results_take() -> None:
    """What replays of gaps have found since the last look. A closed gap of which some question is not answered is
    reopened."""
    new = GapQuestion.objects.filter(answered=None, replay__status=Replay.Status.COMPLETE)
    for question in new.select_related("gap", "replay").order_by("replay__finished_at"):
        answered = bool(question.replay and question.replay.summary["supported"])
        if not GapQuestion.objects.filter(pk=question.pk, answered=None).update(answered=answered):
            continue  # another process was faster
        question.gap.questions.filter(key=question.key).update(answered=answered)
        if answered:
            questions_answered.send(
                KnowledgeGap, gap_id=question.gap_id, keys=[question.key], by=None
            )
        elif question.gap.state == State.CLOSED:
            _reopen(question.gap)


def _reopen(gap: KnowledgeGap) -> None:
    """Nothing where it is open by now, as another question of it may have done."""
    if not KnowledgeGap.objects.filter(pk=gap.pk, state=State.CLOSED).exists():
        return
    gap.state = State.OPEN
    gap.state_by = None
    gap.state_at = timezone.now()
    gap.reopened = True
    gap.save(update_fields=["state", "state_by", "state_at", "reopened"])
