"""The rows of ingest jobs: who works on a document, until when, and what becomes of it.

Every write names the token of the lease, so that a worker who lost it can change nothing any more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from ragsite.core.leases import Lease
from ragsite.core.text import shortened
from retrieval.models import Document, IngestJob
from retrieval.services.collections import collection_touch

logger = logging.getLogger(__name__)
ERROR_CHARS = 500
DISK_FULL = "The disk of the site is full; reading goes on by itself when there is room."


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a document until the lease of its job runs out; keep it with `leases.hold(claim.lease)`."""

    job_id: UUID
    document_id: UUID
    lease: Lease


@transaction.atomic
def job_claim(*, document_id: UUID | str, holder: str) -> Claim | None:
    """Take the document's open job, if nobody holds it. A job that was given up too often fails here.

    holder: host and process, for people.
    """
    open_jobs = IngestJob.objects.filter(state__in=(IngestJob.State.WAITING, IngestJob.State.RUNNING))
    job = open_jobs.select_for_update().filter(document_id=document_id).first()
    if job is None:
        return None
    claim = Claim(job.pk, job.document_id, Lease(open_jobs, job.pk, seconds=settings.RAG.ingest.lease_s))
    given_up = job.attempts >= settings.RAG.ingest.max_attempts
    attempts = job.attempts if given_up else job.attempts + 1
    running = IngestJob.State.RUNNING
    if not claim.lease.take(state=running, holder=holder, attempts=attempts, started_at=timezone.now()):
        return None
    if given_up:
        last = f" Last error: {job.error}" if job.error else ""
        job_fail(claim=claim, reason=f"Given up after {job.attempts} attempts that broke off.{last}")
        return None
    return claim


def job_check(*, claim: Claim) -> None:
    """For use inside a transaction, before it writes. Raises LeaseLostError."""
    claim.lease.check()


@transaction.atomic
def job_wait(*, claim: Claim, reason: str) -> bool:
    """Stand back while a server is away: no failed attempt, and another try after a growing pause.

    False: it has waited too often, and failed.
    """
    job = claim.lease.held().select_for_update().first()
    if job is None:
        return True
    ingest = settings.RAG.ingest
    if job.waits >= ingest.max_waits:
        job_fail(claim=claim, reason=f"{reason} Given up after {job.waits} tries; upload the file again.")
        return False
    pause_s = min(ingest.retry_first_s * 2**job.waits, ingest.retry_last_s)
    _give_back(claim, job, reason, pause_s, waits=job.waits + 1, attempts=max(0, job.attempts - 1))
    Document.objects.filter(pk=claim.document_id).update(error=_cut(f"Waiting: {reason}"))
    return True


@transaction.atomic
def job_give_back(*, claim: Claim, reason: str = "", counted: bool = True) -> None:
    """An attempt broke off. `counted=False`: on request, not through the document's fault."""
    if job := claim.lease.held().select_for_update().first():
        pause_s = settings.RAG.ingest.retry_first_s if counted else 0
        _give_back(claim, job, reason, pause_s, attempts=job.attempts if counted else max(0, job.attempts - 1))


@transaction.atomic
def job_fail(*, claim: Claim, reason: str) -> None:
    """For good: nothing but a new upload starts this document again."""
    if claim.lease.release(state=IngestJob.State.FAILED, error=_cut(reason), finished_at=timezone.now()):
        Document.objects.filter(pk=claim.document_id).update(
            status=Document.Status.FAILED, error=_cut(reason), updated_at=timezone.now()
        )


def job_finish(*, claim: Claim, document: Document, timings_ms: dict[str, Any]) -> None:
    """The document, locked by the caller's transaction, is ready: all its chunks are indexed."""
    document.status, document.progress, document.error = Document.Status.READY, 1.0, ""
    document.save(update_fields=["status", "progress", "error", "updated_at"])
    done = IngestJob.State.DONE
    claim.lease.release(state=done, error="", finished_at=timezone.now(), timings_ms=timings_ms)
    collection_touch(collection_id=document.collection_id)


def _give_back(claim: Claim, job: IngestJob, reason: str, pause_s: float, **counts: int) -> None:
    now = timezone.now()
    worked_s = job.worked_s + (now - (job.started_at or now)).total_seconds()
    not_before = now + timedelta(seconds=pause_s)
    claim.lease.release(
        state=IngestJob.State.WAITING,
        holder="",
        not_before=not_before,
        worked_s=worked_s,
        error=_cut(reason),
        **counts,
    )


def _cut(text: str) -> str:
    return shortened(text, ERROR_CHARS)
