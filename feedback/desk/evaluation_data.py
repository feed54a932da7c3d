"""Evaluation sets, runs and comparisons as JSON, in the active language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from feedback.evaluation.alarm import StageChange
from feedback.evaluation.compare import QuestionChange
from feedback.evaluation.sets import may_decide, measurable
from feedback.models import EvaluationRun, EvaluationSet
from ragsite.core.localized import localized
from retrieval.evaluation.metrics import metric_names
from retrieval.evaluation.runner import RIGHT


def set_data(chosen: EvaluationSet) -> dict[str, Any]:
    return {
        "id": str(chosen.pk),
        "url": reverse("review_evaluation_set", args=[chosen.pk]),
        "kind": "imported" if chosen.is_imported else "golden",
        "golden": chosen.golden,
        "name": chosen.title,
        "documents": chosen.documents if chosen.is_imported else None,
        "questions": measurable(chosen),
        "may_decide": may_decide(chosen),
        "stages": chosen.stages,
        "workflow": chosen.workflow,
        "limit": chosen.limit,
        "nightly": chosen.nightly,
        "margin": chosen.margin,
        "by": chosen.made_by.get_username() if chosen.made_by else None,
        "created_at": chosen.created_at.isoformat(),
    }


def run_data(run: EvaluationRun) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "url": reverse("review_evaluation_run", args=[run.pk]),
        "set_id": str(run.set_id),
        "set": run.set.title,
        "status": run.status,
        "trigger": run.trigger,
        "tried": run.tried_id,
        "with_draft": run.with_draft,
        "stages": run.stages,
        "k": run.k,
        "workflow": run.workflow,
        "limit": run.limit,
        "progress": round(run.done / run.total, 4) if run.total else 0.0,
        "activity": run.activity,
        "done": run.done,
        "total": run.total,
        "questions": run.questions,
        "figures": run.figures,
        "decisions": run.decisions,
        "right": right_decisions(run.decisions),
        "fallbacks": run.fallbacks,
        "problems": localized(run.problems, run.wordings),
        "setup": run.setup,
        "error": localized(run.error, run.wordings) if run.error else None,
        "alarm": run.alarm,
        "worse": run.worse,
        "baseline_id": str(run.baseline_id) if run.baseline_id else None,
        "acknowledged_by": run.acknowledged_by.get_username() if run.acknowledged_by else None,
        "acknowledged_at": run.acknowledged_at.isoformat() if run.acknowledged_at else None,
        "accepted": run.accepted,
        "by": run.made_by.get_username() if run.made_by else None,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
    }


def right_decisions(decisions: Mapping[str, Mapping[str, int]]) -> dict[str, int] | None:
    """{right, of}; None where no workflow was asked."""
    counted = sum(sum(counts.values()) for counts in decisions.values())
    if not counted:
        return None
    right = sum(counts.get(decision, 0) for kind, decision in RIGHT.items() if (counts := decisions.get(kind)))
    return {"right": right, "of": counted}


def main_stage(stages: Sequence[str]) -> str:
    """What a set is shown by: what everybody's search does, else the first."""
    return next((stage for stage in ("hybrid", *stages) if stage in stages), "")


def main_score(run: EvaluationRun) -> float | None:
    """nDCG of that stage."""
    figures = run.figures.get(main_stage(list(run.figures)))
    return figures[metric_names(run.k)[0]] if figures else None


def stage_data(change: StageChange) -> dict[str, Any]:
    return change.as_dict()


def question_data(change: QuestionChange) -> dict[str, Any]:
    return {
        "question": change.text,
        "key": change.key,
        "golden_id": golden_id(change.key),
        "before": _rounded(change.before),
        "after": _rounded(change.after),
        "first_before": change.first_before,
        "first_after": change.first_after,
        "decision_before": change.decision_before,
        "decision_after": change.decision_after,
    }


def golden_id(key: str) -> str | None:
    """Of the key of a golden question; None of an imported one."""
    name, colon, digest = key.rpartition(":")
    return name if colon and len(name) == 36 and len(digest) == 12 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
