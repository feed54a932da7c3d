"""Evaluations as pages of the review desk: what is measured, one set over time, one run, two runs compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.review import labels
from chat.review.pages import desk_page
from chat.review.roles import DeskAccess
from feedback.desk.evaluation_data import golden_id, main_score, main_stage, right_decisions, run_data, set_data
from feedback.evaluation.compare import (
    QuestionChange,
    question_changes,
    questions_compared,
    runs_check,
    setup_changes,
    stages_compared,
)
from feedback.evaluation.runs import OPEN, evaluation_run_get, evaluation_runs, has_outcomes, open_alarms
from feedback.evaluation.sets import (
    MAX_DOCUMENTS,
    MAX_LIMIT,
    MAX_MIB,
    evaluation_set_get,
    evaluation_sets,
    golden_left,
    may_decide,
    measurable,
    without_document,
)
from feedback.evaluation.stage_names import stage_label
from feedback.models import ALL_GOLDEN, EvaluationRun, EvaluationSet, GoldenQuestion
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.localized import localized
from retrieval.evaluation.metrics import metric_names
from retrieval.evaluation.runner import FAILED, KINDS, RIGHT
from retrieval.evaluation.stages import ASKING, DECISIONS, STAGES
from retrieval.selectors import as_uuid
from retrieval.workflows import DEFAULT_WORKFLOW, available_workflows

POINTS = 60  # of a chart
RUNS_A_PAGE = 50
QUESTIONS_SHOWN = 100
Status = EvaluationRun.Status


@desk_page()
def evaluation_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """All sets with their latest figures, and how each went over time."""
    sets = list(evaluation_sets())
    rows = [_set_row(chosen) for chosen in sets]
    lines = [
        {"name": row["name"], "url": row["url"], "points": [_point(run) for run in row["history"]]}
        for row in rows
        if len(row["history"]) > 1
    ]
    context = {
        "section": "review", "desk_part": "evaluation", "access": access, "rows": rows, "alarms": open_alarms()[:10],
        "left": golden_left() if access.may("curate") else [], "lines": lines,
        "open": any(row["open"] for row in rows),
        "boot": {"lines": lines, "open": [str(row["open"].pk) for row in rows if row["open"]]},
    }  # fmt: skip
    return render(request, "review/evaluation.html", context)


@desk_page("curate")
def evaluation_new_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The form of an import."""
    context = {
        "section": "review", "desk_part": "evaluation", "access": access, "max_documents": f"{MAX_DOCUMENTS:,}",
        "most": {name.partition(".")[0]: mib for name, mib in MAX_MIB.items()},
        "boot": {"bytes": {name.partition(".")[0]: mib * 1024 * 1024 for name, mib in MAX_MIB.items()}},
    }  # fmt: skip
    return render(request, "review/evaluation_new.html", context)


@desk_page()
def evaluation_set_page(request: HttpRequest, *, access: DeskAccess, set_id: UUID) -> HttpResponse:
    """Stage by stage over time, the runs, and what is measured each night."""
    chosen = evaluation_set_get(set_id)
    page = _number(request.GET.get("page"))
    start = (page - 1) * RUNS_A_PAGE
    runs = list(evaluation_runs(chosen)[start : start + RUNS_A_PAGE + 1])
    history, data = _history(chosen), set_data(chosen)
    stages = [stage for stage in STAGES if any(stage in run.figures for run in history)]
    boot = {
        "set": str(chosen.pk), "open": [str(run.pk) for run in runs if run.status in OPEN],
        "history": [_point(run) | {"figures": _main_figures(run)} for run in history], "stages": stages,
    }  # fmt: skip
    context = {
        "section": "review", "desk_part": "evaluation", "access": access, "set": chosen, "data": data,
        "runs": [_run_row(run) for run in runs[:RUNS_A_PAGE]], "page": page, "more": len(runs) > RUNS_A_PAGE,
        "charted": len(history) > 1, "deletable": chosen.golden != ALL_GOLDEN,
        "measurable": data["questions"] or _could_be_asked(chosen),
        "without_document": without_document(chosen),
        "comparable": sum(run.status == Status.COMPLETE for run in runs) > 1,
        "all_stages": [_stage_choice(stage, chosen.stages) for stage in STAGES], "workflows": available_workflows(),
        "max_limit": MAX_LIMIT, "boot": boot, "margin_points": f"{100 * chosen.margin:g}",
        "open_run": next((_run_row(run) for run in runs if run.status in OPEN), None),
        "alarm": open_alarms().filter(set=chosen).first(),
    }  # fmt: skip
    return render(request, "review/evaluation_set.html", context)


