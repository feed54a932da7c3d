"""What the desk needs to know of revisions, golden questions and gaps. `feedback` provides it at start; nothing here
may import it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User

from retrieval.ports import BoostSource, Models


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionChoice:
    """A revision of boosts that searches can be tried with. number: 1, 2, 3 … in the order of making."""

    id: UUID
    number: int
    status: str
    status_text: str  # in the reader's language
    made_at: datetime
    live_at: datetime | None
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenAsked:
    """A golden question. expects: a decision; documents: with `ANSWER` the ids of those that answer it, else none."""

    id: UUID
    text: str
    collection: str
    documents: tuple[str, ...]
    expects: str = "ANSWER"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapShown:
    """A subject that questions were not answered on, in some days. collection: its id, or empty.

    wordings: distinct ones in all; asked_again, answered: of these. address: of its page.
    """

    question: str
    collection: str
    count: int
    people: int
    last_seen: datetime
    id: int = 0
    state: str = ""
    address: str = ""
    wordings: int = 0
    asked_again: int = 0
    answered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskNotice:
    """What people at the desk have to know of wherever they are. text: in the active language; url: of its page.
    alarms: something is wrong, and not merely new."""

    text: str
    url: str
    alarms: bool = True


class Feedback(Protocol):
    """What staff and ratings have made better, and what is missing."""

    def revisions(self, *, limit: int) -> Sequence[RevisionChoice]:
        """Newest first."""
        ...

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        """Those of a stored revision, with the boosts by hand that are in force; None: none at all.

        Reads the database. Raises NotFoundError.
        """
        ...

    def golden_questions(self, *, user: User, set_name: str | None, limit: int) -> Sequence[GoldenAsked]:
        """Those in use that `user` may know, of one set or of all."""
        ...

    def golden_sets(self, *, user: User) -> Sequence[tuple[str, int]]:
        """Names, "" for questions in none, with the number of questions in use."""
        ...

    def notices(self, user: User, *, curates: bool) -> Sequence[DeskNotice]:
        """For this person; mostly none."""
        ...

    def gaps(self, *, days: int, limit: int) -> Sequence[GapShown]:
        """Those that are not set aside, the largest first."""
        ...


_feedback: list[Feedback] = []  # one at most; filled in at start-up


def use_feedback(feedback: Feedback) -> None:
    """Say where they come from."""
    _feedback[:] = [feedback]


def get_feedback() -> Feedback:
    """Raises LookupError before `use_feedback` was called, which the app `feedback` does when it is ready."""
    if not _feedback:
        raise LookupError("Nothing provides revisions and golden questions: the app 'feedback' is not installed.")
    return _feedback[0]
