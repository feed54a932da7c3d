"""One run as a job of a worker: measured question by question, stored as it goes, gone on with where it broke off.

A worker that others need gives way: where documents wait to be read, the run is put back after SLICE_S and goes on
when its message comes again. Only what came of the questions is kept of it, and the figures are made of that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.db import close_old_connections, transaction
from django.db.models import F
from django.utils import timezone

from feedback.evaluation.alarm import Scored, Scores, what_is_worse
from feedback.evaluation.benches import IndexPlace, bench_of, index_place, setup_of
from feedback.evaluation.letters import alarm_tell
from feedback.evaluation.runs import (
    LEASE_S,
    MAX_ATTEMPTS,
    complete_run_before,
    good_run_before,
    run_take,
    runs_tidy,
    trials_tidy,
)
from feedback.models import EvaluationOutcome, EvaluationQuestion, EvaluationRun
from ragsite.core.database import DatabaseAwayError, database_call, is_database_away
from ragsite.core.errors import AppError, UnavailableError
from ragsite.core.leases import Lease, LeaseLostError, hold
from ragsite.core.text import clean_text
from ragsite.core.wording import worded, wordings_of
from ragsite.runtime.milvus_lite import MilvusLiteError
from retrieval.engine import close_engine
from retrieval.errors import IndexUnavailableError, ModelError
from retrieval.evaluation.dataset import DatasetError
from retrieval.evaluation.metrics import metric_names
from retrieval.evaluation.runner import (
    RIGHT,
    Batch,
    Bench,
    Outcome,
    Plan,
    decision_figures,
    fallback_counts,
    measure,
    stage_figures,
)
from retrieval.evaluation.stages import DECISIONS
from retrieval.services.ingest_jobs import turns

SLICE_S = 60.0  # then documents that wait to be read get their turn
MOST_S = 3 * 3600.0  # of work on one run
TOLD_EVERY_S = 1.5
TEXT_CHARS = 500
INTERNAL = worded("Something went wrong while it was measured; the log of the worker says what.")
TOO_LONG = worded("It was measured for three hours and was not done; measure fewer questions or stages.")
Status = EvaluationRun.Status
Worked = Literal["idle", "ended", "gave way"]
logger = logging.getLogger(__name__)


def evaluations_work(*, slice_s: float = SLICE_S) -> Worked:
    """Work on the oldest open run, until it has ended or gives way; "idle" where somebody does, or there is none."""
    lease = run_take()
    if lease is None:
        return "idle"
    run = EvaluationRun.objects.select_related("set").get(pk=lease.pk)
    try:
        with index_place(run) as place:
            lease.seconds = LEASE_S
            lease.renew()
            return asyncio.run(_worked(lease, run, place, slice_s))
    except LeaseLostError:
        logger.info("evaluation run %s ended: it was cancelled, or another process has taken it over", lease.pk)
    except MilvusLiteError as error:
        logger.warning("evaluation run %s: %s", lease.pk, error)
        _failed(lease, run, IndexUnavailableError.code, IndexUnavailableError.message, again=True)
    return "ended"


async def _worked(lease: Lease, run: EvaluationRun, place: IndexPlace, slice_s: float) -> Worked:
    """Ends its row whatever happens, unless it is cancelled, gives way, or somebody else has taken it."""
    try:
        async with hold(lease):
            try:
                return await _measured(lease, run, place, slice_s)
            except LeaseLostError:
                raise
            except DatasetError as error:
                await database_call(_failed, lease, run, "invalid", error.message)
            except UnavailableError as error:  # the index or a model, for the moment
                await database_call(_failed, lease, run, error.code, error.message, again=True)
            except AppError as error:
                await database_call(_failed, lease, run, error.code, error.message)
            except ModelError as error:
                await database_call(_failed, lease, run, "model_unavailable", error.reason, again=True)
            except Exception as error:
                if is_database_away(error):
                    await database_call(
                        _failed, lease, run, DatabaseAwayError.code, DatabaseAwayError.message, again=True
                    )
                else:
                    logger.exception("evaluation run %s failed", lease.pk)
                    await database_call(_failed, lease, run, "internal", INTERNAL)
            return "ended"
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(lease.release)(status=Status.QUEUED))
        raise
    finally:
        await close_engine()
        await sync_to_async(close_old_connections)()


def _failed(lease: Lease, run: EvaluationRun, code: str, message: str, *, again: bool = False) -> None:
    """again: it may go better the next time, two minutes from now; a few times."""
    if again and EvaluationRun.objects.filter(pk=run.pk, attempts__lt=MAX_ATTEMPTS).exists():
        lease.release(status=Status.QUEUED, activity=None)
        return
    lease.release(
        status=Status.FAILED, error={"code": code, "content": clean_text(message)}, wordings=wordings_of(message),
        finished_at=timezone.now(), activity=None,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ measured
class RunProgress:
    """What a run does at the moment, told to its row every TOLD_EVERY_S: `retrieval.evaluation.collection.Progress`."""

    def __init__(self) -> None:
        self._label, self._done, self._total = "", 0, 0

    def __call__(self, label: str, total: int) -> RunProgress:
        self._label, self._done, self._total = label, 0, total
        return self

    def update(self, n: int = 1, /) -> None:
        self._done += n

    def close(self) -> None:
        self._done = self._total

    def now(self) -> dict[str, Any]:
        return {"label": self._label, "done": self._done, "total": self._total}


async def _measured(lease: Lease, run: EvaluationRun, place: IndexPlace, slice_s: float) -> Worked:
    progress = RunProgress()
    began = time.monotonic()

    def worked_s() -> float:
        return run.worked_s + time.monotonic() - began

    async def tell() -> None:
        while True:
            await asyncio.sleep(TOLD_EVERY_S)
            held = lease.held()
            await database_call(held.update, activity=progress.now(), worked_s=round(worked_s(), 1))

    telling = asyncio.create_task(tell())
    try:
        async with bench_of(run, place, progress=progress) as bench:
            plan = Plan(stages=run.stages, k=run.k, decisions=bool(run.workflow), workflow=run.workflow)
            setup = await setup_of(run, bench)
            ids, known = await database_call(_begin, lease, run, bench, plan, setup)
            problems: dict[str, str] = {}
            since = time.monotonic()
            async with aclosing(measure(bench, plan, progress=progress, known=known, patient=True)) as batches:
                async for batch in batches:
                    if batch.problem:
                        problems[batch.stage] = batch.problem
                    await database_call(_store, lease, run, batch, ids)
                    if worked_s() > MOST_S:
                        await database_call(_failed, lease, run, "too_long", TOO_LONG)
                        return "ended"
                    if time.monotonic() - since > slice_s and await _documents_wait():
                        await database_call(
                            lease.release, status=Status.QUEUED, worked_s=round(worked_s(), 1), activity=None
                        )
                        return "gave way"
            await database_call(_complete, lease, run, bench, problems, round(worked_s(), 1))
            return "ended"
    finally:
        telling.cancel()
        await asyncio.wait([telling])


async def _documents_wait() -> bool:
    """Whether somebody's file could be read now."""
    waiting = await database_call(turns)
    return bool(waiting)


