"""The desk's pages: the queue, one answer, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from chat.models import AnswerReview, DeskEvent, Message
from chat.review import labels
from chat.review.data import answer_detail, reasons_of
from chat.review.fields import FILTER_NAMES, FiltersSerializer, QueueQuerySerializer, read_filters
from chat.review.filter_words import filters_said, rating_choices
from chat.review.improvements import improvements_of, made_of
from chat.review.marks import reading_log
from chat.review.notices import desk_notices
from chat.review.queue import (
    COUNTED,
    NOBODY,
    SORTS,
    AnswerFilters,
    answer_review_get,
    answers_page,
    answers_queue,
    collections_offered,
    groups_offered,
    labels_found,
    neighbours,
    queue_counts,
    values_found,
)
from chat.review.replay.replay_words import replays_of_answer
from chat.review.roles import DeskAccess, Right, desk_access, people_at_the_desk
from chat.review.saved_views import saved_views
from ragsite.core.api.fields import checked, unknown_fields
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError, PermissionDeniedError
from ragsite.core.localized import localized

CHOICES = 200  # of a filter
EVENTS_A_PAGE = 100
View = Callable[..., HttpResponse]
SORT_LABELS = {
    "newest": lambda: _("Newest first"),
    "oldest": lambda: _("Oldest first"),
    "worst": lambda: _("Worst first"),
    "slowest": lambda: _("Slowest first"),
}


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


# ------------------------------------------------------------------------------------------------ the queue
@desk_page()
def queue_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Wrong filters show no rows and say what is wrong."""
    problems: list[str] = []
    query: dict[str, Any] = {}
    try:
        query = checked(QueueQuerySerializer, request.GET)
        filters = read_filters(query)
        answers = answers_queue(access=access, filters=filters)
        counted = answers_queue(access=access, filters=filters, in_order=False) if filters.search else answers
        cursors = {name: query.get(name, "") for name in ("after", "before")}
        page = answers_page(answers, sort=filters.sort, size=query["page_size"], **cursors)
    except PermissionDeniedError:
        raise
    except (ValidationError, AppError) as error:
        problems = _sentences(localized(error.detail if isinstance(error, ValidationError) else error.fields))
        problems = problems or [str(localized(getattr(error, "message", "")))]
        filters, answers = AnswerFilters(), AnswerReview.objects.none()
        counted = answers
        page = answers_page(answers, sort="newest", size=1)
    given = _given(request.GET)
    counts = queue_counts(counted)
    count = counts["shown"]
    choices = _choices(access)
    context = {
        "section": "review",
        "access": access,
        "notices": desk_notices(access),
        "rows": [{"review": row, "reasons": _reasons(row), "status": _status(row)} for row in page.rows],
        "filters": filters,
        "problems": problems,
        "count": count if count <= COUNTED else COUNTED,
        "more_than_counted": count > COUNTED,
        "next": _address(given | {"after": page.after}) if page.after else "",
        "previous": _address(given | {"before": page.before}) if page.before else "",
        "queues": _queues(given, filters, counts),
        "views": _views(access, given),
        "active": _active_filters(given, access),
        "choices": choices,
        "given": given,
        "export_query": _query(given),
        "boot": {
            "filters": given,
            "username": access.user.get_username(),
            "people": [name for name, _label in choices["reviewer"] if name != NOBODY],
            "labels": [name for name, _label in choices["label"]],
            "rights": sorted(access.rights),
        },
    }
    return render(request, "review/queue.html", context, status=400 if problems else 200)


def _given(query: QueryDict) -> dict[str, str]:
    """The filters in the address."""
    return {name: str(query[name]) for name in FILTER_NAMES if query.get(name)}


def _query(given: Mapping[str, str]) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in given.items() if value})
    return query.urlencode()


def _address(given: Mapping[str, str]) -> str:
    """Of the queue with these filters."""
    query = _query(given)
    return f"{reverse('review')}?{query}" if query else reverse("review")


