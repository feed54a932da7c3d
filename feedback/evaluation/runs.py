"""Runs as people at the desk, and the nights, order, watch, cancel and acknowledge them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from feedback.evaluation.sets import MAX_LIMIT, measurable, stages_checked, workflow_check
from feedback.models import EvaluationOutcome, EvaluationQuestion, EvaluationRun, EvaluationSet
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.leases import Lease, run_out
from ragsite.core.retention import erased
from ragsite.core.wording import worded, wordings_of
from retrieval.evaluation.runner import DEFAULT_K

TASK = "feedback.tasks.evaluations_work_task"
Status = EvaluationRun.Status
OPEN = (Status.QUEUED, Status.RUNNING)
LEASE_S = 9.0  # renewed three times as often, so that a cancelled run ends within 3 s
START_S = 120.0  # of the lease while an index of its own starts
MAX_ATTEMPTS = 3  # takes one after the other that come to nothing
MAX_OPEN = 20
KEPT_OUTCOMES = 14  # the latest complete runs of a set whose questions are kept, beside the last good one's
KEPT_RUNS = 500  # of a set
RUNS_AT_ONCE = 5  # deleted in a transaction, each with all its questions
KEPT_TRIALS = 20  # drafts of settings whose runs are kept
LOST = worded("The process that measured was stopped three times and got no further; try again.")

logger = logging.getLogger(__name__)


class TooManyRunsError(ConflictError):
    message = worded("Too many runs are waiting already; wait for them, or cancel some.")


class RunOpenError(ConflictError):
    message = worded("This set is being measured already; wait until that is done, or cancel it.")


# ------------------------------------------------------------------------------------------------ order
@transaction.atomic
def run_create(
    *,
    chosen: EvaluationSet,
    by: User | None,
    stages: Sequence[str] | None = None,
    workflow: str | None = None,
    limit: int | None = None,
    k: int | None = None,
) -> EvaluationRun:
    """What is not named is as for the nights. by: None: the night.

    Raises InvalidInputError, also where there is nothing to measure; RunOpenError, TooManyRunsError.
    """
    wanted = stages_checked(chosen.stages if stages is None else stages)
    asked = chosen.workflow if workflow is None else workflow
    if asked:
        workflow_check(chosen, asked)
    if limit is not None and not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError(fields={"limit": [worded("From 1 to {most}.", most=MAX_LIMIT)]})
    if not measurable(chosen, workflow=asked):
        raise InvalidInputError(worded("There is no question to measure in this set."))
    if chosen.runs.filter(status__in=OPEN, tried=None).exists():
        raise RunOpenError
    if EvaluationRun.objects.filter(status__in=OPEN).count() >= MAX_OPEN:
        raise TooManyRunsError
    return EvaluationRun.objects.create(
        set=chosen,
        stages=wanted,
        k=k or DEFAULT_K,
        workflow=asked,
        limit=limit or chosen.limit,
        trigger=EvaluationRun.Trigger.PERSON if by else EvaluationRun.Trigger.NIGHT,
        made_by=by,
    )


def runs_queue() -> bool:
    """A worker goes on with what is open. False: the broker is away; nothing is lost, the next round finds it."""
    try:
        current_app.send_task(TASK, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("evaluations wait for the next round: the broker is away (%s)", error)
        return False
    return True


def runs_of_the_night() -> int:
    """A run of each set that is measured every night and has something to measure; how many."""
    made = 0
    for chosen in EvaluationSet.objects.filter(nightly=True):
        if not measurable(chosen):
            continue
        try:
            run_create(chosen=chosen, by=None)
        except ConflictError as error:
            logger.info("%s is not measured this night: %s", chosen.pk, error.message)
        except InvalidInputError as error:  # a workflow that the site no longer has
            logger.warning("%s can't be measured as it is set: %s", chosen.pk, error.fields or error.message)
        else:
            made += 1
    return made


# ------------------------------------------------------------------------------------------------ who works
def run_take() -> Lease | None:
    """The oldest open run, unless somebody works on it: one run at a time, so that documents are read beside it."""
    for run_id, attempts in _open().values_list("pk", "attempts"):
        lease = Lease(EvaluationRun.objects.filter(status__in=OPEN), run_id, seconds=START_S)
        if attempts >= MAX_ATTEMPTS:
            error = {"code": "internal", "content": LOST}
            EvaluationRun.objects.filter(run_out(), pk=run_id, status__in=OPEN).update(
                status=Status.FAILED, error=error, wordings=wordings_of(LOST), finished_at=timezone.now()
            )
            continue
        return lease if lease.take(status=Status.RUNNING, attempts=attempts + 1) else None
    return None


def runs_wait() -> bool:
    """Whether some run is open that nobody works on, and none is worked on."""
    first = _open().values_list("pk", flat=True).first()
    return first is not None and EvaluationRun.objects.filter(run_out(), pk=first).exists()


def _open() -> QuerySet[EvaluationRun]:
    return EvaluationRun.objects.filter(status__in=OPEN).order_by("created_at", "id")


# ------------------------------------------------------------------------------------------------ read
def evaluation_runs(chosen: EvaluationSet | None = None) -> QuerySet[EvaluationRun]:
    """Newest first; those of a set without the ones that tried a draft of settings."""
    rows = EvaluationRun.objects.select_related("set", "made_by", "acknowledged_by", "baseline")
    rows = rows if chosen is None else rows.filter(set=chosen, tried=None)
    return rows.order_by("-created_at", "id")


def evaluation_run_get(run_id: UUID) -> EvaluationRun:
    """Raises NotFoundError."""
    run = evaluation_runs().filter(pk=run_id).first()
    if run is None:
        raise NotFoundError
    return run


def open_alarms() -> QuerySet[EvaluationRun]:
    """Of each set the latest complete run, where it is worse and nobody has acknowledged it. Newest first."""
    newer = EvaluationRun.objects.filter(
        set=OuterRef("set"), status=Status.COMPLETE, tried=None, created_at__gt=OuterRef("created_at")
    )
    return evaluation_runs().filter(~Exists(newer), status=Status.COMPLETE, alarm=True, acknowledged_at=None)


def has_outcomes(run: EvaluationRun) -> bool:
    """Whether it is still kept what came of each question."""
    return EvaluationOutcome.objects.filter(run=run).exists()


# ------------------------------------------------------------------------------------------------ cancel, acknowledge
def run_cancel(run: EvaluationRun) -> bool:
    """One that runs stops within seconds. False: it had ended."""
    cancelled = EvaluationRun.objects.filter(pk=run.pk, status__in=OPEN).update(
        status=Status.CANCELLED, lease_token=None, lease_expires_at=None, finished_at=timezone.now()
    )
    return bool(cancelled)


def alarm_acknowledge(*, run: EvaluationRun, by: User, accept: bool) -> EvaluationRun:
    """A person has seen it. accept: what it shows is how it shall be, and later runs are compared with it.

    Raises ConflictError for a run without an alarm.
    """
    now = timezone.now()
    alarmed = EvaluationRun.objects.filter(pk=run.pk, alarm=True)
    if not alarmed.update(acknowledged_by=by, acknowledged_at=now, accepted=accept):
        raise ConflictError(worded("This run has raised no alarm."))
    return evaluation_run_get(run.pk)


# ------------------------------------------------------------------------------------------------ kept
def good_run_before(run: EvaluationRun) -> EvaluationRun | None:
    """What it is compared with: the latest complete run of its set, of the same cut-off, that was not worse or that a
    person has accepted, and whose questions are still known."""
    good = EvaluationRun.objects.filter(
        Q(alarm=False) | Q(accepted=True),
        set=run.set_id,
        status=Status.COMPLETE,
        k=run.k,
        tried=None,
        created_at__lt=run.created_at,
    )
    kept = good.filter(pk__in=EvaluationOutcome.objects.filter(run__set=run.set_id).values("run"))
    return kept.order_by("-created_at", "id").first()


def complete_run_before(run: EvaluationRun) -> EvaluationRun | None:
    """The latest of its set, good or not."""
    complete = EvaluationRun.objects.filter(
        set=run.set_id, status=Status.COMPLETE, tried=None, created_at__lt=run.created_at
    )
    return complete.order_by("-created_at", "id").first()


def runs_over(before: datetime) -> QuerySet[EvaluationRun]:
    """Runs that began earlier and are over. Of each set and cut-off the newest complete one and the newest good one
    stay, since the next is compared with them; so do alarms that nobody has acknowledged."""
    old = EvaluationRun.objects.filter(created_at__lt=before).exclude(status__in=OPEN)
    old = old.exclude(alarm=True, acknowledged_at=None, tried=None)
    complete = EvaluationRun.objects.filter(status=Status.COMPLETE, tried=None).order_by("-created_at", "id")
    known = complete.filter(Exists(EvaluationOutcome.objects.filter(run=OuterRef("pk"))))
    good = known.filter(Q(alarm=False) | Q(accepted=True))
    kept = set()
    for chosen, k in EvaluationRun.objects.order_by().values_list("set", "k").distinct():
        kept |= {runs.filter(set=chosen, k=k).values_list("pk", flat=True).first() for runs in (complete, good)}
    return old.exclude(pk__in=[pk for pk in kept if pk])


def runs_erase(before: datetime) -> Iterator[int]:
    """With what came of their questions, and the questions of which nothing is left."""
    yield from erased(lambda: runs_over(before), at_once=RUNS_AT_ONCE)
    for chosen in EvaluationSet.objects.exclude(runs__status__in=OPEN):
        left = EvaluationOutcome.objects.filter(run__set=chosen).values("question")
        EvaluationQuestion.objects.filter(set=chosen).exclude(pk__in=left).delete()
        yield 0


def trials_tidy() -> None:
    """Delete the runs of drafts that were tried long ago."""
    trials = EvaluationRun.objects.exclude(tried=None).exclude(status__in=OPEN)
    last = trials.order_by("-tried").values_list("tried", flat=True).distinct()[:KEPT_TRIALS]
    if len(last) == KEPT_TRIALS:
        trials.filter(tried__lt=min(last)).delete()


def runs_tidy(chosen: EvaluationSet) -> None:
    """Delete what came of the questions of older runs, and the runs that nobody looks at any more."""
    runs = EvaluationRun.objects.filter(set=chosen, tried=None)
    complete = runs.filter(status=Status.COMPLETE).order_by("-created_at", "id")
    keep = set(complete.values_list("pk", flat=True)[:KEPT_OUTCOMES])
    good = complete.filter(Q(alarm=False) | Q(accepted=True)).values_list("pk", flat=True).first()
    keep |= {good} if good else set()
    ended = EvaluationOutcome.objects.filter(run__set=chosen, run__tried=None).exclude(run__status__in=OPEN)
    ended.exclude(run__in=keep).delete()
    left = EvaluationOutcome.objects.filter(run__set=chosen).values("question")
    EvaluationQuestion.objects.filter(set=chosen).exclude(pk__in=left).delete()
    old = runs.exclude(status__in=OPEN).exclude(pk__in=keep)
    EvaluationRun.objects.filter(
        pk__in=list(old.order_by("-created_at", "id").values_list("pk", flat=True)[KEPT_RUNS:])
    ).delete()
