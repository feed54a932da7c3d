"""The desk's row of each answer, made from the answer, its ratings and its sources.

A row is made when an answer ends, and again when it is rated (`feedback` says so). Answers that were ended by an
UPDATE are taken in by a task (`answers_catch_up`).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Model, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.signals import post_save

from chat.feedback import Rating, get_feedback
from chat.models import AnswerReview, Message, ReviewedCollection, Source
from ragsite.core.database import after_commit
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Collection, Document

BATCH = 200
SLOW_MS = 30_000
BAD_SCORE = 2  # and below
FAULTS = {
    "wrong_source",
    "outdated",
    "incomplete",
    "wrong_reasoning",
    "not_helpful",
}  # tags that say what is wrong
BROKEN_OFF = {"cut", Message.Status.INTERRUPTED, Message.Status.FAILED}
# What makes an answer worse, the most first: a person's word weighs more than what the site noticed itself.
SEVERITY = {
    "badly_rated": 40,
    "flagged": 20,
    "cut": 20,
    "no_answer": 15,
    "unconfirmed": 15,
    "weak": 10,
    "degraded": 5,
    "slow": 5,
}
WORST_RATED = 10  # more for a rating of 1
REASONS = tuple(SEVERITY)
NOTED = {"degraded", "slow"}  # reasons that are worth knowing; each other one wants a person's look
USAGE = (
    "first_token_ms",
    "total_ms",
    "llm_calls",
    "llm_rounds",
    "prompt_tokens",
    "completion_tokens",
)
# What a row is made from. Passages and the wordings of the path are most of an answer, and not among it.
READ = (
    "session__user",
    "role",
    "text",
    "request",
    "status",
    "created_at",
    "workflow",
    "model",
    "decision",
    "usage",
    "grounding",
    "support",
    "degraded",
    "follow_ups",
)
MADE = [
    "session",
    "user",
    "created_at",
    "workflow",
    "model",
    "decision",
    "status",
    "answer_score",
    "worst_score",
    *USAGE,
    "offered",
    "follow_ups",
    *REASONS,
    "severity",
]


def connect() -> None:
    """Once, when the site starts."""
    post_save.connect(_message_saved, sender=Message, dispatch_uid="chat.review.message_saved")


def answer_changed(message_id: UUID) -> None:
    """Make its row again once what changed is committed. A failure is logged: the answer itself is stored."""
    after_commit(answers_record, [message_id])


def _message_saved(sender: type[Model], instance: Message, raw: bool = False, **_: Any) -> None:
    if (
        not raw
        and instance.role == Message.Role.ASSISTANT
        and instance.status != Message.Status.STREAMING
    ):
        answer_changed(instance.pk)


def ended_answers() -> QuerySet[Message]:
    """Those that the desk may read: what is not kept, as a temporary conversation, is its owner's alone, and what a
    person wrote is not reviewed."""
    answers = Message.objects.filter(
        role=Message.Role.ASSISTANT, session__kept=True, written_by__isnull=True
    )
    return answers.exclude(status=Message.Status.STREAMING)


@transaction.atomic
def answers_record(message_ids: Sequence[UUID]) -> int:
    """Make the rows of these answers, or make them again; ids of anything else count for nothing. Returns how many.

    What people added to a row stays.
    """
    messages = ended_answers().filter(pk__in=message_ids).select_related("session").only(*READ)
    collection = Document.objects.filter(pk=OuterRef("document_id")).order_by().values("collection")
    found_in = (
        Source.objects.only("message").annotate(collection_id=Subquery(collection)).order_by()
    )
    messages = get_feedback().with_ratings(messages.prefetch_related(Prefetch("sources", found_in)))
    # Their rows are locked when they are written.
    answers = list(messages.annotate(review_id=F("review__pk")).order_by("created_at", "pk"))
    known = [answer.review_id for answer in answers if answer.review_id is not None]
    rows = AnswerReview.objects.bulk_create(
        [_row(answer) for answer in answers],
        update_conflicts=True,
        unique_fields=["message"],
        update_fields=MADE,
    )
    numbers = {row.message_id: row.pk for row in rows}
    if known:
        ReviewedCollection.objects.filter(answer__in=known).delete()
    ReviewedCollection.objects.bulk_create(_collections(answers, numbers), ignore_conflicts=True)
    return len(rows)


def answers_catch_up(*, most: int, within_s: float) -> int:
    """Make the rows that are missing, oldest answers first. Returns how many."""
    began = monotonic()
    done = 0
    while done < most and monotonic() - began < within_s:
        missing = ended_answers().filter(review=None)
        batch = list(
            missing.order_by("created_at", "pk").values_list("pk", flat=True)[
                : min(BATCH, most - done)
            ]
        )
        if not batch:
            break
        done += answers_record(batch)
    return done


def _row(answer: Message) -> AnswerReview:
    ratings: list[Rating] = answer.shown_ratings  # type: ignore[attr-defined]
    worst = min((rating.score for rating in ratings), default=None)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    figures = {name: _whole(usage.get(name)) for name in USAGE}
    total_ms = figures["total_ms"]
    reasons = {
        "badly_rated": worst is not None and worst <= BAD_SCORE,
        "no_answer": answer.decision == Message.Decision.NO_ANSWER,
        "unconfirmed": answer.support == Message.Support.NONE,
        "weak": any(checked.get("supported") is False for checked in answer.grounding or []),
        "degraded": bool(answer.degraded),
        "slow": total_ms is not None and total_ms >= SLOW_MS,
        "cut": answer.status in BROKEN_OFF,
        "flagged": any(
            FAULTS.intersection(rating.tags) or (rating.comment and rating.thumb != "up")
            for rating in ratings
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
        answer_score=min(
            (rating.score for rating in ratings if rating.source_id is None), default=None
        ),
        worst_score=worst,
        offered=answer.request.get("offered", "") if isinstance(answer.request, dict) else "",
        follow_ups=len(answer.follow_ups),
        **figures,
        severity=severity + (WORST_RATED if worst == 1 else 0),
        **reasons,
    )


def _whole(value: Any) -> int | None:
    """A figure of `usage`; None for what is none."""
    return value if isinstance(value, int) and 0 <= value < 2**31 else None


def _collections(answers: Sequence[Message], numbers: dict[UUID, int]) -> list[ReviewedCollection]:
    """Of all answers at once: those asked in, and those of the documents that were found; as far as they exist."""
    found = {answer.pk: _found_collections(answer) for answer in answers}
    named = {answer.pk: _named_collections(answer) for answer in answers}
    there = set().union(*found.values())
    others = set().union(*named.values()) - there
    if others:
        there |= set(
            Collection.objects.filter(pk__in=others).order_by().values_list("pk", flat=True)
        )
    return [
        ReviewedCollection(answer_id=numbers[answer.pk], collection_id=collection)
        for answer in answers
        for collection in there & (named[answer.pk] | found[answer.pk])
    ]


def _found_collections(answer: Message) -> set[UUID]:
    """Those of the documents that its sources are of."""
    collections = (source.collection_id for source in answer.sources.all())  # type: ignore[attr-defined]
    return {collection for collection in collections if collection}


def _named_collections(answer: Message) -> set[UUID]:
    """Those that the question was asked of by name, whether they are there or not."""
    ids = answer.request.get("collection_ids", ()) if isinstance(answer.request, dict) else ()
    return {key for key in (as_uuid(str(text)) for text in ids) if key}