def _begin(
    lease: Lease, run: EvaluationRun, bench: Bench, plan: Plan, setup: Mapping[str, Any]
) -> tuple[dict[str, int], set[tuple[str, str]]]:
    """The ids of the questions by their keys; and what is known of them already from an earlier slice."""
    rows = [
        EvaluationQuestion(
            set_id=run.set_id,
            key=question.id,
            text=clean_text(" ".join(question.text.split()))[:TEXT_CHARS],
            kind=question.kind or "",
        )
        for question in bench.questions
    ]
    total = len(bench.ranked) * len(plan.stages) + (len(bench.decided) if plan.decisions else 0)
    with transaction.atomic():
        lease.check()
        EvaluationQuestion.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
        ids = dict(EvaluationQuestion.objects.filter(set=run.set_id).values_list("key", "pk"))
        present = {question.id for question in bench.questions}
        EvaluationOutcome.objects.filter(run=run).exclude(question__in=[ids[key] for key in present]).delete()
        stored = EvaluationOutcome.objects.filter(run=run).values_list("stage", "question__key")
        known = set(stored)
        lease.held().update(
            total=total, done=len(known), setup=dict(setup), questions=len(bench.ranked),
            started_at=run.started_at or timezone.now(),
        )  # fmt: skip
    return {question.id: ids[question.id] for question in bench.questions}, known


