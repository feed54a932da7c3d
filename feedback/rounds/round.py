"""One round of the feedback loop.

    ratings ─► evidence ─► bursts set aside ─► proposal ─► guard ─┬─► live
               (batches)                       (diff)             └─► held, with the reason

Only one round runs at a time (a lease in the database). Evidence is written in batches, the revision in one transaction
with its boosts and its status. So after a crash the next round continues with what was written. A round that finds
nothing to change writes no revision.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from feedback.models import FeedbackState, RatedPassage, Revision, RevisionEvent
from feedback.ranking.guard import GuardReport
from feedback.rounds.bulk_rows import room_for_many_rows
from feedback.rounds.bursts import bursts_flag
from feedback.rounds.deletions import written
from feedback.rounds.evidence import Gathered, evidence_gather
from feedback.rounds.guard import guard_measure
from feedback.rounds.live import content_of, feedback_state
from feedback.rounds.passages import passages_relocate
from feedback.rounds.proposals import Proposal, ballot_load, changes_left, proposal_make
from feedback.rounds.question_pairs import question_pairs_decide
from feedback.rounds.questions import questions_embed
from feedback.rounds.revisions import revision_create, revision_go_live, revision_hold, revisions_forget
from feedback.rounds.voters import voter_weights_write
from ragsite.core.errors import ConflictError
from ragsite.core.leases import Lease, LeaseLostError
from ragsite.core.wording import worded, wordings_of
from retrieval.services.write_lease import lease_is_held, lease_release, lease_take, space_lease

LEASE = "feedback round"
GOLDEN_CHANGES = (
    RevisionEvent.Action.GOLDEN_ADDED, RevisionEvent.Action.GOLDEN_CHANGED, RevisionEvent.Action.GOLDEN_DELETED,
    RevisionEvent.Action.GOLDEN_IMPORTED,
)  # fmt: skip
MAX_REASON = 500
LEASE_S = 120.0  # a round that has not reported for this long is taken over
MOST_BEGUN = 3  # a round that ends its process each time is not begun again and again
Status = Literal["live", "held", "proposed", "unchanged", "frozen", "busy", "failed", "queued", "running"]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOutcome:
    """What a round did. revision: the id of the one that it made, or, unchanged and held, of the one that still waits.

    ratings: how many were new or had changed. bursts: how many were found or have grown. counts: of the proposal.
    timings_ms: of its parts, in their order. by: the user name of who started it; empty: the schedule. queued: a worker
    was told to run it. running: it has begun, and, where nobody holds the lease, was cut off. begun: how often.
    wordings: what the reason and the notes were made of.
    """

    status: Status
    reason: str = ""
    by: str = ""
    begun: int = 0
    dry_run: bool = False
    revision: str | None = None
    number: int | None = None
    ratings: int = 0
    evidence: int = 0
    bursts: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    guard: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    timings_ms: dict[str, int] = field(default_factory=dict)
    duration_ms: int = 0
    wordings: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        known = {**self.wordings, **wordings_of(self.reason, self.notes)}
        return {**asdict(self), "notes": list(self.notes), "wordings": known}


FROZEN = worded("Rounds are frozen: evidence was gathered, no more.")
BUSY = RoundOutcome(status="busy", reason=worded("Another round is running."))


class RoundLostError(ConflictError):
    """The round was stopped for so long that another one has taken over."""

    code = "feedback_round_lost"
    message = worded("Another round has taken over; look at its outcome.")


def feedback_round(*, by: User | None = None, dry_run: bool = False) -> RoundOutcome:
    """Draw the evidence of new ratings, and make a revision of what has changed.

    by: who started it, None: the schedule. dry_run: the same in one transaction that is rolled back; deletions, and on
    SQLite all writes, wait for its end. A revision that it would make has no id and no number. Raises RoundLostError.
    """
    begun = time.monotonic()
    if dry_run:
        return _dry_run(by, begun)
    with _lease() as lease:
        if lease is None:
            return BUSY
        with _failure_recorded(by):
            _begin(by)
            outcome = _round(lease.renew, by)
        outcome = replace(outcome, duration_ms=_ms_since(begun), by=_name(by))
        _record(outcome)
    logger.info("Feedback round: %s %s", outcome.status, outcome.reason)
    return outcome


def _dry_run(by: User | None, begun: float) -> RoundOutcome:
    if lease_is_held(LEASE):
        return replace(BUSY, dry_run=True)
    with transaction.atomic():
        outcome = _round(lambda: None, by)  # there is no lease to renew
        transaction.set_rollback(True)
    if outcome.revision and not Revision.objects.filter(pk=outcome.revision).exists():
        outcome = replace(outcome, revision=None, number=None)
    return replace(outcome, dry_run=True, duration_ms=_ms_since(begun), by=_name(by))


def _name(by: User | None) -> str:
    return by.get_username() if by else ""


def _ms_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)


def _begin(by: User | None) -> None:
    """Staff see that it runs; and of one whose process is killed this is what stays."""
    before = feedback_state().last_round
    begun = before.get("begun", 0) + 1 if before.get("status") == "running" else 1
    reason = worded("A round runs since {at}; its outcome will stand here.", at=_now())
    _record(RoundOutcome(status="running", reason=reason, by=_name(by), begun=begun))


def _record(outcome: RoundOutcome) -> None:
    FeedbackState.objects.filter(pk=1).update(last_round=outcome.as_dict())


def _now() -> str:
    return timezone.localtime().strftime("%Y-%m-%d %H:%M")


@contextmanager
def _failure_recorded(by: User | None) -> Iterator[None]:
    """Staff who look for the outcome see that the round failed, which the task queue does not show."""
    before = feedback_state().last_round
    try:
        yield
    except (LeaseLostError, RoundLostError):
        raise  # the other round records its own outcome
    except KeyboardInterrupt:  # a person at the terminal wants it no more
        FeedbackState.objects.filter(pk=1).update(last_round=before)
        raise
    except Exception:
        reason = worded(
            "It broke off at {at}; the worker's log says why. What was rated waits for the next one.", at=_now()
        )
        with suppress(DatabaseError):
            # `last_round_at` stays: the next round looks at documents that have changed since then.
            _record(RoundOutcome(status="failed", reason=reason, by=_name(by)))
        raise


def round_resume() -> Status | None:
    """Run the round that was asked for or begun, and that nobody works on: its process was killed or told to stop, or
    its message was lost. None: there is none.
    """
    last = feedback_state().last_round
    if last.get("status") not in ("queued", "running") or lease_is_held(LEASE):
        return None
    by = User.objects.filter(username=last.get("by", "")).first() if last.get("by", "") else None
    if last.get("begun", 0) >= MOST_BEGUN:
        reason = worded(
            "It was cut off {times} times, the last time after {at}; the worker's log may say why.",
            times=MOST_BEGUN, at=_now(),
        )  # fmt: skip
        _record(RoundOutcome(status="failed", reason=reason, by=last.get("by", "")))
        return "failed"
    return feedback_round(by=by).status


# ------------------------------------------------------------------------------------------------ its parts
def _notes(not_embedded: str) -> tuple[str, ...]:
    if not not_embedded:
        return ()
    return (worded("some rated questions are compared by words alone: {reason}", reason=not_embedded),)


def _round(renew: Callable[[], None], by: User | None) -> RoundOutcome:
    state, laps = feedback_state(), _Laps()
    gathered, not_embedded = _gather(state, renew, laps)
    bursts, ballot = bursts_flag(ballot_load())
    laps.end("votes")
    notes = _notes(not_embedded)
    renew()
    done: dict[str, Any] = {
        "ratings": gathered.ratings, "evidence": gathered.evidence, "bursts": bursts, "notes": notes,
        "timings_ms": laps.ms,
    }  # fmt: skip
    if state.frozen:
        return RoundOutcome(status="frozen", reason=FROZEN, **done)
    live = content_of(state.live)
    proposal = proposal_make(ballot, live)
    del ballot
    if proposal.weights:
        voter_weights_write(proposal.weights)
    laps.end("proposal")
    renew()
    done["counts"] = proposal.counts()
    if not proposal.changes and proposal.content.parameters == live.parameters:
        return RoundOutcome(status="unchanged", reason=worded("No boost changes."), **done)
    revision = _waits_already(proposal, state)
    if revision is None or _to_measure_again(revision):
        report = guard_measure(proposal, live=live, report=renew)
        laps.end("guard")
        if revision is None or not _says_the_same(report, revision):
            revision = written(partial(_decide, proposal, report, gathered, state, renew, by))
            laps.end("revision")
    if revision is None:  # frozen while it was measured
        return RoundOutcome(status="frozen", reason=FROZEN, **done)
    return RoundOutcome(
        status=cast("Status", revision.status), reason=revision.reason, revision=str(revision.pk),
        number=revision.number, guard=revision.guard, wordings=revision.guard.get("wordings", {}), **done,
    )  # fmt: skip


def _gather(state: FeedbackState, renew: Callable[[], None], laps: _Laps) -> tuple[Gathered, str]:
    """Bring evidence, passages and vectors up to date. Also returns why some questions could not be embedded, or ""."""
    begun = timezone.now()
    # The first round reads the passages that it makes; only those of an earlier one that failed may have moved.
    since = state.last_round_at or (None if RatedPassage.objects.exists() else begun)
    with room_for_many_rows():
        gathered = evidence_gather(report=renew)
        laps.end("evidence")
        passages_relocate(since=since)
    FeedbackState.objects.filter(pk=1).update(last_round_at=begun)
    laps.end("passages")
    not_embedded = questions_embed(report=renew)
    laps.end("vectors")
    question_pairs_decide(wait_for_vectors=bool(not_embedded), report=renew)
    laps.end("pairs")
    return gathered, not_embedded


def _decide(
    proposal: Proposal,
    report: GuardReport,
    gathered: Gathered,
    state: FeedbackState,
    renew: Callable[[], None],
    by: User | None,
) -> Revision | None:
    """The revision, with its boosts, its status and the switch of the pointer: all of it or nothing.

    Without the differences on what was deleted since it was measured. None: rounds have been frozen since then.
    """
    renew()
    proposal = replace(proposal, changes=changes_left(proposal.changes))
    by = by and User.objects.filter(pk=by.pk).first()
    now = feedback_state()
    if now.live_id != state.live_id:
        raise RoundLostError(worded("Another revision went live while this round was measured; start it again."))
    if now.frozen:
        return None
    summary = {"ratings": gathered.ratings, "evidence": gathered.evidence}
    revision = revision_create(proposal, guard=report.as_dict(), summary=summary, by=by)
    taken_back = Revision.objects.filter(status=Revision.Status.ROLLED_BACK, digest=revision.digest).first()
    if taken_back:
        revision = revision_hold(
            revision=revision,
            why=worded("It does the same as revision {number}, which was rolled back.", number=taken_back.number),
        )
    elif not report.passed:
        revision = revision_hold(revision=revision, why=report.reason)
    elif settings.RAG.feedback.auto_live:
        revision = revision_go_live(revision=revision, why=worded("The guard let it pass."))
    revisions_forget()
    return revision


# ------------------------------------------------------------------------------------------------ waits already
def _waits_already(proposal: Proposal, state: FeedbackState) -> Revision | None:
    """The newest revision, where it waits with the very same boosts: that needs a person, not another row.

    One that the guard let pass waits only where revisions don't go live by themselves, and tells its differences from
    the one that was live then.
    """
    newest = Revision.objects.order_by("-number").first()
    if newest is None or newest.digest != proposal.content.digest():
        return None
    proposed = newest.status == Revision.Status.PROPOSED and newest.parent_id == state.live_id
    waits = newest.status == Revision.Status.HELD or (proposed and not settings.RAG.feedback.auto_live)
    return newest if waits else None


def _to_measure_again(waiting: Revision) -> bool:
    """Where it could not be measured then, or staff have changed golden questions since.

    What a person held, or had rolled back, waits for a person.
    """
    by_a_person = waiting.status == Revision.Status.HELD and not waiting.reason
    if by_a_person or waiting.reason != str(waiting.guard.get("reason", ""))[:MAX_REASON]:
        return False
    changed = RevisionEvent.objects.filter(action__in=GOLDEN_CHANGES, at__gt=waiting.created_at)
    return _not_measured(waiting) or changed.exists()


def _not_measured(held: Revision) -> bool:
    """Earlier versions told it in the reason alone."""
    return bool(held.guard.get("not_measured", held.reason.startswith("it could not be measured")))


def _says_the_same(report: GuardReport, held: Revision) -> bool:
    if report.not_measured:
        return True  # nothing new is known of it
    return report.reason[:MAX_REASON] == held.reason


class _Laps:
    """How long the parts of a round took, in ms."""

    def __init__(self) -> None:
        self.ms: dict[str, int] = {}
        self._begun = time.monotonic()

    def end(self, part: str) -> None:
        now = time.monotonic()
        self.ms[part] = round((now - self._begun) * 1000)
        self._begun = now


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage seldom: a round makes millions of objects but no cycles, and the search for them takes a third of
    its time.

    It holds for all threads, so it is for a process that does nothing else meanwhile.
    """
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


# ------------------------------------------------------------------------------------------------ one at a time
@contextmanager
def _lease() -> Iterator[Lease | None]:
    """None where another round holds it. Raises RoundLostError when another round has taken it over meanwhile."""
    lease = space_lease(LEASE, seconds=LEASE_S)
    if not lease_take(lease):
        yield None
        return
    try:
        yield lease
    except LeaseLostError as error:
        raise RoundLostError from error
    finally:
        lease_release(lease)
