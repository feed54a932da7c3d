"""What a user thinks of an answer or of one of its sources: one row each, replaced by the next."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from chat.models import Message, Source
from feedback.errors import NotRateableError, RatingNotReadyError
from feedback.models import Rating
from feedback.models.ratings import Thumb, score_of, thumb_of
from feedback.ratings import selectors
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import joined, worded
from retrieval.memory.services import answer_memories_forget

MAX_COMMENT_CHARS = 2000


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
    NotFoundError, NotRateableError, RatingNotReadyError, InvalidInputError.
    """
    message = _rateable_message(user=user, message_id=message_id)
    source = selectors.source_get(message=message, marker=marker)
    values = {
        "score": _score(score=score, thumb=thumb),
        "tags": _tags(tags),
        "comment": _comment(comment),
    }
    rating, _ = Rating.objects.update_or_create(user=user, message=message, source=source, defaults=values)
    if source is None and rating.thumb == "down":
        answer_memories_forget(answer_id=message.pk)
    return rating


@transaction.atomic
def rating_delete(*, user: User, message_id: UUID, marker: int | None = None) -> bool:
    """Take a rating back; False where there was none. Raises NotFoundError for another's message."""
    message = selectors.message_get(user=user, message_id=message_id)
    source: Source | None = selectors.source_get(message=message, marker=marker)
    _, rows = Rating.objects.filter(user=user, message=message, source=source).delete()
    return bool(rows)


def _rateable_message(*, user: User, message_id: UUID) -> Message:
    message = selectors.message_get(user=user, message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise NotRateableError
    if message.status == Message.Status.STREAMING:
        raise RatingNotReadyError
    return message


def _score(*, score: int | None, thumb: Thumb | None) -> int:
    if score is None and thumb is None:
        text = worded("Give a score from 1 to 5 or a thumb, up or down.")
        raise InvalidInputError(fields={"score": [text], "thumb": [text]})
    if score is not None and not 1 <= score <= 5:
        raise InvalidInputError(fields={"score": [worded("Give a whole number from 1 to 5.")]})
    if thumb is not None and thumb not in ("up", "down"):
        raise InvalidInputError(fields={"thumb": [worded('Give "up" or "down".')]})
    if score is not None:
        if thumb is not None and thumb_of(score) != thumb:
            raise InvalidInputError(
                fields={
                    "thumb": [
                        worded("Thumb {thumb} contradicts score {score}; send one of them.", thumb=thumb, score=score)
                    ]
                }
            )
        return score
    assert thumb is not None
    return score_of(thumb)


def _tags(tags: Sequence[str]) -> list[str]:
    """In the order given, each once."""
    if unknown := [tag for tag in tags if tag not in Rating.Tag.values]:
        raise InvalidInputError(
            fields={
                "tags": [
                    worded(
                        "Unknown: {unknown}. Known: {values}.",
                        unknown=", ".join(map(str, unknown))[:200],
                        values=joined(", ", Rating.Tag.values),
                    )
                ]
            }
        )
    return list(dict.fromkeys(str(tag) for tag in tags))


def _comment(comment: str) -> str:
    comment = comment.strip()
    if len(comment) > MAX_COMMENT_CHARS:
        raise InvalidInputError(
            fields={
                "comment": [worded("Use at most {max_comment_chars} characters.", max_comment_chars=MAX_COMMENT_CHARS)]
            }
        )
    return comment