def _queues(given: Mapping[str, str], filters: AnswerFilters, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The ways into the queue that everybody needs, each with how much is to do there."""
    todo = AnswerReview.State.TODO
    plain = not given.keys() - {"sort"}
    rows = [
        {"name": _("All answers"), "address": _address({}), "current": plain, "count": None},
        {
            "name": _("Not reviewed"),
            "address": _address({"state": todo}),
            "current": given.keys() - {"sort"} == {"state"} and filters.state == todo,
            "count": counts["todo"],
        },
    ]
    rows += [
        {
            "name": labels.REASONS[reason],
            "address": _address({"reason": reason, "state": todo}),
            "current": filters.reason == reason,
            "count": counts[reason],
        }
        for reason in labels.REASONS
    ]
    return rows


def _views(access: DeskAccess, given: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "id": str(view.pk),
            "name": view.name,
            "address": _address(view.filters),
            "current": bool(view.filters) and dict(view.filters) == dict(given),
            "own": view.owner_id == access.user.pk,
            "deletable": view.owner_id == access.user.pk or access.may("administer"),
            "owner": view.owner.get_username(),
        }
        for view in saved_views(access)
    ]


def _active_filters(given: Mapping[str, str], access: DeskAccess) -> list[dict[str, str]]:
    """What is filtered by, each with the address without it."""
    return [
        {
            "name": called,
            "value": value,
            "address": _address({other: kept for other, kept in given.items() if other != name}),
        }
        for name, called, value in filters_said(given, access)
    ]


def _choices(access: DeskAccess) -> dict[str, list[tuple[str, str]]]:
    """Of each filter the values with what they are called."""
    found = values_found("workflow", "model", "language")
    return {
        "reason": [(value, str(name)) for value, name in labels.REASONS.items()],
        "rating": rating_choices(),
        "decision": [(value, str(labels.DECISIONS.get(value, value))) for value in Message.Decision.values],
        "state": [(value, str(name)) for value, name in AnswerReview.State.choices],
        "workflow": [(value, labels.workflow_label(value)) for value in found["workflow"]],
        "model": [(value, value) for value in found["model"]],
        "language": [(value, labels.language_label(value)) for value in found["language"]],
        "collection": [(str(row.pk), row.address) for row in collections_offered(access)[:CHOICES]],
        "group": [(group.name, group.name) for group in groups_offered(access)[:CHOICES]],
        "reviewer": [(NOBODY, _("Nobody")), *((name, name) for name in _people())],
        "label": [(name, name) for name in labels_found()],
        "sort": [(value, SORT_LABELS[value]()) for value in SORTS],
    }


def _people() -> list[str]:
    return list(people_at_the_desk().values_list("username", flat=True)[:CHOICES])


def _reasons(row: AnswerReview) -> list[str]:
    return [str(labels.REASONS[reason]) for reason in reasons_of(row)]


def _status(row: AnswerReview) -> str:
    """What is unusual about how it ended."""
    return "" if row.status == Message.Status.COMPLETE else labels.answer_status(row.status)


def _sentences(value: Any) -> list[str]:
    match value:
        case Mapping():
            return [sentence for item in value.values() for sentence in _sentences(item)]
        case list() | tuple():
            return [sentence for item in value for sentence in _sentences(item)]
        case _:
            return [str(value)] if value else []


# ------------------------------------------------------------------------------------------------ one answer
@desk_page()
def answer_page(request: HttpRequest, *, access: DeskAccess, message_id: UUID) -> HttpResponse:
    """The filters in the address say what comes before and after it."""
    row = answer_review_get(message_id=message_id)
    reading_log(access=access, row=row)
    given = _given(request.GET)
    before, after = _neighbours(access, row, request.GET)
    detail = answer_detail(row, access=access)
    context = {
        "section": "review",
        "access": access,
        "review": row,
        "reasons": _reasons(row),
        "status": _status(row),
        "detail": detail,
        "improvements": improvements_of(message_id, access),
        "made": made_of(message_id, access),
        "replays": replays_of_answer(message_id),
        "back": _address(given),
        "before": _answer_address(before, given),
        "after": _answer_address(after, given),
        "language": labels.language_label(row.language),
        "collections": [
            collection.address for collection in collections_offered(access).filter(pk__in=detail["collections"])
        ],
        "boot": {
            "answer": detail,
            "username": access.user.get_username(),
            "people": _people(),
            "labels": labels_found(),
            "rights": sorted(access.rights),
        },
    }
    return render(request, "review/answer.html", context)


def _neighbours(access: DeskAccess, row: AnswerReview, query: QueryDict) -> tuple[UUID | None, UUID | None]:
    try:
        filters = read_filters(checked(FiltersSerializer, query))
        return neighbours(answers_queue(access=access, filters=filters), row, filters.sort)
    except (ValidationError, AppError):  # the answer is there all the same
        return None, None


def _answer_address(message_id: UUID | None, given: Mapping[str, str]) -> str:
    if message_id is None:
        return ""
    address, query = reverse("review_answer", args=[message_id]), _query(given)
    return f"{address}?{query}" if query else address


# ------------------------------------------------------------------------------------------------ the log
@desk_page("administer", query=("before",))
def log_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Who read, changed and exported what, the latest first."""
    events = DeskEvent.objects.select_related("answer__message__reply_to").order_by("-pk")
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        events = events.filter(pk__lt=int(before))
    shown = list(events[: EVENTS_A_PAGE + 1])
    more, shown = len(shown) > EVENTS_A_PAGE, shown[:EVENTS_A_PAGE]
    context = {
        "section": "review",
        "access": access,
        "events": [
            {"event": event, "filters": _event_filters(event, access), "states": _states_changed(event)}
            for event in shown
        ],
        "next": f"{reverse('review_log')}?before={shown[-1].pk}" if more else "",
    }
    return render(request, "review/log.html", context)


def _event_filters(event: DeskEvent, access: DeskAccess) -> list[str]:
    """Of an export; a name in them is for those who see names."""
    filters = {name: str(value) for name, value in event.detail.get("filters", {}).items()}
    shown = {name: value for name, value in filters.items() if name != "user" or access.sees_names}
    return [f"{called}: {value}" for _parameter, called, value in filters_said(shown, access)]


def _states_changed(event: DeskEvent) -> list[str]:
    """From and to, of a change of the state."""
    states = dict(AnswerReview.State.choices)
    return [str(states.get(event.detail.get(side), event.detail.get(side))) for side in ("from", "to")]
