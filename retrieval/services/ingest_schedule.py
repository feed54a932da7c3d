"""Whose document is read next. Decided when a worker is free, not when a file comes in.

A message to the workers means "take the next job". Users take turns: first who has the fewest documents being read, of
those who has cost the workers the least time within the last hour, of those who has waited the longest. A slow file
counts by its time, so many files and slow files alike wait behind those of others. Nobody has more than
`running_limit()` documents read at once: one worker stays free for the next user. Jobs without a user are the site's
own; they take turns like a user's, without that bound.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import Count, DurationField, ExpressionWrapper, F, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from ragsite.core.leases import run_out
from ragsite.core.storage import is_full, is_lack_of_room
from retrieval.models import Document, IngestJob
from retrieval.services.ingest_jobs import DISK_FULL, Claim, job_claim

logger = logging.getLogger(__name__)
WAITS_FOR_ROOM = f"Waiting: {DISK_FULL}"
RECENT = timedelta(hours=1)
CLAIMS_TRIED = 20
OPEN_STATES = (IngestJob.State.WAITING, IngestJob.State.RUNNING)


def job_user(document: Document) -> User | None:
    """Whose turn the document's jobs take; None: the site's."""
    return document.uploaded_by or document.collection.owner


def running_limit() -> int:
    """How many of one user's documents are read at once."""
    return settings.RAG.quotas.running_ingests or max(1, settings.RAG.ingest.workers - 1)


def turns() -> list[int | None]:
    """The users, by id, who have a job that may be taken now, in the order of their turns."""
    now = timezone.now()
    this_run = ExpressionWrapper(Coalesce(F("finished_at"), Value(now)) - F("started_at"), output_field=DurationField())
    finished = Q(finished_at__gt=now - RECENT)
    users = (
        IngestJob.objects.filter(Q(state__in=OPEN_STATES) | finished)
        .order_by()
        .values("user")
        .annotate(
            takeable=Count("pk", filter=_takeable(now)),
            running=Count("pk", filter=_running(now)),
            run_time=Sum(this_run, filter=finished | _running(now), default=timedelta()),
            earlier_s=Sum("worked_s"),
            waiting_since=Min("created_at", filter=_takeable(now)),
        )
        .filter(takeable__gt=0)
    )
    limit = running_limit()
    rows = [row for row in users if row["user"] is None or row["running"] < limit]
    rows.sort(
        key=lambda row: (row["running"], row["run_time"].total_seconds() + row["earlier_s"], row["waiting_since"])
    )
    return [row["user"] for row in rows]


def storage_is_full() -> bool:
    """Whether nothing can be taken up for lack of room; waiting documents say so, and no longer when there is room."""
    full = is_full()
    waiting = Document.objects.filter(jobs__state=IngestJob.State.WAITING)
    documents = waiting.exclude(error=WAITS_FOR_ROOM) if full else waiting.filter(error=WAITS_FOR_ROOM)
    try:
        if documents.exists():
            documents.update(error=WAITS_FOR_ROOM if full else "")
    except DatabaseError as error:
        if not is_lack_of_room(error):
            raise
        logger.warning("The disk is full, and the waiting documents cannot even say so")
    return full


@transaction.atomic
def turn_claim(*, user_id: int | None, holder: str) -> Claim | None:
    """Take this user's oldest job, unless others were quicker and the user has enough documents being read."""
    now = timezone.now()
    jobs = IngestJob.objects.filter(user=user_id)
    if user_id is not None:
        # Two workers must not count at the same time. Rows that refer to the user may be written meanwhile.
        User.objects.select_for_update(no_key=True).filter(pk=user_id).first()
        if jobs.filter(_running(now)).count() >= running_limit():
            return None
    takeable = jobs.filter(_takeable(now)).order_by("created_at")[:CLAIMS_TRIED]
    for document_id in takeable.values_list("document_id", flat=True):
        if claim := job_claim(document_id=document_id, holder=holder):
            return claim
    return None


def others_wait(*, claim: Claim) -> bool:
    """Another user has a job that no worker has taken yet."""
    user_id = IngestJob.objects.values_list("user", flat=True).filter(pk=claim.job_id).first()
    return any(other != user_id for other in turns())


def open_jobs_of(user: User) -> QuerySet[IngestJob]:
    return IngestJob.objects.filter(user=user, state__in=OPEN_STATES)


def _running(now: datetime) -> Q:
    return Q(state=IngestJob.State.RUNNING, lease_expires_at__gt=now)


def _takeable(now: datetime) -> Q:
    """Waiting, and its pause is over; or its worker died."""
    waiting = Q(state=IngestJob.State.WAITING) & (Q(not_before=None) | Q(not_before__lte=now))
    left_behind = Q(state=IngestJob.State.RUNNING) & run_out(at=now)
    return waiting | left_behind
