"""Errors of the feedback side."""

from __future__ import annotations

from ragsite.core.errors import ConflictError, InvalidInputError, RateLimitedError
from ragsite.core.wording import worded


class NotRateableError(InvalidInputError):
    code = "not_rateable"
    message = worded("Only answers can be rated, not questions.")


class RatingNotReadyError(ConflictError):
    code = "answer_not_finished"
    message = worded("This answer is still being written; rate it when it is finished.")


class TooManyUsesError(RateLimitedError):
    """429. `limit` of sources that one user opens or copies from for the first time in a minute."""

    code = "too_many_uses"

    def __init__(self, limit: int, *, retry_after_s: int) -> None:
        super().__init__(
            worded(
                "More than {limit} sources were opened in a minute; try again in {retry_after_s} s.",
                limit=limit,
                retry_after_s=retry_after_s,
            ),
            retry_after_s=retry_after_s,
        )
