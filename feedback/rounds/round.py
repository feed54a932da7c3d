"""One round of the feedback loop.

    ratings ─► evidence ─► one voice a person ─► sums ─► boosts ─► guard ─┬─► live
                                                                          └─► held, with the reason

Only one round runs at a time (a lease in the database). Evidence is written in batches, the revision in one transaction
with its boosts and its status. So after a crash the next round continues with what was written. A round that finds
nothing to change writes no revision.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from feedback.models import Evidence, FeedbackState, GoldenQuestion, Revision
from feedback.ranking.boosts import DocumentBoost, QueryBoost, digest, document_boosts, query_boosts
from feedback.ranking.guard import GuardReport
from feedback.ranking.votes import (
    Burst,
    Vote,
    dedupe_votes,
    document_sums,
    find_bursts,
    passage_sums,
    voters_of,
)
from feedback.rounds.deletions import write_with_retry
from feedback.rounds.evidence import day_of, evidence_gather
from feedback.rounds.guard import guard_measure
from feedback.rounds.live import boosts_of, content_make, content_of, live_revision
from feedback.rounds.passages import passages_relocate
from feedback.rounds.question_pairs import question_pairs_decide
from feedback.rounds.questions import questions_embed
from feedback.rounds.revisions import (
    revision_create,
    revision_go_live,
    revision_hold,
    revisions_forget,
)
from ragsite.core.errors import ConflictError, UnavailableError
from ragsite.core.leases import Lease, LeaseLostError, NamedLease, lock_is_held
from ragsite.core.messages import Sentence, joined, worded, wordings_of
from ragsite.core.queueing import BrokerAwayError, enqueue
from retrieval.models import Document

LEASE = "feedback round"
LEASE_S = 120.0  # a round that has not reported for this long is taken over
BURSTS_SHOWN = 3
Status = Literal["live", "held", "proposed", "unchanged", "busy", "failed"]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOutcome:
    """What a round did. revision: the id of the one that it made, or that still waits. ratings: how many were new or
    had changed. counts: boosts of questions and documents. by: the user name of the person who started it; empty: the
    schedule. wordings: what the reason and the notes were made of."""

    status: Status
    reason: str = ""
    by: str = ""
    dry_run: bool = False
    revision: str | None = None
    number: int | None = None
    ratings: int = 0
    evidence: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    guard: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    duration_ms: int = 0
    wordings: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        known = {**self.wordings, **wordings_of(self.reason, self.notes)}
        return {**asdict(self), "notes": list(self.notes), "wordings": known}


BUSY = RoundOutcome(status="busy", reason=worded("New ratings are being applied already."))


class RoundLostError(ConflictError):
    """The round was stopped for so long that another one has taken over."""

    code = "feedback_round_lost"
    message = worded("New ratings are being applied by another run. See its result.")


class QueueAwayError(UnavailableError):
    code = "queue_unavailable"
    message = worded("The task queue is not reachable. Try again shortly.")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the votes make of boosts, beside what is live."""

    queries: Sequence[QueryBoost]
    documents: Sequence[DocumentBoost]
    bursts: Sequence[Burst]

    @property
    def digest(self) -> str:
        return digest(self.queries, self.documents)

    def counts(self) -> dict[str, int]:
        return {"query_boosts": len(self.queries), "document_boosts": len(self.documents)}


def round_queue(*, by: User) -> None:
    """Have a worker run a round as this person: a request is not to wait for one. Raises QueueAwayError."""
    try:
        enqueue("feedback.tasks.reindex_feedback", keywords={"by": by.pk}, required=True)
    except BrokerAwayError as error:
        raise QueueAwayError from error


def feedback_round(*, by: User | None = None, dry_run: bool = False) -> RoundOutcome:
    """Draw the evidence of new ratings, and make a revision of what has changed.

    by: who started it, None: the schedule. dry_run: the same in one transaction that is rolled back; a revision that it
    would make has no id and no number. Raises RoundLostError.
    """
    begun = time.monotonic()
    name = by.get_username() if by else ""
    if dry_run and lock_is_held(LEASE):
        return replace(BUSY, dry_run=True)
    if dry_run:
        with transaction.atomic():
            outcome = _round(lambda: None, by)  # there is no lease to renew
            transaction.set_rollback(True)
        made = outcome.revision and Revision.objects.filter(pk=outcome.revision).exists()
        outcome = outcome if made else replace(outcome, revision=None, number=None)
        return replace(outcome, dry_run=True, duration_ms=_ms_since(begun), by=name)
    with _lease() as lease:
        if lease is None:
            return BUSY
        try:
            outcome = replace(_round(lease.renew, by), duration_ms=_ms_since(begun), by=name)
        except (LeaseLostError, RoundLostError):
            raise  # the other round records its own outcome
        except (
            Exception
        ):  # staff who look for the outcome see that it failed, which the task queue does not show
            at = timezone.localtime().strftime("%Y-%m-%d %H:%M")
            reason = worded(
                "It was interrupted at {at}; the worker's log says why. The ratings wait for the next run.",
                at=at,
            )
            with suppress(DatabaseError):
                _record(RoundOutcome(status="failed", reason=reason, by=name))
            raise
        _record(outcome)
    logger.info("Feedback round: %s %s", outcome.status, outcome.reason)
    return outcome


