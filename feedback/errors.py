"""Errors of the feedback side."""

from __future__ import annotations

from ragsite.core.errors import ConflictError, InvalidInputError


class NotRateableError(InvalidInputError):
    code = "not_rateable"
    message = "Only answers can be rated, not questions."


class RatingNotReadyError(ConflictError):
    code = "answer_not_finished"
    message = "This answer is still being written; rate it when it is finished."
