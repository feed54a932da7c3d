"""Bursts: many votes on one document on one day from very few accounts. They wait until a person has decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from uuid import UUID

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.boosts import find_bursts
from feedback.models import Burst, Evidence, RevisionEvent
from feedback.services.proposals import Ballot
from ragsite.errors import ConflictError

EPOCH = date(1970, 1, 1)


def bursts_flag(ballot: Ballot) -> tuple[int, Ballot]:
    """Set aside what looks like a burst: how many were found or have grown, and the ballot without them.

    Votes that belong to a burst that a person has decided on are not judged again.
    """
    numbers = settings.RAG.feedback
    open_votes = ballot.votes.where(~ballot.judged)
    found = find_bursts(open_votes, least_votes=numbers.burst_votes, accounts=numbers.burst_accounts)
    known = set(ballot.votes.key[ballot.left_out].tolist())
    grown = 0
    for one in found:
        keys = open_votes.key[one.rows].tolist()
        if known.issuperset(keys):
            continue
        _flag(ballot.documents.ids[one.document], one.day, keys)
        known.update(keys)
        grown += 1
    return grown, replace(ballot, left_out=np.isin(ballot.votes.key, np.fromiter(known, np.int64, len(known))))


@transaction.atomic
def _flag(document_id: UUID, day: int, evidence: list[int]) -> None:
    burst, made = Burst.objects.get_or_create(
        document_id=document_id,
        day=EPOCH + timedelta(days=day),
        status=Burst.Status.OPEN,
        defaults={"votes": 0, "accounts": 0},
    )
    Evidence.objects.filter(pk__in=evidence).update(burst=burst)
    rows = Evidence.objects.filter(burst=burst)
    burst.votes, burst.accounts = rows.count(), rows.order_by().values("voter").distinct().count()
    burst.save(update_fields=["votes", "accounts"])
    if made:
        RevisionEvent.objects.create(
            action=RevisionEvent.Action.BURST_FLAGGED,
            document_id=burst.document_id,
            why=f"{burst.votes} votes of {burst.accounts} accounts on {burst.day}",
            detail={"burst": str(burst.pk), "votes": burst.votes, "accounts": burst.accounts},
        )


@transaction.atomic
def burst_decide(*, burst: Burst, accept: bool, by: User, why: str = "") -> Burst:
    """Count a burst's votes from the next round on, or leave them out for good. Raises ConflictError when it is decided
    already."""
    burst = Burst.objects.select_for_update().get(pk=burst.pk)
    if burst.status != Burst.Status.OPEN:
        raise ConflictError(f"This burst has been {burst.status} already.")
    burst.status = Burst.Status.ACCEPTED if accept else Burst.Status.REJECTED
    burst.decided_by, burst.decided_at, burst.why = by, timezone.now(), why[:500]
    burst.save()
    RevisionEvent.objects.create(
        action=RevisionEvent.Action.BURST_ACCEPTED if accept else RevisionEvent.Action.BURST_REJECTED,
        document_id=burst.document_id,
        by=by,
        why=burst.why,
        detail={"burst": str(burst.pk), "votes": burst.votes, "accounts": burst.accounts},
    )
    return burst
