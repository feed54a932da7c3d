"""What conversations need to know of ratings. `feedback` provides it at start; nothing here may import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from chat.models import Message


class Rating(Protocol):
    """One user's rating of an answer, or of its source `source_id`. `score`: 1 to 5."""

    user: User
    message_id: UUID
    source_id: int | None
    score: int
    tags: list[str]
    comment: str

    @property
    def thumb(self) -> Literal["up", "down"] | None:
        """Which way the score points."""
        ...

    @property
    def moved(self) -> Mapping[str, Literal["up", "down"]]:
        """Chunk id → where searches put it since, for this question; of the reader's own ratings alone."""
        ...


class Ratings(Protocol):
    """The ratings of all users."""

    def with_ratings(self, messages: QuerySet[Message], *, user: User | None = None) -> QuerySet[Message]:
        """Each message gets a list `shown_ratings` of Rating: this user's ratings of it, or everybody's.

        One more query, however many messages, and one for what this user's did; each rating has its user.
        """
        ...

    def checked_questions(self, *, user: User, limit: int) -> list[str]:
        """Questions whose answers people have checked, newest first, of those that would be given to this user."""
        ...


_ratings: list[Ratings] = []  # one at most; filled in at start-up


def use_ratings(ratings: Ratings) -> None:
    """Say where ratings come from."""
    _ratings[:] = [ratings]


def get_ratings() -> Ratings:
    """Raises LookupError before `use_ratings` was called, which the app `feedback` does when it is ready."""
    if not _ratings:
        raise LookupError("Nothing provides ratings: the app 'feedback' is not installed.")
    return _ratings[0]
