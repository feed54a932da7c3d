"""The desk's pages: the queue, one answer, the dashboard, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from chat import labels
from chat.models import AnswerReview, DeskEvent, Message
from chat.review.api import DaysQuery
from chat.review.data import answer_detail, reasons_of
from chat.review.marks import readings_log
from chat.review.prices import has_prices
from chat.review.queue import (
    ATTENTION,
    FILTER_NAMES,
    NOBODY,
    AnswerFilters,
    QueuePage,
    QueueQuery,
    answer_review_get,
    answers_page,
    answers_queue,
    collections_known,
    labels_found,
    neighbours,
    todo_counts,
    with_details,
)
from chat.review.replay.replays import model_status, replays_latest
from chat.review.roles import DeskAccess, Right, desk_access, people_at_the_desk
from chat.review.stats import NOTES, Days, compare_workflows, stats_by, totals
from chat.review.tokens import token_tables
from ragsite.core.api.fields import checked, unknown_fields
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError, PermissionDeniedError
from ragsite.core.localized import localized
from retrieval.engine.workflows.registry import available_workflows

CHOICES = 200  # of a filter
EVENTS_A_PAGE = 100
QUICK = ("state", "reason")
FIRST_VIEW = {"state": AnswerReview.State.TODO.value, "reason": ATTENTION, "sort": "worst"}
View = Callable[..., HttpResponse]


def desk_page(
    *rights: Right, methods: Sequence[str] = ("GET", "HEAD"), query: Sequence[str] | None = None
) -> Callable[[View], View]:
    """The view gets `access`. Strangers sign in first, who has no business here finds nothing, staff is told why.

    query: the parameters that the page reads; another one is refused, since a misspelt filter would show everything.
    """

    def decorated(view: View) -> View:
        @require_http_methods(methods)
        @login_required
        @ensure_csrf_cookie
        @wraps(view)
        def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            try:
                access = desk_access(request.user, *rights)
                if query is not None and (unknown := unknown_fields(request.GET, query)):
                    raise InvalidInputError(next(iter(unknown.values()))[0])
                return view(request, access=access, **kwargs)
            except NotFoundError as error:
                raise Http404 from error
            except AppError as error:
                context = {"status": error.status, "message": localized(error.message)}
                return render(request, "error.html", context, status=error.status)

        return page

    return decorated


def problem_sentences(error: AppError | ValidationError) -> list[str]:
    """What is wrong with each field, else with all of it, in the active language."""
    fields = localized(error.detail if isinstance(error, ValidationError) else error.fields)
    return _sentences(fields) or [str(localized(getattr(error, "message", "")))]


def _sentences(value: Any) -> list[str]:
    match value:
        case Mapping():
            return [sentence for item in value.values() for sentence in _sentences(item)]
        case list() | tuple():
            return [sentence for item in value for sentence in _sentences(item)]
        case _:
            return [str(value)] if value else []


# ------------------------------------------------------------------------------------------------ the queue
@desk_page()
def queue_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Wrong filters show no rows and say what is wrong. The bare address leads to what wants a person's look."""
    if not request.GET:
        return redirect(_address(FIRST_VIEW))
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
    params = _params(request.GET)
    filters = _filters(access)
    people = filters["reviewer"].choices[1:]
    known_labels = filters["label"].choices
    context = {
        "section": "review",
        "access": access,
        "rows": [
            {"review": row, "reasons": _reasons(row), "status": _status(row)} for row in page.rows
        ],
        "sort": sort,
        "sorts": _sorts(),
        "problems": problems,
        "count": answers.count(),
        "next": _address(params | {"after": page.after}) if page.after else "",
        "previous": _address(params | {"before": page.before}) if page.before else "",
        "quick": _quick(params, filters),
        "is_first_view": params == FIRST_VIEW,
        "active": [
            (filters[name].label, filters[name].value(value), _address({**params, name: ""}))
            for name, value in params.items()
            if name in filters
        ],
        "filters": [
            (name, one, params.get(name, ""))
            for name, one in filters.items()
            if one.choices and name not in QUICK
        ],
        "given": {name: params.get(name, "") for name in FILTER_NAMES},
        "query": _query(params),
        "boot": {
            "filters": params,
            "username": access.user.get_username(),
            "people": [name for name, _label in people],
            "labels": [name for name, _label in known_labels],
            "rights": sorted(access.rights),
        },
    }
    return render(request, "review/queue.html", context, status=400 if problems else 200)


