"""What ratings, and the evidence made of them, hold of a person, for `ragsite.accounts.personal_data`.

Deleted with the person: ratings, evidence, and the questions that nobody
else has rated. The next revision is made without them. Decisions that they took as staff stay, without a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet

from feedback.models import (
    Evidence,
    GoldenQuestion,
    ManualBoost,
    Rating,
    RevisionEvent,
)
from feedback.rounds.deletions import rounds_wait
from feedback.rounds.questions import questions_forget
from ragsite.accounts.personal_data import Held, Part
from ragsite.core.wording import counted

ROWS_AT_ONCE = 200


class FeedbackHolder:
    """Ratings and what followed from them."""

    def goes(self, user: User) -> Iterable[Held]:
        ratings = Rating.objects.filter(user=user).count()
        votes = Evidence.objects.filter(voter=user).count()
        yield Held(counted("{count} rating", "{count} ratings", ratings), ratings)
        yield Held(
            counted("{count} vote drawn from your ratings", "{count} votes drawn from your ratings", votes), votes
        )

    def stays(self, user: User) -> Iterable[Held]:
        golden = GoldenQuestion.objects.filter(message__session__user=user).count()
        yield Held(
            counted(
                "{count} test question that reviewers made of a question of yours, without your name",
                "{count} test questions that reviewers made of questions of yours, without your name",
                golden,
            ),
            golden,
        )
        decisions = RevisionEvent.objects.filter(by=user).count() + ManualBoost.objects.filter(created_by=user).count()
        yield Held(
            counted(
                "{count} decision that you took as staff, without your name",
                "{count} decisions that you took as staff, without your name",
                decisions,
            ),
            decisions,
        )

    def parts(self, user: User) -> Iterator[Part]:
        ratings = Rating.objects.filter(user=user).order_by("created_at", "pk")
        named = {
            "conversation_id": F("message__session_id"),
            "answer_id": F("message_id"),
            "marker": F("source__marker"),
        }
        columns = ("score", "tags", "comment", "created_at", "updated_at")
        yield Part("ratings.json", ratings.values(*columns, **named).iterator())
        votes = Evidence.objects.filter(voter=user).order_by("pk")
        about = {"asked": F("question__text"), "document": F("passage__document_id")}
        yield Part("votes.json", votes.values("weight", "document_weight", "day", **about).iterator())

    def erase(self, user: User) -> Iterator[int]:
        yield from rows_erase(Rating.objects.filter(user=user), "rating")
        yield from rows_erase(Evidence.objects.filter(voter=user), "pk")


def rows_erase(rows: QuerySet[Any], evidence_by: str | None) -> Iterator[int]:
    """Delete them in batches; with each go the questions that only its evidence was about.

    evidence_by: the column of `Evidence` that names such a row.
    """
    while batch := list(rows.order_by().values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        with transaction.atomic():
            rounds_wait()
            questions: list[int] = []
            if evidence_by:
                evidence = Evidence.objects.filter(**{f"{evidence_by}__in": batch})
                questions = list(evidence.order_by().values_list("question", flat=True).distinct())
            rows.model._default_manager.filter(pk__in=batch).delete()
            questions_forget(questions)
        yield len(batch)
