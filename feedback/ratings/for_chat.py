"""Ratings as `chat.ratings` needs them: beside the messages that they are of."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery

from chat.models import Message, Session
from chat.ratings import RatedAs
from feedback.models import Rating
from feedback.models.ratings import BAD_SCORE, GOOD_SCORE

RATED_AS: dict[RatedAs, Q] = {
    "bad": Q(ratings__score__lte=BAD_SCORE),
    "good": Q(ratings__score__gte=GOOD_SCORE),
    "any": Q(ratings__isnull=False),
}


class ChatRatings:
    """`chat.ratings.Ratings` over the table of ratings."""

    def with_ratings(self, messages: QuerySet[Message], *, user: User | None = None) -> QuerySet[Message]:
        ratings = Rating.objects.filter(user=user) if user else Rating.objects.all()
        prefetch = Prefetch("ratings", queryset=ratings.select_related("user"), to_attr="shown_ratings")
        return messages.prefetch_related(prefetch)

    def with_worst_score(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        path = "message__session" if rows.model is Session else "message"
        # Not by a join: it would group all rows before the first fifty of them are known.
        worst = Rating.objects.filter(**{path: OuterRef("pk")}).order_by("score").values("score")
        return rows.annotate(worst_score=Subquery(worst[:1]))

    def rated_as(self, rated: RatedAs) -> Q:
        return RATED_AS[rated]
