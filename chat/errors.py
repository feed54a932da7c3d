"""Errors of conversations that more than one place raises."""

from __future__ import annotations

from ragsite.core.errors import ConflictError, NotFoundError
from ragsite.core.messages import worded


class SessionNotFoundError(NotFoundError):
    """404, also for the session of somebody else."""

    message = worded("There is no such conversation, or it is not yours.")


class MessageNotFoundError(NotFoundError):
    """404, also for the message of somebody else."""

    message = worded("There is no such message, or it is not yours.")


class AnswerInProgressError(ConflictError):
    """409: one answer at once per session."""

    code = "answer_in_progress"
    message = worded(
        "An answer is already being written in this conversation; wait for it or stop it."
    )


class AssistantNotFoundError(NotFoundError):
    """404, also for one that is not shared with who asks."""

    message = worded("There is no such assistant, or you may not use it.")


class AssistantCollectionsUnreadableError(ConflictError):
    """409: it looks into collections alone that are gone, or that who asks may not read."""

    code = "assistant_collections_unreadable"

    def __init__(self, name: str) -> None:
        super().__init__(
            worded(
                "You may not read any collection of the assistant “{name}”: they were withdrawn or deleted. Ask "
                "without the assistant, or tell its owner.",
                name=name,
            )
        )