class Filter(NamedTuple):
    """choices: values with what they are called; empty: any text."""

    label: str
    choices: list[tuple[str, str]] = []

    def value(self, value: str) -> str:
        """For people."""
        return dict(self.choices).get(value, value)[:60]


def _sorts() -> list[tuple[str, str]]:
    return [
        ("newest", _("Newest first")),
        ("oldest", _("Oldest first")),
        ("worst", _("Worst first")),
    ]


def _filters(access: DeskAccess) -> dict[str, Filter]:
    def named(names: Mapping[str, Any]) -> list[tuple[str, str]]:
        return [(value, str(name)) for value, name in names.items()]

    rated = {
        "bad": _("Thumbs down"),
        "good": _("Thumbs up"),
        "any": _("Rated"),
        "none": _("Not rated"),
    }
    known = [(str(row.pk), row.address) for row in collections_known(access.user)[:CHOICES]]
    workflows = [(name, labels.workflow_label(name)) for name in available_workflows()]
    return {
        "reason": Filter(_("Reason"), [(ATTENTION, _("Needs a look")), *named(labels.REASONS)]),
        "state": Filter(
            _("State"), [(value, str(name)) for value, name in AnswerReview.State.choices]
        ),
        "rating": Filter(_("Rating"), named(rated)),
        "decision": Filter(_("Decision"), named(labels.DECISIONS)),
        "workflow": Filter(_("Workflow"), workflows),
        "collection": Filter(_("Collection"), known),
        "reviewer": Filter(
            _("Reviewer"), [(NOBODY, _("Nobody")), *((name, name) for name in _people())]
        ),
        "label": Filter(_("Label"), [(name, name) for name in labels_found()]),
        "user": Filter(_("User")),
        "session": Filter(_("Conversation")),
        "search": Filter(_("Search")),
        "from": Filter(_("From")),
        "to": Filter(_("To")),
    }


def _params(query: QueryDict) -> dict[str, str]:
    """The filters in the address."""
    return {name: str(query[name]) for name in FILTER_NAMES if query.get(name)}


def _query(params: Mapping[str, str]) -> str:
    """Never empty: an address without a query is that of the first view."""
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in params.items() if value} or {"state": ""})
    return query.urlencode()


def _address(params: Mapping[str, str], page: str = "") -> str:
    """Of the queue, or of another page, with these filters."""
    return f"{page or reverse('review')}?{_query(params)}"


def _quick(
    params: Mapping[str, str], filters: Mapping[str, Filter]
) -> list[tuple[str, Filter, str]]:
    """State and reason stand beside the search, with how much is to do."""
    counts = todo_counts()
    todo = AnswerReview.State.TODO.value
    states = [
        (value, f"{name} ({counts['todo']})" if value == todo else name)
        for value, name in filters["state"].choices
    ]
    reasons = [(value, f"{name} ({counts[value]})") for value, name in filters["reason"].choices]
    return [
        (
            "state",
            Filter(filters["state"].label, [("", _("All answers")), *states]),
            params.get("state", ""),
        ),
        (
            "reason",
            Filter(filters["reason"].label, [("", _("Any reason")), *reasons]),
            params.get("reason", ""),
        ),
    ]


def _people() -> list[str]:
    return list(people_at_the_desk().values_list("username", flat=True)[:CHOICES])


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
    params = _params(request.GET)
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
        "back": _address(params) if request.GET else reverse("review"),
        "before": _address(params, reverse("review_answer", args=[before])) if before else "",
        "after": _address(params, reverse("review_answer", args=[after])) if after else "",
        "collections": [
            one.address
            for one in collections_known(access.user).filter(pk__in=detail["collections"])
        ],
        "boot": {
            "answer": detail,
            "username": access.user.get_username(),
            "people": _people(),
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
    filters = _filters(access)
    states = dict(AnswerReview.State.choices)
    rows = [
        {
            "event": event,
            "filters": _filter_words(event.detail.get("filters", {}), filters, access),
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


def _filter_words(
    params: Mapping[str, Any], filters: Mapping[str, Filter], access: DeskAccess
) -> list[str]:
    """Of an export; a name in them is for those who see names."""
    return [
        f"{filters[name].label}: {filters[name].value(str(value))}"
        for name, value in params.items()
        if name in filters and (name != "user" or access.sees_names)
    ]
