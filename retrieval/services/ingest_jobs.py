"""The rows of ingest jobs: who works on a document, until when, and what becomes of it.

Every write names the holder, so that a worker whose lease ran out can change nothing any more.
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

from retrieval.models import Document, IngestJob
from retrieval.services.collections import collection_touch

logger = logging.getLogger(__name__)
ERROR_CHARS = 500
DISK_FULL = "The disk of the site is full; reading goes on by itself when there is room."


class LeaseLostError(Exception):
    """Another worker has taken the job over; this one stops."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a document until the lease runs out."""

    job_id: UUID
    document_id: UUID
    holder: str


@transaction.atomic
def job_claim(*, document_id: UUID | str, holder: str) -> Claim | None:
    """Take the document's open job, if nobody holds it. A job that was given up too often fails here."""
    job = (
        IngestJob.objects.select_for_update()
        .filter(document_id=document_id, state__in=(IngestJob.State.WAITING, IngestJob.State.RUNNING))
        .first()
    )
    now = timezone.now()
    if job is None or (job.state == IngestJob.State.RUNNING and job.lease_expires_at and job.lease_expires_at > now):
        return None
    claim = Claim(job.pk, job.document_id, holder)
    if job.attempts >= settings.RAG.ingest.max_attempts:
        job.holder = holder
        job.save(update_fields=["holder"])
        last = f" Last error: {job.error}" if job.error else ""
        job_fail(claim=claim, reason=f"Given up after {job.attempts} attempts that broke off.{last}")
        return None
    job.state, job.holder, job.lease_expires_at = IngestJob.State.RUNNING, holder, now + _lease()
    job.attempts += 1
    job.started_at = now
    job.save()
    return claim


def job_renew(*, claim: Claim) -> bool:
    """Prolong the lease. False: it is lost."""
    return bool(_held(claim).update(lease_expires_at=timezone.now() + _lease()))


def job_check(*, claim: Claim) -> None:
    """For use inside a transaction, before it writes. Raises LeaseLostError."""
    if not _held(claim).select_for_update().exists():
        raise LeaseLostError


@transaction.atomic
def job_wait(*, claim: Claim, reason: str) -> bool:
    """Stand back while a server is away: no failed attempt, and another try after a growing pause.

    False: it has waited too often, and failed.
    """
    job = _held(claim).select_for_update().first()
    if job is None:
        return True
    ingest = settings.RAG.ingest
    if job.waits >= ingest.max_waits:
        job_fail(claim=claim, reason=f"{reason} Given up after {job.waits} tries; upload the file again.")
        return False
    pause_s = min(ingest.retry_first_s * 2**job.waits, ingest.retry_last_s)
    job.waits += 1
    job.attempts = max(0, job.attempts - 1)
    _release(job, reason, pause_s)
    Document.objects.filter(pk=claim.document_id).update(error=_cut(f"Waiting: {reason}"))
    return True


@transaction.atomic
def job_give_back(*, claim: Claim, reason: str = "", counted: bool = True) -> None:
    """An attempt broke off. `counted=False`: on request, not through the document's fault."""
    if job := _held(claim).select_for_update().first():
        job.attempts -= 0 if counted else 1
        _release(job, reason, settings.RAG.ingest.retry_first_s if counted else 0)


@transaction.atomic
def job_fail(*, claim: Claim, reason: str) -> None:
    """For good: nothing but a new upload starts this document again."""
    changed = IngestJob.objects.filter(pk=claim.job_id, holder=claim.holder).update(
        state=IngestJob.State.FAILED, error=_cut(reason), lease_expires_at=None, finished_at=timezone.now()
    )
    if changed:
        Document.objects.filter(pk=claim.document_id).update(
            status=Document.Status.FAILED, error=_cut(reason), updated_at=timezone.now()
        )


def job_finish(*, claim: Claim, document: Document, timings_ms: dict[str, Any]) -> None:
    """The document, locked by the caller's transaction, is ready: all its chunks are indexed."""
    document.status, document.progress, document.error = Document.Status.READY, 1.0, ""
    document.save(update_fields=["status", "progress", "error", "updated_at"])
    _held(claim).update(
        state=IngestJob.State.DONE,
        error="",
        lease_expires_at=None,
        finished_at=timezone.now(),
        timings_ms=timings_ms,
    )
    collection_touch(collection_id=document.collection_id)


def _held(claim: Claim) -> Any:
    return IngestJob.objects.filter(pk=claim.job_id, holder=claim.holder, state=IngestJob.State.RUNNING)


def _release(job: IngestJob, reason: str, pause_s: float) -> None:
    now = timezone.now()
    job.state, job.holder, job.lease_expires_at = IngestJob.State.WAITING, "", None
    job.worked_s += (now - (job.started_at or now)).total_seconds()
    job.not_before = now + timedelta(seconds=pause_s)
    job.error = _cut(reason)
    job.save()


def _lease() -> timedelta:
    return timedelta(seconds=settings.RAG.ingest.lease_s)


def _cut(text: str) -> str:
    return text if len(text) <= ERROR_CHARS else text[: ERROR_CHARS - 1] + "…"
