"""The desk's pages: the queue, one answer, the dashboard, the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError

from chat import labels
from chat.models import AnswerReview, DeskEvent, Message
from chat.review.data import answer_detail, reasons_of
from chat.review.desk_page import desk_page, problem_sentences
from chat.review.marks import readings_log
from chat.review.prices import has_prices
from chat.review.queue import (
    ATTENTION,
    FILTER_NAMES,
    AnswerFilters,
    QueuePage,
    QueueQuery,
    answer_review_get,
    answers_page,
    answers_queue,
    collections_known,
    labels_found,
    neighbours,
    with_details,
)
from chat.review.queue_filters import (
    QUICK,
    filter_params,
    filter_query,
    filter_words,
    people_offered,
    queue_address,
    queue_filters,
    queue_sorts,
    quick_filters,
)
from chat.review.replay.replays import model_status, replays_latest
from chat.review.roles import DeskAccess
from chat.review.serializers import DaysQuery
from chat.review.stats import NOTES, Days, compare_workflows, stats_by, totals
from chat.review.tokens import token_tables
from ragsite.core.api.fields import checked
from ragsite.core.errors import AppError, PermissionDeniedError
from ragsite.core.localized import localized

EVENTS_A_PAGE = 100
FIRST_VIEW = {"state": AnswerReview.State.TODO.value, "reason": ATTENTION, "sort": "worst"}


# ------------------------------------------------------------------------------------------------ the queue
@desk_page()
def queue_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Wrong filters show no rows and say what is wrong. The bare address leads to what wants a person's look."""
    if not request.GET:
        return redirect(queue_address(FIRST_VIEW))
    problems: list[str] = []
    answers = AnswerReview.objects.none()
    page = QueuePage([])
    sort = "newest"
    try:
        chosen = checked(QueueQuery, request.GET)
        answers = answers_queue(access=access, chosen=chosen)
        sort = chosen.get("sort", "newest")
        cursors = {name: chosen.get(name, "") for name in ("after", "before")}
        page = answers_page(with_details(answers), sort=sort, size=chosen["page_size"], **cursors)
    except PermissionDeniedError:
        raise
    except (ValidationError, AppError) as error:
        problems = problem_sentences(error)
    params = filter_params(request.GET)
    filters = queue_filters(access)
    people = filters["reviewer"].choices[1:]
    known_labels = filters["label"].choices
    context = {
        "section": "review",
        "access": access,
        "rows": [
            {"review": row, "reasons": _reasons(row), "status": _status(row)} for row in page.rows
        ],
        "sort": sort,
        "sorts": queue_sorts(),
        "problems": problems,
        "count": answers.count(),
        "next": queue_address(params | {"after": page.after}) if page.after else "",
        "previous": queue_address(params | {"before": page.before}) if page.before else "",
        "quick": quick_filters(params, filters),
        "is_first_view": params == FIRST_VIEW,
        "active": [
            (filters[name].label, filters[name].value(value), queue_address({**params, name: ""}))
            for name, value in params.items()
            if name in filters
        ],
        "filters": [
            (name, one, params.get(name, ""))
            for name, one in filters.items()
            if one.choices and name not in QUICK
        ],
        "given": {name: params.get(name, "") for name in FILTER_NAMES},
        "query": filter_query(params),
        "boot": {
            "filters": params,
            "username": access.user.get_username(),
            "people": [name for name, _label in people],
            "labels": [name for name, _label in known_labels],
            "rights": sorted(access.rights),
        },
    }
    return render(request, "review/queue.html", context, status=400 if problems else 200)


def _reasons(row: AnswerReview) -> list[str]:
    return [str(labels.REASONS[reason]) for reason in reasons_of(row)]


def _status(row: AnswerReview) -> str:
    """What is unusual about how it ended."""
    return (
        "" if row.status == Message.Status.COMPLETE else labels.label(labels.STATUSES, row.status)
    )


