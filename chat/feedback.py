"""What conversations and the desk need to know of ratings; `feedback` provides it at start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import F, QuerySet

from chat.models import Message
from retrieval.engine.ports import BoostSource, Models
from retrieval.models import Document

Rating = Any  # a row of `feedback.models.Rating`


class Feedback(Protocol):
    def with_ratings(
        self, messages: QuerySet[Message], *, user: User | F | None = None
    ) -> QuerySet[Message]:
        """Each message gets a list `shown_ratings` of Rating: this user's ratings of it, or everybody's. user: or which
        one, as a rating's row has it. With a user each also gets `sent_state`: of the request by which its question
        was sent to a person, None: it was not.

        One more query, however many messages, and one for what this user's did; each rating has its user.
        """
        ...

    def checked_questions(
        self, *, user: User, searched: QuerySet[Document], limit: int
    ) -> list[str]:
        """Questions whose answers people have checked, newest first, of those that cite these documents alone. Of those
        that are in their asker's words only the user's own."""
        ...

    def test_questions(self, *, user: User, searched: QuerySet[Document], limit: int) -> list[str]:
        """Questions of the test set, newest first, that these documents answer. Of those that were made from an answer
        only the user's own."""
        ...

    def revisions(self, *, limit: int) -> Sequence[Any]:
        """Revisions of boosts (`id`, `number`, `get_status_display`), the newest first."""
        ...

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        """Those of a stored revision, with the boosts by hand that are in force; None: none at all.

        Reads the database. Raises NotFoundError.
        """
        ...


_feedback: list[Feedback] = []  # one at most; filled in at start-up


def use_feedback(feedback: Feedback) -> None:
    _feedback[:] = [feedback]


def get_feedback() -> Feedback:
    """Raises LookupError before `use_feedback` was called, which the app `feedback` does when it is ready."""
    if not _feedback:
        raise LookupError("Nothing provides ratings: the app 'feedback' is not installed.")
    return _feedback[0]
