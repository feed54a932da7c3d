"""The dashboard, and the comparison of workflows, models, collections and languages."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError

from chat.review import labels
from chat.review.feedback_port import get_feedback
from chat.review.figures.stats import (
    CHOSEN,
    RATED,
    StatsFilters,
    compare_by,
    documents_unused,
    documents_used,
    stats_by,
    stats_filters,
    totals,
)
from chat.review.figures.stats_api import COMPARED, CompareQuerySerializer, StatsQuerySerializer, read_filters
from chat.review.notices import desk_notices
from chat.review.pages import desk_page
from chat.review.queue import collections_offered, values_found
from chat.review.roles import DeskAccess
from ragsite.core.api.fields import checked
from ragsite.core.errors import AppError
from ragsite.core.localized import localized, said

DOCUMENTS = 10
REVISIONS = 8
CHOICES = 200


def _query(request: HttpRequest, serializer: Any) -> tuple[dict[str, Any], StatsFilters, list[str]]:
    """What the address asks for. Where some of it is wrong or unknown, nothing of it counts, and the third says why."""
    given = request.GET.copy()
    for name in [name for name in given if not given[name]]:  # a form sends its empty fields
        del given[name]
    try:
        query = checked(serializer, given)
        return query, read_filters(query), []
    except (ValidationError, AppError) as error:
        return {}, stats_filters(), _problems(error)


def _problems(error: ValidationError | AppError) -> list[str]:
    """A sentence for each field, with its name."""
    fields = localized(error.detail if isinstance(error, ValidationError) else error.fields)
    if not isinstance(fields, dict) or not fields:
        return [str(localized(getattr(error, "message", "")))]
    first = {name: reasons[0] if isinstance(reasons, list) else reasons for name, reasons in fields.items()}
    return [said("{name}: {problem}", name=name, problem=str(reason)) for name, reason in first.items()]


def _choices(access: DeskAccess) -> dict[str, list[tuple[str, str]]]:
    found = values_found("workflow", "model", "language")
    return {
        "workflow": [(value, labels.workflow_label(value)) for value in found["workflow"]],
        "model": [(value, value) for value in found["model"]],
        "language": [(value, labels.language_label(value)) for value in found["language"]],
        "collection": [(str(row.pk), row.address) for row in collections_offered(access)[:CHOICES]],
    }


def _given(filters: StatsFilters) -> dict[str, str]:
    return {
        "from": str(filters.since), "to": str(filters.until), "workflow": filters.workflow, "model": filters.model,
        "language": filters.language, "collection": str(filters.collection or ""),
    }  # fmt: skip


@desk_page()
def dashboard_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Charts of the days, with their tables; documents, gaps, revisions."""
    _checked, filters, wrong = _query(request, StatsQuerySerializer)
    days = stats_by(access=access, by="day", filters=filters)
    workflows = _named(stats_by(access=access, by="workflow", filters=filters), "workflow")
    collections = localized(stats_by(access=access, by="collection", filters=filters))
    unused, unused_rows = documents_unused(access=access, filters=filters, limit=DOCUMENTS)
    context = {
        "section": "review",
        "desk_part": "dashboard",
        "access": access,
        "given": _given(filters),
        "choices": _choices(access),
        "wrong": wrong,
        "notices": desk_notices(access),
        "totals": totals(access=access, filters=filters),
        "days": days,
        "workflows": workflows,
        "collections": collections,
        "documents": documents_used(access=access, filters=filters, limit=DOCUMENTS),
        "unused": unused,
        "unused_rows": unused_rows,
        "revisions": get_feedback().revisions(limit=REVISIONS),
        "boot": {
            "days": days,
            "workflows": workflows,
            "span": (filters.until - filters.since).days + 1,
            "gaps": reverse("api-review-gaps"),
        },
    }
    return render(request, "review/dashboard.html", context, status=400 if wrong else 200)


def _named(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """With what people call a workflow or a language as `label`."""
    said = {"workflow": labels.workflow_label, "language": labels.language_label}.get(by)
    return [row | {"label": said(row["key"])} if said and row["key"] else row for row in rows]


@desk_page()
def compare_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Rates with intervals, as bars between 0 and 100 % and as figures."""
    query, filters, wrong = _query(request, CompareQuerySerializer)
    by = query.get("by", "workflow")
    rows = _named(localized(compare_by(access=access, by=by, filters=filters)), by)
    names = {
        "good": _("Well rated"), "bad": _("Badly rated"), "no_answer": _("No answer"),
        "weak": _("Weakly grounded"), "degraded": _("A fallback served"),
    }  # fmt: skip
    rates = [
        {
            "name": name,
            "title": title,
            "rows": [{"label": row["label"], **row["rates"][name], **percents(row["rates"][name])} for row in rows],
        }
        for name, title in names.items()
    ]
    by_names = {
        "workflow": _("Workflow"), "model": _("Model"), "collection": _("Collection"), "language": _("Language"),
        "period": _("Earlier and later half"),
    }  # fmt: skip
    context = {
        "section": "review",
        "desk_part": "compare",
        "access": access,
        "given": _given(filters),
        "choices": _choices(access),
        "wrong": wrong,
        "by": by,
        "ways": [(way, by_names[way]) for way in COMPARED],
        "rates": rates,
        "rows": rows,
        "notes": localized([CHOSEN, RATED]),
    }
    return render(request, "review/compare.html", context, status=400 if wrong else 200)


def percents(rate: dict[str, Any]) -> dict[str, Any]:
    return {
        "percent": None if rate["rate"] is None else round(100 * rate["rate"], 1),
        "low_percent": round(100 * rate["low"], 1),
        "high_percent": round(100 * rate["high"], 1),
        "width_percent": round(100 * (rate["high"] - rate["low"]), 1),
    }
