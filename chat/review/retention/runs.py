"""Deleting what is older than the site keeps it: once a night, in short transactions, gone on with after a kill.

What is over is decided by the moment at which a run began, so that it comes to its end. Every kind is deleted by the
services that delete it when a person does (`ragsite.core.retention`); one that fails leaves the others theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Literal

from django.db import IntegrityError, transaction
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from chat.models import RetentionRun
from chat.review.records import answers_catch_up
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.retention import Kind, Over, kinds, over
from ragsite.core.wording import worded

LEASE_S = 300.0
REPORT_EVERY_S = 2.0
KEPT = 400  # runs, as a record
UNLIMITED = 10**9
SCHEDULE = "Delete what is over"  # the periodic task, by its name (migration 0017)
FAILED = worded("It could not be deleted; the log of the worker says why.")

logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ looked at
def kinds_over(*, now: datetime, most: int | None = None, only: str = "") -> list[tuple[Kind, Over]]:
    """What a run would delete now, by kind; counted up to `most`."""
    return [(kind, over(kind, now=now, most=most)) for kind in kinds() if only in ("", kind.name)]


def last_run() -> RetentionRun | None:
    return RetentionRun.objects.order_by("-pk").first()


def next_run(*, now: datetime) -> datetime | None:
    """As the periodic task has it; None where that was switched off or removed."""
    task = PeriodicTask.objects.filter(name=SCHEDULE, enabled=True).first()
    if task is None:
        return None
    schedule = task.schedule  # what remains counts from its own clock
    following: datetime = schedule.now() + schedule.remaining_estimate(now) + timedelta(seconds=30)
    return following.replace(second=0, microsecond=0)


# ------------------------------------------------------------------------------------------------ done
def retention_begin() -> RetentionRun | None:
    """Order a run. None: one is open already."""
    try:
        with transaction.atomic():
            return RetentionRun.objects.create()
    except IntegrityError:
        return None


def retention_work(
    *, within_s: float = UNLIMITED, report: Callable[[Kind, int], None] = lambda kind, count: None
) -> Literal["idle", "left", "done"]:
    """Do the open run that nobody does, for so long. idle: there is none; left: it has not ended."""
    began = monotonic()
    run = RetentionRun.objects.filter(run_out(), state=RetentionRun.State.OPEN).first()
    if run is None:
        return "idle"
    lease = Lease(RetentionRun.objects.filter(state=RetentionRun.State.OPEN), run.pk, seconds=LEASE_S)
    if not lease.take():
        return "idle"
    answers_catch_up(most=UNLIMITED, within_s=within_s)  # so that days are counted in full before they are closed
    deleted, failed, reported = dict(run.deleted), {}, monotonic()
    try:
        for kind in kinds():
            age = kind.age()
            if age is None:
                continue
            try:
                for count in kind.erase(run.started_at - age):
                    deleted[kind.name] = deleted.get(kind.name, 0) + count
                    report(kind, count)
                    if monotonic() - began > within_s:
                        lease.release(deleted=deleted)
                        return "left"
                    if monotonic() - reported > REPORT_EVERY_S:
                        lease.renew(deleted=deleted)
                        reported = monotonic()
            except LeaseLostError:
                raise
            except Exception:  # the worker's outermost loop: the other kinds are deleted, the next night tries again
                logger.exception("%s could not be deleted for their age", kind.name)
                failed[kind.name] = str(FAILED)
    except LeaseLostError:
        logger.warning("the retention run of %s was taken over by another process", run)
        return "left"
    ended = {"finished_at": timezone.now(), "deleted": deleted, "failed": failed}
    lease.release(state=RetentionRun.State.DONE, **ended)
    old = RetentionRun.objects.order_by("-pk").values_list("pk", flat=True)[KEPT:]
    RetentionRun.objects.filter(pk__in=list(old)).delete()
    return "done"
