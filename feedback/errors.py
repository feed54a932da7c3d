"""Errors of the feedback side."""

from __future__ import annotations

from ragsite.core.errors import ConflictError, InvalidInputError
from ragsite.core.wording import worded


class NotRateableError(InvalidInputError):
    code = "not_rateable"
    message = worded("Only answers can be rated, not questions.")


class RatingNotReadyError(ConflictError):
    code = "answer_not_finished"
    message = worded("This answer is still being written; rate it when it is finished.")
