"""Experiments: the list with its form, and one with its result."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from chat.review import labels
from chat.review.figures.experiments import (
    LEAST_MINIMUM,
    LEAST_SHARE,
    MOST_MINIMUM,
    MOST_SHARE,
    experiment_get,
    experiment_list,
    experiment_result,
)
from chat.review.figures.stats_pages import percents
from chat.review.pages import desk_page
from chat.review.replay.replay_pages import OPTIONS, change_words
from chat.review.roles import DeskAccess
from retrieval.workflows import available_workflows

LISTED = 50


@desk_page()
def experiments_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Drafts, the one that runs, those that have ended."""
    context = {
        "section": "review",
        "desk_part": "experiments",
        "access": access,
        "may_change": access.may("administer"),
        "rows": [_row(experiment) for experiment in experiment_list()[:LISTED]],
        "workflows": available_workflows(),
        "default_workflow": settings.RAG.answer.workflow,
        "options": [(name, labels.step_label(name)) for name in OPTIONS],
        "limits": {
            "least_share": round(100 * LEAST_SHARE), "most_share": round(100 * MOST_SHARE),
            "least_minimum": LEAST_MINIMUM, "most_minimum": MOST_MINIMUM,
        },
        "boot": {"experiment": None},
    }  # fmt: skip
    return render(request, "review/experiments.html", context)


@desk_page()
def experiment_page(request: HttpRequest, *, access: DeskAccess, experiment_id: UUID) -> HttpResponse:
    """Both variants beside each other, and what the test says."""
    experiment = experiment_get(experiment_id)
    result = experiment_result(experiment)
    names = {
        "people": _("People whose first rating is good"), "rated": _("Rated answers that are rated well"),
        "bad": _("Rated answers that are rated badly"), "no_answer": _("Answers without an answer"),
        "weak": _("Weakly grounded answers"), "degraded": _("Answers with a fallback"),
    }  # fmt: skip
    context = {
        "section": "review",
        "desk_part": "experiments",
        "access": access,
        "may_change": access.may("administer"),
        "experiment": experiment,
        "row": _row(experiment),
        "result": result,
        "rates": [
            {
                "title": title,
                "decides": name == "people",
                "arms": [{"arm": arm, **result["arms"][arm][name], **percents(result["arms"][arm][name])}
                         for arm in ("A", "B")],
            }
            for name, title in names.items()
        ],
        "boot": {"experiment": str(experiment.pk)},
    }  # fmt: skip
    return render(request, "review/experiment.html", context)


def _row(experiment: Any) -> dict[str, Any]:
    change = {"workflow": experiment.workflow, "options": experiment.options}
    return {
        "id": str(experiment.pk),
        "name": experiment.name,
        "state": experiment.state,
        "state_text": experiment.get_state_display(),
        "percent": round(100 * experiment.share),
        "change_words": change_words(change),
        "by": experiment.made_by.get_username() if experiment.made_by else None,
        "created_at": experiment.created_at,
        "started_at": experiment.started_at,
        "stopped_at": experiment.stopped_at,
    }
