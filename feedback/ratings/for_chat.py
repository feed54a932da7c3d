"""Ratings as `chat.ratings` needs them: beside the messages that they are of."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Prefetch, QuerySet

from chat.models import Message
from feedback.models import Rating


class ChatRatings:
    """`chat.ratings.Ratings` over the table of ratings."""

    def with_ratings(self, messages: QuerySet[Message], *, user: User | None = None) -> QuerySet[Message]:
        ratings = Rating.objects.filter(user=user) if user else Rating.objects.all()
        prefetch = Prefetch("ratings", queryset=ratings.select_related("user"), to_attr="shown_ratings")
        return messages.prefetch_related(prefetch)