@desk_page()
def evaluation_run_page(request: HttpRequest, *, access: DeskAccess, run_id: UUID) -> HttpResponse:
    """Figures by stage beside those of the run that it is compared with, and its questions."""
    run = evaluation_run_get(run_id)
    complete = run.status == Status.COMPLETE
    fell = next((change["stage"] for change in run.worse), "")
    stage = _stage_of(request, [*run.figures, *([DECISIONS] if run.decisions else [])], preferred=fell)
    base = run.baseline
    changes = {change.stage: change for change in stages_compared(base, run)} if base and complete else {}
    kept = has_outcomes(run)
    questions = question_changes(base or run, run, stage=stage) if complete and stage and kept else []
    questions.sort(key=lambda row: (row.after if row.after is not None else 2.0, row.key))
    context = {
        "section": "review", "desk_part": "evaluation", "access": access, "run": run, "row": _run_row(run),
        "data": run_data(run), "complete": complete, "open": run.status in OPEN, "base": base,
        "worse": [_worse_row(change) for change in run.worse], "metrics": metric_names(run.k),
        "stages": [_figures_row(run, name, changes.get(name)) for name in run.stages],
        "decisions": _decision_rows(run.decisions), "decided": [*RIGHT.values(), FAILED],
        "fallbacks": _fallback_rows(run.fallbacks), "setup": _setup_rows(run),
        "setup_changes": _setup_changed(base, run) if base and complete else [],
        "stage": stage, "stage_label": stage_label(stage), "stage_choices": _stage_choices(run, stage),
        "is_decisions": stage == DECISIONS, "questions": _question_rows(questions[:QUESTIONS_SHOWN]),
        "question_count": len(questions), "kept": kept,
        "shown": QUESTIONS_SHOWN, "compared": base and any(row.before is not None for row in questions),
        "boot": {"open": [str(run.pk)] if run.status in OPEN else [], "run": str(run.pk)},
    }  # fmt: skip
    return render(request, "review/evaluation_run.html", context)


