"""Bursts: many votes on one document on one day from very few accounts, or new accounts that all say the same. They
wait until a person has decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from uuid import UUID

import numpy as np
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from feedback.models import Burst, Evidence, RevisionEvent
from feedback.ranking import boosts
from feedback.ranking.boosts import BurstFound
from feedback.ranking.voters import young_votes
from feedback.rounds.bulk_rows import one_of
from feedback.rounds.deletions import deletions_wait, written
from feedback.rounds.proposals import Ballot
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded

EPOCH = date(1970, 1, 1)
Action = RevisionEvent.Action


def bursts_flag(ballot: Ballot) -> tuple[int, Ballot]:
    """Mark what looks like a burst. Returns how many were found or have grown, and the ballot without their votes.

    Votes in a burst that a person has decided on are not judged again.
    """
    open_votes = ballot.votes.where(~ballot.judged)
    bursts = boosts.find_bursts(open_votes, least_votes=boosts.BURST_VOTES, accounts=boosts.BURST_ACCOUNTS)
    bursts += boosts.find_newcomers(
        open_votes, young_votes(open_votes, ballot.voters), least_accounts=boosts.NEWCOMERS, days=boosts.NEWCOMERS_DAYS
    )
    known = set(ballot.votes.key[ballot.left_out].tolist())
    grown = 0
    for burst in bursts:
        keys = open_votes.key[burst.rows].tolist()
        if not known.issuperset(keys):
            grown += written(partial(_flag, ballot.passages.ids[burst.document], burst, keys))
            known.update(keys)
    return grown, replace(ballot, left_out=np.isin(ballot.votes.key, np.fromiter(known, np.int64, len(known))))


def _flag(document_id: UUID, found: BurstFound, evidence: list[int]) -> bool:
    """False where the votes, or their document, were deleted since they were read."""
    if not Evidence.objects.filter(one_of("pk", evidence), passage__document=document_id).exists():
        return False
    burst, made = Burst.objects.get_or_create(
        document_id=document_id,
        question_id=found.question,
        kind=Burst.Kind.NEWCOMERS if found.newcomers else Burst.Kind.BUSY,
        day=EPOCH + timedelta(days=found.day),
        status=Burst.Status.OPEN,
        defaults={"votes": 0, "accounts": 0},
    )
    Evidence.objects.filter(one_of("pk", evidence)).update(burst=burst)
    rows = Evidence.objects.filter(burst=burst)
    burst.votes, burst.accounts = rows.count(), rows.order_by().values("voter").distinct().count()
    burst.save(update_fields=["votes", "accounts"])
    if made:
        told = worded(
            "{summary}, {day}. {explanation}",
            summary=burst.summary(), day=str(burst.day), explanation=burst.explanation(),
        )  # fmt: skip
        _log(Action.BURST_FLAGGED, burst, told)
    return True


@transaction.atomic
def burst_decide(*, burst: Burst, accept: bool, by: User, why: str = "") -> Burst:
    """Count a burst's votes from the next round on, or leave them out. Raises ConflictError when it is decided already:
    that has to be taken back first."""
    deletions_wait()
    burst = Burst.objects.select_for_update().get(pk=burst.pk)
    if burst.status != Burst.Status.OPEN:
        raise ConflictError(worded("Somebody has decided on this burst already."))
    burst.status = Burst.Status.ACCEPTED if accept else Burst.Status.REJECTED
    burst.decided_by, burst.decided_at, burst.why = by, timezone.now(), why[:500]
    burst.save()
    _log(Action.BURST_ACCEPTED if accept else Action.BURST_REJECTED, burst, burst.why, by)
    return burst


def burst_reopen(*, burst: Burst, by: User, why: str = "") -> Burst:
    """Take a decision back: its votes are left out until the next one. Raises ConflictError where it is open, or where
    another burst on that document and day is."""
    try:
        with transaction.atomic():
            deletions_wait()
            decided = Burst.objects.filter(pk=burst.pk).exclude(status=Burst.Status.OPEN)
            undecided = {"status": Burst.Status.OPEN, "decided_by": None, "decided_at": None, "why": ""}
            if not decided.update(**undecided):
                raise ConflictError(worded("This burst waits for a decision already."))
            _log(Action.BURST_REOPENED, burst, why, by)
    except IntegrityError as error:  # one_open_burst_per_document_and_day
        raise ConflictError(
            worded("Another burst on this document and day waits; decide on that one first.")
        ) from error
    burst.refresh_from_db()
    return burst


def _log(action: str, burst: Burst, why: str, by: User | None = None) -> None:
    detail = {"burst": str(burst.pk), "kind": burst.kind, "votes": burst.votes, "accounts": burst.accounts}
    RevisionEvent.log(action, document_id=burst.document_id, by=by, why=why, detail=detail)
