"""What a user thinks of an answer or of one of its sources: one row each, replaced by the next."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from chat.models import Message, Source
from chat.selectors import message_get
from feedback.models import Rating
from feedback.models.ratings import Thumb, thumb_of
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.messages import worded
from retrieval.memory.services import answer_memories_forget

MAX_COMMENT_CHARS = 2000


class NotRateableError(InvalidInputError):
    code = "not_rateable"
    message = worded("Only answers can be rated, not questions.")


class RatingNotReadyError(ConflictError):
    code = "answer_not_finished"
    message = worded("This answer is still being written; rate it when it is finished.")


class TemporaryRatingError(ConflictError):
    code = "temporary_chat"
    message = worded("Answers of a temporary conversation cannot be rated; keep it first.")


@transaction.atomic
def rating_set(
    *,
    user: User,
    message_id: UUID,
    marker: int | None = None,
    score: int | None = None,
    thumb: Thumb | None = None,
    tags: Sequence[str] = (),
    comment: str = "",
) -> Rating:
    """Store the user's rating of their answer (`marker` None) or of its source `marker`, in place of an earlier one.

    `score`: 1-5. `thumb`: "up" is 5, "down" is 1; beside a score it has to point the same way. Calls at the same moment
    leave one row, the last one's. What was remembered of an answer that is found bad is forgotten. Raises
    NotFoundError, NotRateableError, RatingNotReadyError, TemporaryRatingError, InvalidInputError.
    """
    message = message_get(user=user, message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise NotRateableError
    if message.status == Message.Status.STREAMING:
        raise RatingNotReadyError
    if message.session.is_temporary:
        raise TemporaryRatingError
    source = _source(message, marker)
    values = {
        "score": _score(score, thumb),
        "tags": list(dict.fromkeys(tags)),
        "comment": comment.strip(),
    }
    rating, _ = Rating.objects.update_or_create(
        user=user, message=message, source=source, defaults=values
    )
    if source is None and rating.thumb == "down":
        answer_memories_forget(answer_id=message.pk)
    return rating


@transaction.atomic
def rating_delete(*, user: User, message_id: UUID, marker: int | None = None) -> bool:
    """Take a rating back; False where there was none. Raises NotFoundError for another's message."""
    message = message_get(user=user, message_id=message_id)
    _, rows = Rating.objects.filter(
        user=user, message=message, source=_source(message, marker)
    ).delete()
    return bool(rows)


def _source(message: Message, marker: int | None) -> Source | None:
    """The answer's source under this marker; None for no marker. Raises NotFoundError."""
    if marker is None:
        return None
    source = message.sources.filter(marker=marker).first()
    if source is None:
        raise NotFoundError(worded("This answer has no source with that number."))
    return source


def _score(score: int | None, thumb: Thumb | None) -> int:
    """Raises InvalidInputError."""
    if score is None and thumb is None:
        text = worded("Give a score from 1 to 5 or a thumb, up or down.")
        raise InvalidInputError(fields={"score": [text], "thumb": [text]})
    if score is None:
        return 5 if thumb == "up" else 1
    if thumb is not None and thumb_of(score) != thumb:
        text = worded(
            "Thumb {thumb} contradicts score {score}; send one of them.", thumb=thumb, score=score
        )
        raise InvalidInputError(fields={"thumb": [text]})
    return score
