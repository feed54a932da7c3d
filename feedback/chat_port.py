"""Ratings and revisions as `chat.feedback` needs them."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import F, OuterRef, Prefetch, Q, QuerySet, Subquery

from chat.models import Message
from feedback.models import (
    CuratedAnswer,
    CuratedSource,
    Evidence,
    GapRequest,
    GoldenQuestion,
    Rating,
    Revision,
)
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import SnapshotBoosts, content_of, manual_rules
from ragsite.core.errors import NotFoundError
from ragsite.core.messages import worded
from retrieval.engine.ports import BoostSource, Models
from retrieval.models import Document


class ChatFeedback:
    """`chat.feedback.Feedback` over the tables of feedback."""

    def with_ratings(
        self, messages: QuerySet[Message], *, user: User | F | None = None
    ) -> QuerySet[Message]:
        ratings = Rating.objects.filter(user=user) if user else Rating.objects.all()
        ratings = ratings.select_related("user")
        if user:
            waits = Q(message__reply_to=OuterRef("reply_to"), state=GapRequest.State.OPEN)
            own = GapRequest.objects.filter(asker=OuterRef("session__user"))  # few; found by index
            sent = own.filter(Q(message=OuterRef("pk")) | waits)
            state = sent.order_by("-sent_at").values("state")[:1]
            messages = messages.annotate(sent_state=Subquery(state))
            # What somebody's own did.
            ratings = ratings.prefetch_related(
                Prefetch("evidence", queryset=_in_force(), to_attr="in_force")
            )
        return messages.prefetch_related(
            Prefetch("ratings", queryset=ratings, to_attr="shown_ratings")
        )

    def checked_questions(
        self, *, user: User, searched: QuerySet[Document], limit: int
    ) -> list[str]:
        there = searched.values("pk")
        elsewhere = CuratedSource.objects.exclude(document_id__in=there).values("answer")
        answers = (
            CuratedAnswer.in_force()
            .filter(Q(from_answer=False) | Q(message__session__user=user), sources__isnull=False)
            .exclude(pk__in=elsewhere)
            .distinct()
        )
        return list(answers.order_by("-created_at").values_list("question", flat=True)[:limit])

    def test_questions(self, *, user: User, searched: QuerySet[Document], limit: int) -> list[str]:
        there = searched.values("pk")
        own = Q(message=None, from_answer=False) | Q(message__session__user=user)
        elsewhere = GoldenQuestion.documents.through.objects.exclude(document__in=there)
        questions = GoldenQuestion.objects.filter(
            own, expects=GoldenQuestion.Expected.ANSWER, documents__isnull=False
        ).exclude(pk__in=elsewhere.values("goldenquestion"))
        newest = questions.distinct().order_by("-created_at", "pk")
        return list(newest.values_list("text", flat=True)[:limit])

    def revisions(self, *, limit: int) -> list[Revision]:
        return list(Revision.objects.defer("guard")[:limit])

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        if revision is None:
            return SnapshotBoosts(snapshot=Snapshot(Content()), models=models)
        row = Revision.objects.filter(pk=revision).first()
        if row is None:
            raise NotFoundError(worded("There is no such ranking change; choose another one."))
        snapshot = Snapshot(content_of(row), revision=str(row.pk), manual=manual_rules())
        return SnapshotBoosts(snapshot=snapshot, models=models)


def _in_force() -> QuerySet[Evidence]:
    """With the chunk, and what the live revision multiplies it by for this question."""
    return Evidence.objects.filter(
        passage__boosts__revision__status=Revision.Status.LIVE,
        passage__boosts__question=F("question"),
    ).annotate(chunk=F("passage__chunk_id"), multiplier=F("passage__boosts__multiplier"))
