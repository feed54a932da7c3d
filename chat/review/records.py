"""The desk's row of each answer, made from the answer, its ratings and its sources; and made again at will.

A row is made when an answer ends, and again when it is rated (`chat.review.start`). Answers that were ended by an
UPDATE, and those from before the desk, are taken in by a task (`answers_catch_up`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from chat.models import AnswerReview, AnswerTerms, Message, ReviewedCollection, Source
from chat.ratings import Rating, get_ratings
from chat.review.terms import terms_of
from retrieval.models import Collection, Document
from retrieval.selectors import as_uuid
from retrieval.text.language import detect_language

BATCH = 200
SLOW_MS = 30_000
BAD_SCORE = 2  # and below
FAULTS = {"wrong_source", "outdated", "incomplete", "wrong_reasoning", "not_helpful"}  # tags that say what is wrong
BROKEN_OFF = {"cut", Message.Status.INTERRUPTED, Message.Status.FAILED}
# What makes an answer worse, the most first: a person's word weighs more than what the site noticed itself.
SEVERITY = {
    "badly_rated": 40, "flagged": 20, "cut": 20, "no_answer": 15, "weak": 10, "degraded": 5, "slow": 5,
}  # fmt: skip
WORST_RATED = 10  # more for a rating of 1
REASONS = tuple(SEVERITY)
USAGE = ("first_token_ms", "total_ms", "llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens")
# What a row is made from. Passages and the wordings of the path are most of an answer, and not among it.
READ = ("session__user", "reply_to__text", "role", "text", "request", "status", "created_at", "workflow", "model",
        "decision", "usage", "grounding", "degraded")  # fmt: skip
MADE = ["session", "user", "created_at", "workflow", "model", "decision", "status", "language", "worst_score",
        *USAGE, *REASONS, "severity"]  # fmt: skip


def ended_answers() -> QuerySet[Message]:
    return Message.objects.filter(role=Message.Role.ASSISTANT).exclude(status=Message.Status.STREAMING)


@transaction.atomic
def answers_record(message_ids: Sequence[UUID]) -> int:
    """Make the rows of these answers, or make them again; ids of anything else count for nothing. Returns how many.

    What people added to a row stays.
    """
    messages = ended_answers().filter(pk__in=message_ids).select_related("reply_to", "session").only(*READ)
    documents = Prefetch("sources", Source.objects.only("message", "document_id").order_by())
    return _record(list(get_ratings().with_ratings(messages.prefetch_related(documents)).order_by("created_at", "pk")))


def _record(answers: Sequence[Message]) -> int:
    if not answers:
        return 0
    known = list(AnswerReview.objects.select_for_update().filter(message__in=answers).values_list("pk", flat=True))
    rows = AnswerReview.objects.bulk_create(
        [_row(answer) for answer in answers], update_conflicts=True, unique_fields=["message"], update_fields=MADE
    )
    numbers = {row.message_id: row.pk for row in rows}
    AnswerTerms.objects.bulk_create(
        [
            AnswerTerms(answer_id=numbers[answer.pk], terms=terms_of(_question(answer), answer.text))
            for answer in answers
        ],
        update_conflicts=True,
        unique_fields=["answer"],
        update_fields=["terms"],
    )
    if known:
        ReviewedCollection.objects.filter(answer__in=known).delete()
    ReviewedCollection.objects.bulk_create(_collections(answers, numbers), ignore_conflicts=True)
    return len(rows)


def answers_catch_up(*, most: int, within_s: float) -> int:
    """Make the rows that are missing, oldest answers first. Returns how many."""
    began, done = monotonic(), 0
    while done < most and monotonic() - began < within_s:
        missing = ended_answers().filter(review=None)
        batch = list(missing.order_by("created_at", "pk").values_list("pk", flat=True)[: min(BATCH, most - done)])
        if not batch:
            break
        done += answers_record(batch)
    return done


def answers_record_all() -> Iterator[int]:
    """Make all rows again, oldest answers first; gives how many are done after each batch."""
    done, last = 0, None
    while True:
        answers = ended_answers().order_by("created_at", "pk")
        if last is not None:
            created_at, pk = last
            answers = answers.filter(created_at__gte=created_at).exclude(created_at=created_at, pk__lte=pk)
        batch = list(answers.values_list("created_at", "pk")[:BATCH])
        if not batch:
            return
        last = batch[-1]
        done += answers_record([pk for _, pk in batch])
        yield done


# ------------------------------------------------------------------------------------------------ one row
def _row(answer: Message) -> AnswerReview:
    ratings: list[Rating] = answer.shown_ratings  # type: ignore[attr-defined]
    worst = min((rating.score for rating in ratings), default=None)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    figures = {name: _whole(usage.get(name)) for name in USAGE}
    total_ms = figures["total_ms"]
    reasons = {
        "badly_rated": worst is not None and worst <= BAD_SCORE,
        "no_answer": answer.decision == Message.Decision.NO_ANSWER,
        "weak": any(checked.get("supported") is False for checked in answer.grounding or []),
        "degraded": bool(answer.degraded),
        "slow": total_ms is not None and total_ms >= SLOW_MS,
        "cut": answer.status in BROKEN_OFF,
        "flagged": any(
            FAULTS.intersection(rating.tags) or (rating.comment and rating.thumb != "up") for rating in ratings
        ),
    }
    severity = sum(SEVERITY[reason] for reason, holds in reasons.items() if holds)
    return AnswerReview(
        message=answer,
        session_id=answer.session_id,
        user_id=answer.session.user_id,
        created_at=answer.created_at,
        workflow=answer.workflow,
        model=answer.model,
        decision=answer.decision,
        status=answer.status,
        language=detect_language(_question(answer) or answer.text)[:10],
        worst_score=worst,
        **figures,
        severity=severity + (WORST_RATED if worst == 1 else 0),
        **reasons,
    )


def _whole(value: Any) -> int | None:
    """A figure of `usage`; None for what is none."""
    return value if isinstance(value, int) and 0 <= value < 2**31 else None


def _question(answer: Message) -> str:
    return answer.reply_to.text if answer.reply_to else ""


def _collections(answers: Sequence[Message], numbers: dict[UUID, int]) -> list[ReviewedCollection]:
    """Of all answers at once: those asked in, and those of the documents that were found; as far as they exist."""
    documents = {source.document_id for answer in answers for source in answer.sources.all() if source.document_id}
    found_in = Document.objects.filter(pk__in=documents).order_by()
    collection_of = dict(found_in.values_list("pk", "collection_id")) if documents else {}
    wanted: dict[UUID, set[UUID]] = {}
    for answer in answers:
        asked = answer.request.get("collection_ids", ()) if isinstance(answer.request, dict) else ()
        found = {collection_of.get(source.document_id) for source in answer.sources.all() if source.document_id}
        wanted[answer.pk] = {pk for pk in (*map(_uuid, asked), *found) if pk is not None}
    there = set(collection_of.values())  # those that have a document
    if unknown := set().union(*wanted.values()) - there:
        there.update(Collection.objects.filter(pk__in=unknown).order_by().values_list("pk", flat=True))
    return [
        ReviewedCollection(answer_id=numbers[pk], collection_id=collection)
        for pk, collections in wanted.items()
        for collection in sorted(collections & there)
    ]


def _uuid(value: Any) -> UUID | None:
    return as_uuid(str(value))
