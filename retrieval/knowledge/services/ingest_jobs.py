"""The rows of ingest jobs: whose document is read next, who works on it, until when, and what becomes of it.

Every write names the token of the lease, so that a worker who lost it can change nothing any more.

The next one is chosen when a worker is free, not when a file comes in: a message to the workers means "take the next
job". Users take turns: first who has the fewest documents being read, of those who had the last turn the longest ago.
One worker stays free for the next user. Jobs without a user are the site's own; they take turns like a user's, and may
use every worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from ragsite.core.leases import Lease, run_out, this_process
from ragsite.core.messages import counted, worded, wording_of
from ragsite.core.storage import is_full
from ragsite.core.text import shortened
from retrieval.models import Document, IngestJob

LEASE_S = 60.0  # a job whose worker has not reported for this long is taken over
MAX_ATTEMPTS = 3  # of a job whose worker died or failed in an unexpected way
MAX_WAITS = 150  # times a job is put off while the model server or the index is away
RETRY_FIRST_S = 5.0  # the first pause of such a job; each next one is twice as long
RETRY_LAST_S = 300.0  # the longest pause before a new attempt

ERROR_CHARS = 500
DISK_FULL = worded("The disk of the site is full; reading continues by itself when there is space.")
RECENT = timedelta(hours=1)  # a turn further back is as good as none
CLAIMS_TRIED = 20
OPEN_STATES = (IngestJob.State.WAITING, IngestJob.State.RUNNING)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """The right to work on a document until the lease of its job runs out; keep it with `leases.hold(claim.lease)`."""

    document_id: UUID
    lease: Lease


@transaction.atomic
def job_claim(*, document_id: UUID | str) -> JobClaim | None:
    """Take the document's open job, if nobody holds it. A job that was given up too often fails here."""
    open_jobs = IngestJob.objects.filter(state__in=OPEN_STATES)
    job = open_jobs.select_for_update().filter(document_id=document_id).first()
    if job is None:
        return None
    claim = JobClaim(job.document_id, Lease(open_jobs, job.pk, seconds=LEASE_S))
    given_up = job.attempts >= MAX_ATTEMPTS
    attempts = job.attempts if given_up else job.attempts + 1
    running = IngestJob.State.RUNNING
    if not claim.lease.take(
        state=running, holder=this_process(), attempts=attempts, started_at=timezone.now()
    ):
        return None
    if given_up:
        reason = counted(
            "Given up after {count} interrupted attempt.",
            "Given up after {count} interrupted attempts.",
            job.attempts,
        )
        if job.error:
            reason += worded(" Last error: {error}", error=job.error)
        job_fail(claim=claim, reason=reason)
        return None
    return claim


@transaction.atomic
def job_wait(*, claim: JobClaim, reason: str) -> bool:
    """Back off while a server is away: no failed attempt, and another try after a growing pause.

    False: it has waited too often, and failed.
    """
    job = claim.lease.held().select_for_update().first()
    if job is None:
        return True
    if job.waits >= MAX_WAITS:
        text = counted(
            "{reason} Given up after {count} try; upload the file again.",
            "{reason} Given up after {count} tries; upload the file again.",
            job.waits,
            reason=reason,
        )
        job_fail(claim=claim, reason=text)
        return False
    pause_s = min(RETRY_FIRST_S * 2**job.waits, RETRY_LAST_S)
    _give_back(claim, reason, pause_s, waits=job.waits + 1, attempts=max(0, job.attempts - 1))
    Document.objects.filter(pk=claim.document_id).update(
        **_error_fields(worded("Waiting: {reason}", reason=reason))
    )
    return True


@transaction.atomic
def job_give_back(*, claim: JobClaim, reason: str = "", counted: bool = True) -> None:
    """An attempt broke off. `counted=False`: on request, not through the document's fault."""
    if job := claim.lease.held().select_for_update().first():
        pause_s = RETRY_FIRST_S if counted else 0
        _give_back(
            claim, reason, pause_s, attempts=job.attempts if counted else max(0, job.attempts - 1)
        )


@transaction.atomic
def job_fail(*, claim: JobClaim, reason: str) -> None:
    """For good: nothing but a new upload starts this document again."""
    if claim.lease.release(
        state=IngestJob.State.FAILED, error=_cut(reason), finished_at=timezone.now()
    ):
        document = (
            Document.objects.select_related("collection__owner")
            .filter(pk=claim.document_id)
            .first()
        )
        if document is not None:
            document.status = Document.Status.FAILED
            fields = _error_fields(reason)
            document.error = fields["error"]
            document.error_wording = fields["error_wording"]
            document.save(
                update_fields=["status", "error", "error_wording", "updated_at"]
            )  # others listen


def job_finish(*, claim: JobClaim, document: Document) -> None:
    """The document, locked by the caller's transaction, is ready: all its chunks are indexed."""
    document.status = Document.Status.READY
    document.progress = 1.0
    document.error = ""
    document.error_wording = None
    document.save(update_fields=["status", "progress", "error", "error_wording", "updated_at"])
    claim.lease.release(state=IngestJob.State.DONE, error="", finished_at=timezone.now())


def _give_back(claim: JobClaim, reason: str, pause_s: float, **counts: int) -> None:
    not_before = timezone.now() + timedelta(seconds=pause_s)
    waiting = IngestJob.State.WAITING
    claim.lease.release(
        state=waiting, holder="", not_before=not_before, error=_cut(reason), **counts
    )


def _error_fields(reason: str) -> dict[str, Any]:
    """The fields of a document that tell it."""
    return {"error": _cut(reason), "error_wording": wording_of(reason)}


def _cut(text: str) -> str:
    return shortened(text, ERROR_CHARS)


# ------------------------------------------------------------------------------------------------ turns
def job_user(document: Document) -> User | None:
    """Whose turn the document's jobs take; None: the site's."""
    return document.uploaded_by or document.collection.owner


def job_claim_next() -> JobClaim | None:
    """Take the oldest job of the user whose turn it is."""
    for user_id in turns():
        jobs = IngestJob.objects.filter(_takeable(timezone.now()), user=user_id).order_by(
            "created_at"
        )
        for document_id in jobs.values_list("document_id", flat=True)[:CLAIMS_TRIED]:
            if claim := job_claim(document_id=document_id):
                return claim
    return None


def turns() -> list[int | None]:
    """The users, by id, who have a job that may be taken now, in the order of their turns. None on a full disk."""
    if is_full():
        return []
    now = timezone.now()
    running = Q(state=IngestJob.State.RUNNING) & ~run_out(at=now)
    users = (
        IngestJob.objects.filter(Q(state__in=OPEN_STATES) | Q(finished_at__gt=now - RECENT))
        .order_by()
        .values("user")
        .annotate(
            takeable=Count("pk", filter=_takeable(now)),
            running=Count("pk", filter=running),
            last_turn=Max("started_at"),
            waiting_since=Min("created_at", filter=_takeable(now)),
        )
        .filter(takeable__gt=0)
    )
    limit = max(1, settings.RAG.ingest.workers - 1)
    rows = [row for row in users if row["user"] is None or row["running"] < limit]
    rows.sort(
        key=lambda row: (row["running"], row["last_turn"] or now - RECENT, row["waiting_since"])
    )
    return [row["user"] for row in rows]


def _takeable(now: datetime) -> Q:
    """Waiting, and its pause is over; or its worker died."""
    waiting = Q(state=IngestJob.State.WAITING) & (Q(not_before=None) | Q(not_before__lte=now))
    left_behind = Q(state=IngestJob.State.RUNNING) & run_out(at=now)
    return waiting | left_behind
