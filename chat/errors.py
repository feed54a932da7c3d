"""Errors of conversations."""

from __future__ import annotations

from ragsite.core.errors import (
    AppError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    TooLargeError,
)
from ragsite.core.wording import worded


class MessageTooLargeError(TooLargeError):
    """413. `limit` in characters."""

    code = "message_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(
            worded("The message is too long; write at most {limit:,} characters.", limit=limit),
            fields={"message": [worded("At most {limit} characters.", limit=limit)]},
        )


class SessionNotFoundError(NotFoundError):
    """404, also for the session of somebody else."""

    message = worded("There is no such conversation, or it is not yours.")


class MessageNotFoundError(NotFoundError):
    """404, also for the message of somebody else."""

    message = worded("There is no such message, or it is not yours.")


class AnswerInProgressError(ConflictError):
    """409: one answer at once per session."""

    code = "answer_in_progress"
    message = worded("An answer is already being written in this conversation; wait for it or stop it.")


class AnswerCompleteError(ConflictError):
    """409: there is nothing to go on with."""

    code = "answer_complete"
    message = worded("This answer is not one that was cut, stopped or interrupted; have it written again instead.")


class ShareLinksOffError(PermissionDeniedError):
    """403: the site has no secret links."""

    code = "share_links_off"
    message = worded(
        "Secret links are switched off on this site; share it with people who have an account, or ask an administrator."
    )


class NothingToShareError(ConflictError):
    """409: no message to show."""

    code = "nothing_to_share"
    message = worded("There is nothing to share yet; ask a question first.")


class TooManyQuestionsError(RateLimitedError):
    """429. `limit` per user and minute."""

    code = "too_many_questions"

    def __init__(self, limit: int, *, retry_after_s: int) -> None:
        super().__init__(
            worded(
                "More than {limit} questions in a minute; try again in {retry_after_s} s.",
                limit=limit,
                retry_after_s=retry_after_s,
            ),
            retry_after_s=retry_after_s,
        )


class TooManyAnswersError(RateLimitedError):
    """429. `limit` of answers that are written at once for one user."""

    code = "too_many_answers"

    def __init__(self, limit: int, *, retry_after_s: int = 5) -> None:
        super().__init__(
            worded("{limit} of your answers are being written already; wait for one of them or stop it.", limit=limit),
            retry_after_s=retry_after_s,
        )


class TooManyAttachmentsError(TooLargeError):
    """413. `limit` of files in one conversation."""

    code = "too_many_attachments"

    def __init__(self, limit: int) -> None:
        super().__init__(
            worded(
                "A conversation takes {limit} files; remove some of them, or put them into a collection.", limit=limit
            )
        )


class AnswerFailedError(AppError):
    """The answer's own failure, as a plain (not streaming) call reports it."""

    def __init__(self, *, code: str, message: str, status: int, retry_after_s: int | None = None) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.code = code
        self.status = status
