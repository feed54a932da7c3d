"""Ratings as `chat.ratings` needs them: beside the messages that they are of."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import F, Prefetch, QuerySet

from chat.models import Message
from feedback.models import CuratedAnswer, CuratedSource, Evidence, Rating, Revision
from retrieval.selectors import documents_unasked


class ChatRatings:
    """`chat.ratings.Ratings` over the table of ratings."""

    def with_ratings(self, messages: QuerySet[Message], *, user: User | None = None) -> QuerySet[Message]:
        ratings = Rating.objects.filter(user=user) if user else Rating.objects.all()
        ratings = ratings.select_related("user")
        if user:  # what somebody's own did
            ratings = ratings.prefetch_related(Prefetch("evidence", queryset=_in_force(), to_attr="in_force"))
        return messages.prefetch_related(Prefetch("ratings", queryset=ratings, to_attr="shown_ratings"))

    def checked_questions(self, *, user: User, limit: int) -> list[str]:
        searched = documents_unasked(user).values("pk")
        elsewhere = CuratedSource.objects.exclude(document_id__in=searched).values("answer")
        answers = CuratedAnswer.in_force().filter(sources__isnull=False).exclude(pk__in=elsewhere).distinct()
        return list(answers.order_by("-created_at").values_list("question", flat=True)[:limit])


def _in_force() -> QuerySet[Evidence]:
    """With the chunk, and what the live revision multiplies it by for this question."""
    return Evidence.objects.filter(
        passage__boosts__revision__status=Revision.Status.LIVE, passage__boosts__question=F("question")
    ).annotate(chunk=F("passage__chunk_id"), multiplier=F("passage__boosts__multiplier"))