@desk_page()
def evaluation_compare_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?a= and ?b=, in any order: the older one stands first."""
    ids = [as_uuid(request.GET.get(name, "")) for name in ("a", "b")]
    if None in ids:
        raise NotFoundError
    before, after = sorted((evaluation_run_get(key) for key in ids if key), key=lambda run: run.created_at)
    problem = ""
    try:
        runs_check(before, after)
    except InvalidInputError as error:
        problem = str(localized(error.message))
    stages = [] if problem else stages_compared(before, after)
    changed = max(stages, key=lambda change: abs(change.drop)).stage if stages else ""
    stage = _stage_of(request, [change.stage for change in stages], preferred=changed)
    questions = questions_compared(before, after, stage=stage) if stage else []
    fell, rose = [row for row in questions if row.change < 0], [row for row in reversed(questions) if row.change > 0]
    context = {
        "section": "review", "desk_part": "evaluation", "access": access, "problem": problem, "set": after.set,
        "before": _run_row(before), "after": _run_row(after), "metrics": metric_names(after.k),
        "stages": [_change_row(change) for change in stages], "setup_changes": _setup_changed(before, after),
        "stage": stage, "stage_label": stage_label(stage),
        "stage_choices": [(change.stage, stage_label(change.stage)) for change in stages],
        "is_decisions": stage == DECISIONS, "fell": _question_rows(fell[:QUESTIONS_SHOWN]), "fell_count": len(fell),
        "rose": _question_rows(rose[:QUESTIONS_SHOWN]), "rose_count": len(rose),
        "kept": has_outcomes(before) and has_outcomes(after),
    }  # fmt: skip
    return render(request, "review/evaluation_compare.html", context, status=400 if problem else 200)


# ------------------------------------------------------------------------------------------------ words
def activity_label(label: str) -> str:
    """What a run does at the moment."""
    names = {
        "cut documents": _("Cutting documents"), "embed documents": _("Embedding documents"),
        "analyse chunks": _("Analysing chunks"), "write the index": _("Writing the index"),
        "embed questions": _("Embedding questions"),
    }  # fmt: skip
    return names.get(label) or stage_label(label)


SETUP_LABELS = {
    "embedding_model": lambda: _("Embedding model"),
    "chat_model": lambda: _("Answering model"),
    "fast_model": lambda: _("Fast model"),
    "documents": lambda: _("Documents"),
    "chunks": lambda: _("Passages"),
    "revision": lambda: _("Revision of the boosts"),
    "boosts_by_hand": lambda: _("Boosts by hand"),
    "workflow": lambda: _("Workflow"),
    "limit": lambda: _("At most so many questions"),
    "k": lambda: _("Cut-off"),
}
KIND_LABELS = {
    "answerable": lambda: _("Answerable"),
    "unanswerable": lambda: _("Not answerable"),
    "clarify": lambda: _("To be asked back"),
}


KIND_BY_NAME = {str(kind): kind for kind in KINDS}


def decision_label(decision: str) -> str:
    return _("Failed") if decision == FAILED else labels.decision_label(decision)


# ------------------------------------------------------------------------------------------------ rows
def _set_row(chosen: EvaluationSet) -> dict[str, Any]:
    history = _history(chosen)
    latest = history[-1] if history else None
    before = history[-2] if len(history) > 1 else None
    score = main_score(latest) if latest else None
    earlier = main_score(before) if before else None
    open_run = chosen.runs.select_related("set").filter(status__in=OPEN, tried=None).first()
    stage = main_stage(list(latest.figures)) if latest else ""
    figures = latest.figures.get(stage, {}) if latest else {}
    return set_data(chosen) | {
        "set": chosen,
        "without_document": without_document(chosen),
        "no_worse": bool(latest and latest.baseline_id and not latest.worse),
        "history": history,
        "latest": latest,
        "score": score,
        "stage": stage_label(stage),
        "recall": figures.get(metric_names(latest.k)[1]) if latest else None,
        "mrr": figures.get("mrr"),
        "k": latest.k if latest else None,
        "change": _points(score - earlier) if score is not None and earlier is not None else None,
        "right": right_decisions(latest.decisions) if latest else None,
        "open": open_run,
        "open_row": _run_row(open_run) if open_run else None,
        "failed": chosen.runs.order_by("-created_at")
        .filter(status=Status.FAILED, tried=None, created_at__gt=latest.created_at)
        .exists()
        if latest
        else chosen.runs.filter(status=Status.FAILED, tried=None).exists(),
    }


def _history(chosen: EvaluationSet) -> list[EvaluationRun]:
    """The complete runs, oldest first."""
    runs = evaluation_runs(chosen).filter(status=Status.COMPLETE).exclude(figures={}, decisions={})
    return list(runs[:POINTS])[::-1]


def _point(run: EvaluationRun) -> dict[str, Any]:
    right = right_decisions(run.decisions)
    return {
        "at": timezone.localtime(run.created_at).strftime("%Y-%m-%d %H:%M"),
        "url": reverse("review_evaluation_run", args=[run.pk]),
        "score": main_score(run),
        "right": round(right["right"] / right["of"], 4) if right else None,
        "alarm": run.alarm and not run.accepted,
        "worse": [change["stage"] for change in run.worse] if not run.accepted else [],
    }


def _main_figures(run: EvaluationRun) -> dict[str, float]:
    return {stage: figures[metric_names(run.k)[0]] for stage, figures in run.figures.items()}


def _run_row(run: EvaluationRun) -> dict[str, Any]:
    activity = run.activity or {}
    return {
        "id": str(run.pk),
        "url": reverse("review_evaluation_run", args=[run.pk]),
        "run": run,
        "set": run.set.title,
        "status": run.status,
        "status_text": run.get_status_display(),
        "trigger_text": run.get_trigger_display(),
        "score": main_score(run),
        "figures": [(stage, figures[metric_names(run.k)[0]]) for stage, figures in run.figures.items()],
        "right": right_decisions(run.decisions),
        "percent": round(100 * run.done / run.total) if run.total else 0,
        "activity": activity_label(activity["label"]) if activity.get("label") else "",
        "by": run.made_by.get_username() if run.made_by else "",
        "error": str(localized(run.error["content"], run.wordings)) if run.error else "",
        "at": run.created_at,
    }


def _figures_row(run: EvaluationRun, stage: str, change: Any) -> dict[str, Any]:
    figures = run.figures.get(stage)
    problem = run.problems.get(stage, "")
    return {
        "stage": stage,
        "label": stage_label(stage),
        "figures": [figures[name] for name in metric_names(run.k)] if figures else [],
        "p50": figures["p50_ms"] if figures else None,
        "p95": figures["p95_ms"] if figures else None,
        "change": _points(change.after - change.before) if change else None,
        "problem": str(localized(problem, run.wordings)),
        "worse": any(fell["stage"] == stage for fell in run.worse),
    }


def _change_row(change: Any) -> dict[str, Any]:
    return {
        "stage": change.stage,
        "label": stage_label(change.stage),
        "data": change,
        "change": _points(change.after - change.before),
        "low": _points(-change.high),
        "high": _points(-change.low),
        "clear": change.low > 0 or change.high < 0,
        "better": change.after > change.before,
    }


def _worse_row(change: Mapping[str, Any]) -> dict[str, Any]:
    return {**change, "label": stage_label(change["stage"]), "points": abs(_points(change["drop"]))}


def _decision_rows(decisions: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    shown = [*RIGHT.values(), *([FAILED] if any(FAILED in counts for counts in decisions.values()) else [])]
    return [
        {
            "label": KIND_LABELS[kind](),
            "cells": [
                {"label": decision_label(name), "count": decisions[kind].get(name, 0), "right": RIGHT[kind] == name}
                for name in shown
            ],
        }
        for kind in KINDS
        if kind in decisions
    ]


def _fallback_rows(fallbacks: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    return [
        {"label": stage_label(stage), "count": count, "reason": reason}
        for stage, reasons in fallbacks.items()
        for reason, count in reasons.items()
    ]


def _setup_rows(run: EvaluationRun) -> list[tuple[str, Any]]:
    rows = [
        (label(), run.setup.get(name)) for name, label in SETUP_LABELS.items() if run.setup.get(name) not in (None, "")
    ]
    rows.append((_("Cut-off"), run.k))
    if run.workflow:
        rows.append((_("Workflow"), labels.workflow_label(run.workflow)))
    return rows


def _setup_changed(before: EvaluationRun, after: EvaluationRun) -> list[tuple[str, Any, Any]]:
    return [(SETUP_LABELS[name](), _shown(was), _shown(now)) for name, was, now in setup_changes(before, after)]


def _shown(value: Any) -> Any:
    return "–" if value in (None, "") else value


def _question_rows(changes: Sequence[QuestionChange]) -> list[dict[str, Any]]:
    """With the answer that a golden question was made of, where it is still there."""
    ids = {change.key: key for change in changes if (key := golden_id(change.key))}
    answers = dict(
        GoldenQuestion.objects.filter(pk__in=set(ids.values())).exclude(message=None).values_list("pk", "message")
    )
    answer_of = {str(golden): message for golden, message in answers.items()}
    return [
        {
            "text": change.text,
            "before": change.before,
            "after": change.after,
            "first_before": change.first_before,
            "first_after": change.first_after,
            "decision_before": decision_label(change.decision_before) if change.decision_before else "–",
            "decision_after": decision_label(change.decision_after) if change.decision_after else "–",
            "right": change.after == 1.0,
            "expected": decision_label(RIGHT[kind]) if (kind := KIND_BY_NAME.get(change.kind)) else "–",
            "fell": change.change < 0,
            "rose": change.change > 0,
            "answer": answer_of.get(ids.get(change.key, "")),
        }
        for change in changes
    ]


def _stage_choices(run: EvaluationRun, chosen: str) -> list[tuple[str, str]]:
    names = [*run.figures, *([DECISIONS] if run.decisions else [])]
    return [(name, stage_label(name)) for name in names]


def _stage_choice(stage: str, chosen: Sequence[str]) -> dict[str, Any]:
    return {
        "name": stage,
        "label": stage_label(stage),
        "chosen": stage in chosen,
        "asks": stage in ASKING,
    }


def _stage_of(request: HttpRequest, stages: Sequence[str], preferred: str = "") -> str:
    wanted = request.GET.get("stage", "")
    return wanted if wanted in stages else preferred if preferred in stages else main_stage(stages)


def _could_be_asked(chosen: EvaluationSet) -> bool:
    """Questions that expect no document are measured with a workflow alone."""
    return may_decide(chosen) and measurable(chosen, workflow=DEFAULT_WORKFLOW) > 0


def _points(value: float) -> float:
    """In hundredths."""
    return round(100 * value, 2) + 0.0


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and 0 < len(text) <= 6 and int(text) else 1