# ------------------------------------------------------------------------------------------------ one answer
@desk_page()
def answer_page(request: HttpRequest, *, access: DeskAccess, message_id: UUID) -> HttpResponse:
    """The filters in the address say what comes before and after it."""
    row = answer_review_get(message_id=message_id)
    readings_log(user=access.user, rows=AnswerReview.objects.filter(pk=row.pk))
    params = filter_params(request.GET)
    detail = answer_detail(row, access=access)
    before, after = _neighbours(access, row, request.GET)
    context = {
        "section": "review",
        "access": access,
        "review": row,
        "reasons": _reasons(row),
        "status": _status(row),
        "detail": detail,
        "replays": replays_latest(message=message_id),
        "back": queue_address(params) if request.GET else reverse("review"),
        "before": queue_address(params, reverse("review_answer", args=[before])) if before else "",
        "after": queue_address(params, reverse("review_answer", args=[after])) if after else "",
        "collections": [
            one.address
            for one in collections_known(access.user).filter(pk__in=detail["collections"])
        ],
        "boot": {
            "answer": detail,
            "username": access.user.get_username(),
            "people": people_offered(chosen=row.assignee),
            "labels": labels_found(),
            "rights": sorted(access.rights),
            "words": labels.script_labels(),
        },
    }
    return render(request, "review/answer.html", context)


def _neighbours(
    access: DeskAccess, row: AnswerReview, query: QueryDict
) -> tuple[UUID | None, UUID | None]:
    try:
        chosen = checked(AnswerFilters, query)
        return neighbours(
            answers_queue(access=access, chosen=chosen), row, chosen.get("sort", "newest")
        )
    except (ValidationError, AppError):  # the answer is there all the same
        return None, None


# ------------------------------------------------------------------------------------------------ the dashboard
@desk_page()
def dashboard_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Charts of the days with their tables, and the workflows compared. Days that are wrong count for none."""
    wrong: list[str] = []
    try:
        params = {
            name: str(value) for name, value in request.GET.items() if value
        }  # a form sends its empty fields
        query = QueryDict(mutable=True)
        query.update(params)
        read = checked(DaysQuery, query)
        days = Days(read.get("from"), read.get("to"))
    except (ValidationError, AppError) as error:
        days = Days()
        wrong = problem_sentences(error)
    by_day = stats_by(access=access, by="day", days=days)
    workflows = [
        row | {"label": labels.workflow_label(row["key"])}
        for row in compare_workflows(access=access, days=days)
    ]
    names = {
        "good": _("Thumbs up"),
        "bad": _("Thumbs down"),
        "no_answer": _("No answer"),
        "unconfirmed": _("Not confirmed"),
        "weak": _("Weakly supported"),
        "degraded": _("Done another way"),
    }
    context = {
        "section": "review",
        "access": access,
        "since": str(days.since),
        "until": str(days.until),
        "wrong": wrong,
        "totals": totals(days=days),
        "days": by_day,
        "workflows": workflows,
        "collections": localized(stats_by(access=access, by="collection", days=days)),
        "rates": [
            {
                "name": name,
                "title": title,
                "rows": [_percents(row["label"], row["rates"][name]) for row in workflows],
            }
            for name, title in names.items()
        ],
        "notes": localized(list(NOTES)),
        "tokens": token_tables(access=access, days=days),
        "has_prices": has_prices(),
        "may_export": access.may("export"),
        "ignoring_format": model_status().ignoring_format,
        "boot": {"days": by_day},
    }
    return render(request, "review/dashboard.html", context, status=400 if wrong else 200)


def _percents(label: str, rate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **rate,
        "label": label,
        "percent": None if rate["rate"] is None else round(100 * rate["rate"], 1),
        "low_percent": round(100 * rate["low"], 1),
        "high_percent": round(100 * rate["high"], 1),
        "width_percent": round(100 * (rate["high"] - rate["low"]), 1),
    }


# ------------------------------------------------------------------------------------------------ the log
@desk_page("administer", query=("page",))
def log_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Who read, changed and exported what, the latest first."""
    events = DeskEvent.objects.select_related("answer__message__reply_to").order_by("-pk")
    page = Paginator(events, EVENTS_A_PAGE).get_page(request.GET.get("page"))
    filters = queue_filters(access)
    states = dict(AnswerReview.State.choices)
    rows = [
        {
            "event": event,
            "filters": filter_words(event.detail.get("filters", {}), filters, access),
            "states": [
                states.get(event.detail.get(side), event.detail.get(side))
                for side in ("from", "to")
            ],
            "file": labels.file_words(event.detail),
        }
        for event in page
    ]
    context = {"section": "review", "access": access, "page": page, "events": rows}
    return render(request, "review/log.html", context)
