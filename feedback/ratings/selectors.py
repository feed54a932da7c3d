"""Reads of the feedback side. Whose message it is, is part of every query."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User

from chat.models import Message, Source
from feedback.models import Rating
from ragsite.core.errors import NotFoundError
from ragsite.core.wording import worded


def message_get(*, user: User, message_id: UUID) -> Message:
    """A message of one of the user's own sessions. Raises NotFoundError."""
    message = Message.objects.filter(pk=message_id, session__user=user).first()
    if message is None:
        raise NotFoundError
    return message


def source_get(*, message: Message, marker: int | None) -> Source | None:
    """The answer's source under this marker; None for no marker. Raises NotFoundError."""
    if marker is None:
        return None
    source = message.sources.filter(marker=marker).first()
    if source is None:
        raise NotFoundError(worded("This answer has no source with that number."))
    return source


def rating_get(*, user: User, message_id: UUID, marker: int | None = None) -> Rating:
    """The user's own rating. Raises NotFoundError, also where nothing has been rated yet."""
    message = message_get(user=user, message_id=message_id)
    source = source_get(message=message, marker=marker)
    rating = Rating.objects.filter(user=user, message=message, source=source).first()
    if rating is None:
        raise NotFoundError(worded("You have not rated this yet."))
    return rating
