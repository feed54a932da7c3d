"""What the desk needs to know of revisions, golden questions, gaps and figures by stage. `feedback` provides it at
start; nothing here may import it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    no_answer: int
    badly_rated: int
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialState:
    """A draft that is measured by stage. done, total: questions by stages, of both sides; total 0: not begun."""

    open: bool
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTried:
    """A stage with the present settings and with a draft. label: in the active language. metrics: name → present,
    draft; 0..1, of `p50_ms` milliseconds.

    change: of nDCG over `questions`, above 0: better; low, high: its interval at `confidence`. better, worse: how many
    questions. left_out: those where a fallback served on one side alone. problem: why it could not be measured.
    """

    name: str
    label: str
    metrics: Mapping[str, tuple[float | None, float | None]]
    questions: int
    change: float
    low: float
    high: float
    confidence: float
    better: int
    worse: int
    left_out: int
    problem: str = ""

    @property
    def is_worse(self) -> bool:
        """Beyond chance."""
        return self.questions > 0 and self.high < 0

    @property
    def is_better(self) -> bool:
        return self.questions > 0 and self.low > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTried:
    """A question that the draft ranks worse. change: of nDCG, below 0. places: of the first right document."""

    text: str
    stage: str
    change: float
    places: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """stages, fell: once it is complete. error: in the active language. url: of the page with all of it."""

    state: TrialState
    complete: bool
    cancelled: bool
    error: str
    k: int
    questions: int
    url: str
    stages: Sequence[StageTried] = ()
    fell: Sequence[QuestionTried] = ()


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

    def golden_questions(self, *, set_name: str | None, limit: int) -> Sequence[GoldenAsked]:
        """Those that are in use, of one set or of all."""
        ...

    def golden_sets(self) -> Sequence[tuple[str, int]]:
        """Names, "" for questions in none, with the number of questions in use."""
        ...

    def trial_create(self, *, tried: int, by: User, golden: str | None, with_model: bool) -> bool:
        """Measure a draft by stage beside what is live, on a golden set or on all. tried: the id of its copy.
        with_model: also the steps that ask one. False: none of the questions has a document to find.

        Raises a ConflictError where too much is waiting."""
        ...

    def trial_states(self, tried: Sequence[int]) -> Mapping[int, TrialState]:
        """Of those that were tried so."""
        ...

    def trial_result(self, tried: int) -> TrialResult | None: ...

    def trial_cancel(self, tried: int) -> bool:
        """False: it had ended."""
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