# ------------------------------------------------------------------------------------------------ its parts
def _round(renew: Callable[[], None], by: User | None) -> RoundOutcome:
    live = live_revision()
    passages_relocate()
    ratings, evidence = evidence_gather(report=renew)
    not_embedded = questions_embed(report=renew)
    not_paired = question_pairs_decide(report=renew)
    proposal = proposal_make(live)
    renew()
    outcome = RoundOutcome(
        status="unchanged",
        reason=worded("Nothing changes."),
        ratings=ratings,
        evidence=evidence,
        notes=_notes(not_embedded, not_paired),
        counts=proposal.counts(),
    )
    if proposal.digest == digest(*boosts_of(live)):
        return outcome
    waiting = _waiting(proposal)
    revision = waiting
    if waiting is None or _to_measure_again(waiting):
        new = content_make(proposal.queries, proposal.documents)
        report = guard_measure(new, live=content_of(live), report=renew)
        if waiting is None or report.measured:  # else nothing new is known of it
            renew()
            revision = write_with_retry(partial(_decide, proposal, report, outcome, live, by))
    assert revision is not None
    return replace(
        outcome,
        status=cast("Status", revision.status),
        reason=revision.reason,
        revision=str(revision.pk),
        number=revision.number,
        guard=revision.guard,
        wordings=revision.wordings,
    )


def proposal_make(live: Revision | None) -> Proposal:
    """Of all evidence of accounts that are switched on, on texts that are still there."""
    today = day_of(timezone.now())
    rows = Evidence.objects.filter(passage__chunk_id__isnull=False, voter__is_active=True).order_by(
        "day", "pk"
    )
    columns = (
        "question_id",
        "passage_id",
        "passage__document_id",
        "voter_id",
        "weight",
        "document_weight",
        "day",
    )
    votes = dedupe_votes(map(Vote._make, rows.values_list(*columns).iterator(chunk_size=5000)))
    people = User.objects.filter(is_active=True).order_by()
    staff = frozenset(people.filter(is_staff=True).values_list("pk", flat=True))
    joined_on = {
        key: day_of(moment) for key, moment in people.values_list("pk", "date_joined").iterator()
    }
    voters = voters_of(joined_on, staff, today=today)
    # What is live was let pass, by the guard or by a person, with the votes of its day.
    since = day_of(live.created_at) if live else 0
    return Proposal(
        query_boosts(passage_sums(votes, voters, today=today)),
        document_boosts(document_sums(votes, voters, today=today)),
        [] if voters.fresh_site else find_bursts(votes, since=since),
    )


def _decide(
    proposal: Proposal,
    report: GuardReport,
    outcome: RoundOutcome,
    live: Revision | None,
    by: User | None,
) -> Revision:
    """The revision, with its boosts and its status: all of it or nothing."""
    if live_revision() != live:
        raise RoundLostError(
            worded("Another ranking change went live while this one was tested. Start again.")
        )
    reasons = [report.reason] if report.reason else []
    reasons += [_burst_reason(burst) for burst in proposal.bursts[:BURSTS_SHOWN]]
    taken_back = Revision.objects.filter(
        status=Revision.Status.ROLLED_BACK, digest=proposal.digest
    ).first()
    if taken_back:
        reasons.append(
            worded(
                "It does the same as ranking change {number}, which was undone.",
                number=taken_back.number,
            )
        )
    revision = revision_create(
        queries=proposal.queries,
        documents=proposal.documents,
        digest=proposal.digest,
        guard=asdict(report),
        wordings=wordings_of(report.reason, report.notes),
        summary={"ratings": outcome.ratings, "evidence": outcome.evidence, **outcome.counts},
        by=by and User.objects.filter(pk=by.pk).first(),
    )
    if reasons:
        revision = revision_hold(revision=revision, why=joined("; ", reasons))
    elif settings.RAG.feedback.auto_live:
        revision = revision_go_live(revision=revision, why=worded("It passed the checks."))
    revisions_forget()
    return revision


def _burst_reason(burst: Burst) -> Sentence:
    document = Document.objects.filter(pk=burst.document).first()
    return worded(
        "{voices} people rated “{title}” on one day, many more than before",
        voices=burst.voices,
        title=document.title[:80] if document else str(burst.document),
    )


def _waiting(proposal: Proposal) -> Revision | None:
    """The newest revision, where it waits with the very same boosts: that needs a person, not another row."""
    newest = Revision.objects.order_by("-number").first()
    if newest is None or newest.digest != proposal.digest:
        return None
    proposed = newest.status == Revision.Status.PROPOSED and not settings.RAG.feedback.auto_live
    return newest if newest.status == Revision.Status.HELD or proposed else None


def _to_measure_again(waiting: Revision) -> bool:
    """Where it could not be measured then, or golden questions were added or changed since. What was rolled back waits
    for a person."""
    rolled_back = Revision.objects.filter(
        status=Revision.Status.ROLLED_BACK, digest=waiting.digest
    ).exists()
    changed = GoldenQuestion.objects.filter(updated_at__gt=waiting.created_at).exists()
    return not rolled_back and (changed or not waiting.guard.get("measured", True))


def _notes(not_embedded: str, not_paired: str) -> tuple[str, ...]:
    notes = []
    if not_embedded:
        notes.append(
            worded(
                "some rated questions are compared by words alone: {reason}", reason=not_embedded
            )
        )
    if not_paired:
        notes.append(
            worded(
                "some pairs of rated questions wait for a chat model: {reason}", reason=not_paired
            )
        )
    return tuple(notes)


@contextmanager
def _lease() -> Iterator[Lease | None]:
    """None where another round holds it. Raises RoundLostError when another round has taken it over meanwhile."""
    lease = NamedLease(LEASE, seconds=LEASE_S)
    if not lease.take():
        yield None
        return
    try:
        yield lease
    except LeaseLostError as error:
        raise RoundLostError from error
    finally:
        lease.release()


def _record(outcome: RoundOutcome) -> None:
    ended = {**outcome.as_dict(), "at": timezone.now().isoformat()}
    FeedbackState.objects.filter(pk=1).update(last_round=ended)


def _ms_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
