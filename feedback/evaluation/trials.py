"""A draft of settings measured by stage: two runs over the same golden questions, one with what is live.

They are runs as any others, by the same code and with the same figures; they stand apart from those that tell how the
site goes. Compared is question by question (`alarm.stage_change`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Sum
from django.urls import reverse
from django.utils import timezone

from chat.review.feedback_port import QuestionTried, StageTried, TrialResult, TrialState
from feedback.evaluation.alarm import CONFIDENCE, NOTICEABLE, VARYING_CONFIDENCE, stage_change
from feedback.evaluation.compare import question_changes
from feedback.evaluation.run import run_scores
from feedback.evaluation.runs import MAX_OPEN, OPEN, TooManyRunsError, runs_queue
from feedback.evaluation.sets import WITHOUT_A_MODEL, golden_named
from feedback.evaluation.stage_names import stage_label
from feedback.models import ALL_GOLDEN, EvaluationRun, EvaluationSet
from ragsite.core.localized import localized
from retrieval.evaluation.metrics import metric_names
from retrieval.evaluation.stages import ASKING, STAGES

Status = EvaluationRun.Status


# ------------------------------------------------------------------------------------------------ order
@transaction.atomic
def trial_create(*, tried: int, by: User, golden: str | None, with_model: bool) -> bool:
    """Two runs, that of the present settings first. tried: the copy of the draft. golden: a set, None: all of them.

    False where none of these questions has a document to find. Raises TooManyRunsError.
    """
    named = ALL_GOLDEN if golden is None else golden
    if not golden_named(named).filter(relevant__isnull=False).exists():
        return False
    if EvaluationRun.objects.filter(status__in=OPEN).count() + 2 > MAX_OPEN:
        raise TooManyRunsError
    chosen = EvaluationSet.objects.get(golden=ALL_GOLDEN)
    stages = [stage for stage in STAGES if with_model or stage in WITHOUT_A_MODEL]
    present = None
    for with_draft in (False, True):
        present = EvaluationRun.objects.create(
            set=chosen, golden=named, stages=stages, limit=chosen.limit, tried_id=tried, with_draft=with_draft,
            baseline=present, made_by=by,
        )  # fmt: skip
    transaction.on_commit(runs_queue, robust=True)
    return True


def trial_cancel(tried: int) -> bool:
    """False: it had ended."""
    cancelled = EvaluationRun.objects.filter(tried=tried, status__in=OPEN).update(
        status=Status.CANCELLED, lease_token=None, lease_expires_at=None, finished_at=timezone.now()
    )
    return bool(cancelled)


# ------------------------------------------------------------------------------------------------ read
def trial_states(tried: Sequence[int]) -> Mapping[int, TrialState]:
    rows = EvaluationRun.objects.filter(tried__in=tried).order_by().values("tried").annotate(Sum("done"), Max("total"))
    statuses: dict[int, set[str]] = {}
    for key, status in EvaluationRun.objects.filter(tried__in=tried).values_list("tried", "status"):
        statuses.setdefault(key, set()).add(status)
    return {
        row["tried"]: TrialState(
            open=bool(statuses[row["tried"]] & set(OPEN)), done=row["done__sum"], total=2 * row["total__max"]
        )
        for row in rows
    }


def trial_result(tried: int) -> TrialResult | None:
    """None: it was not tried so, or too long ago."""
    runs = {run.with_draft: run for run in EvaluationRun.objects.filter(tried=tried).select_related("set")}
    if len(runs) < 2:
        return None
    present, draft = runs[False], runs[True]
    ended = next((run for run in (present, draft) if run.status not in (*OPEN, Status.COMPLETE)), None)
    complete = {present.status, draft.status} == {Status.COMPLETE}
    error = localized(ended.error["content"], ended.wordings) if ended and ended.error else ""
    return TrialResult(
        state=trial_states([tried])[tried],
        complete=complete,
        cancelled=ended is not None and ended.status == Status.CANCELLED,
        error=str(error),
        k=draft.k,
        questions=draft.questions,
        stages=_stages(present, draft) if complete else (),
        fell=_fell(present, draft) if complete else (),
        url=f"{reverse('review_evaluation_compare')}?a={present.pk}&b={draft.pk}",
    )


def _stages(present: EvaluationRun, draft: EvaluationRun) -> list[StageTried]:
    was, now = run_scores(present), run_scores(draft)
    asked = any(stage in ASKING for stage in draft.stages)
    rows = []
    for stage in draft.stages:
        varies = asked and stage.startswith("+")
        confidence = VARYING_CONFIDENCE if varies else CONFIDENCE
        change = stage_change(stage, was.get(stage, {}), now.get(stage, {}), confidence=confidence)
        problem = present.problems.get(stage) or draft.problems.get(stage, "")
        wordings = present.wordings if stage in present.problems else draft.wordings
        figures = [run.figures.get(stage, {}) for run in (present, draft)]
        rows.append(
            StageTried(
                name=stage,
                label=stage_label(stage),
                metrics={} if problem else _metrics(draft.k, *figures),
                questions=change.questions,
                change=change.after - change.before,
                low=-change.high,
                high=-change.low,
                confidence=confidence,
                better=change.better,
                worse=change.worse,
                left_out=change.left_out,
                problem=str(localized(problem, wordings)) if problem else "",
            )
        )
    return rows


def _metrics(
    k: int, present: Mapping[str, float], draft: Mapping[str, float]
) -> dict[str, tuple[float | None, float | None]]:
    return {name: (present.get(name), draft.get(name)) for name in (*metric_names(k), "p50_ms")}


def _fell(present: EvaluationRun, draft: EvaluationRun) -> list[QuestionTried]:
    """Each question once, at the stage at which it fell furthest; the worst first."""
    worst: dict[str, QuestionTried] = {}
    for stage in draft.stages:
        for row in question_changes(present, draft, stage=stage):
            if row.change < -NOTICEABLE and (row.key not in worst or row.change < worst[row.key].change):
                worst[row.key] = QuestionTried(
                    text=row.text,
                    stage=stage_label(stage),
                    change=row.change,
                    places=(row.first_before, row.first_after),
                )
    return sorted(worst.values(), key=lambda question: question.change)