def _store(lease: Lease, run: EvaluationRun, batch: Batch, ids: Mapping[str, int]) -> None:
    """Raises LeaseLostError."""
    rows = [
        EvaluationOutcome(
            run=run,
            question_id=ids[outcome.question],
            stage=outcome.stage,
            score=_score(outcome, run.k),
            metrics=dict(outcome.metrics),
            first=outcome.first,
            ms=outcome.ms,
            decision=outcome.decision,
            fallbacks=[clean_text(reason)[:300] for reason in outcome.fallbacks],
        )
        for outcome in batch.outcomes
    ]
    with transaction.atomic():
        lease.check()
        EvaluationOutcome.objects.bulk_create(rows, ignore_conflicts=True)
        lease.held().update(done=F("done") + len(rows), attempts=0 if rows else F("attempts"))


def _score(outcome: Outcome, k: int) -> float:
    if outcome.stage == DECISIONS:
        return float(outcome.kind is not None and outcome.decision == RIGHT[outcome.kind])
    return outcome.metrics[metric_names(k)[0]]


# ------------------------------------------------------------------------------------------------ completed
def _complete(lease: Lease, run: EvaluationRun, bench: Bench, problems: Mapping[str, str], worked_s: float) -> None:
    """Raises LeaseLostError."""
    outcomes = run_outcomes(run, kinds={question.id: question.kind for question in bench.questions})
    measured = [stage for stage in run.stages if stage not in problems]
    baseline = run.baseline if run.tried_id else good_run_before(run)
    worse: list[dict[str, Any]] = []
    if baseline is not None and not run.tried_id:
        before, after = run_scores(baseline), run_scores(run)
        for stage in problems:
            after.pop(stage, None)
        worse = [change.as_dict() for change in what_is_worse(before, after, margin=run.set.margin)]
    with transaction.atomic():
        lease.check()
        lease.held().update(
            figures={stage: stage_figures(outcomes, stage, k=run.k) for stage in measured},
            decisions=decision_figures(outcomes),
            fallbacks={stage: _most(reasons) for stage, reasons in fallback_counts(outcomes).items()},
            problems={stage: clean_text(problem) for stage, problem in problems.items()},
            wordings=wordings_of(problems),
            baseline=baseline,
            worse=worse,
            alarm=bool(worse),
            **_seen_before(run, worse),
        )
        lease.release(status=Status.COMPLETE, finished_at=timezone.now(), activity=None, worked_s=worked_s)
        if worse and _is_new(run, worse):
            alarm_tell(run)
    trials_tidy()
    runs_tidy(run.set)


def _seen_before(run: EvaluationRun, worse: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A fall that somebody has acknowledged in the run before needs nobody's eyes again the next night."""
    last = complete_run_before(run)
    if not worse or last is None or last.acknowledged_at is None or last.accepted or not _is_same_fall(last, worse):
        return {}
    return {"acknowledged_by_id": last.acknowledged_by_id, "acknowledged_at": last.acknowledged_at}


def _is_new(run: EvaluationRun, worse: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the run before had not fallen, or not at all of these stages though somebody has looked at it since."""
    last = complete_run_before(run)
    if last is None or not last.alarm or last.accepted:
        return True
    return last.acknowledged_at is not None and not _is_same_fall(last, worse)


def _is_same_fall(last: EvaluationRun, worse: Sequence[Mapping[str, Any]]) -> bool:
    return {change["stage"] for change in worse} <= {change["stage"] for change in last.worse}


def _most(reasons: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: -item[1])[:10])


def run_outcomes(run: EvaluationRun, *, kinds: Mapping[str, Any]) -> list[Outcome]:
    """As they were measured, in order."""
    rows = EvaluationOutcome.objects.filter(run=run).order_by("pk").select_related("question")
    return [
        Outcome(
            question=row.question.key,
            stage=row.stage,
            metrics=row.metrics,
            first=row.first,
            ms=row.ms,
            fallbacks=tuple(row.fallbacks),
            kind=kinds.get(row.question.key) if row.stage == DECISIONS else None,
            decision=row.decision,
        )
        for row in rows.iterator(chunk_size=1000)
    ]


def run_scores(run: EvaluationRun) -> dict[str, Scores]:
    """Stage → question → score; in the order of the stages."""
    rows = EvaluationOutcome.objects.filter(run=run).values_list("stage", "question__key", "score", "fallbacks")
    found: dict[str, dict[str, Scored]] = {stage: {} for stage in [*_stages(run), DECISIONS]}
    for stage, key, score, fallbacks in rows.iterator(chunk_size=1000):
        found.setdefault(stage, {})[key] = Scored(score=score, fallback=bool(fallbacks))
    return {stage: scores for stage, scores in found.items() if scores}


def _stages(run: EvaluationRun) -> Sequence[str]:
    stages: Sequence[str] = run.stages
    return stages
