"""What a replay needs to know of revisions of boosts. `feedback` provides it at start; nothing here may import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from retrieval.ports import BoostSource, Models


class RevisionChoice(NamedTuple):
    """A revision of boosts that searches can be tried with. number: 1, 2, 3 … in the order of making."""

    id: UUID
    number: int
    status: str  # in the reader's language


class Feedback(Protocol):
    """What staff and ratings have made better."""

    def revisions(self, *, limit: int) -> Sequence[RevisionChoice]:
        """Newest first."""
        ...

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        """Those of a stored revision, with the boosts by hand that are in force; None: none at all.

        Reads the database. Raises NotFoundError.
        """
        ...


_feedback: list[Feedback] = []  # one at most; filled in at start-up


def use_feedback(feedback: Feedback) -> None:
    """Say where they come from."""
    _feedback[:] = [feedback]


def get_feedback() -> Feedback:
    """Raises LookupError before `use_feedback` was called, which the app `feedback` does when it is ready."""
    if not _feedback:
        raise LookupError("Nothing provides revisions: the app 'feedback' is not installed.")
    return _feedback[0]
