"""The queue's filters as its pages show them: what can be chosen, and the addresses that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from chat import labels
from chat.models import AnswerReview
from chat.review.queue import (
    ATTENTION,
    FILTER_NAMES,
    NOBODY,
    collections_known,
    labels_found,
    todo_counts,
)
from chat.review.roles import DeskAccess, people_at_the_desk
from retrieval.engine.workflows.registry import available_workflows

CHOICES = 200  # of a filter
QUICK = ("state", "reason")


class Filter(NamedTuple):
    """choices: values with what they are called; empty: any text."""

    label: str
    choices: list[tuple[str, str]] = []

    def value(self, value: str) -> str:
        """For people."""
        return dict(self.choices).get(value, value)[:60]


def queue_sorts() -> list[tuple[str, str]]:
    return [
        ("newest", _("Newest first")),
        ("oldest", _("Oldest first")),
        ("worst", _("Worst first")),
    ]


def queue_filters(access: DeskAccess) -> dict[str, Filter]:
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
            _("Reviewer"), [(NOBODY, _("Nobody")), *((name, name) for name in people_offered())]
        ),
        "label": Filter(_("Label"), [(name, name) for name in labels_found()]),
        "user": Filter(_("User")),
        "session": Filter(_("Conversation")),
        "search": Filter(_("Search")),
        "from": Filter(_("From")),
        "to": Filter(_("To")),
    }


def filter_params(query: QueryDict) -> dict[str, str]:
    """The filters in the address."""
    return {name: str(query[name]) for name in FILTER_NAMES if query.get(name)}


def filter_query(params: Mapping[str, str]) -> str:
    """Never empty: an address without a query is that of the first view."""
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in params.items() if value} or {"state": ""})
    return query.urlencode()


def queue_address(params: Mapping[str, str], page: str = "") -> str:
    """Of the queue, or of another page, with these filters."""
    return f"{page or reverse('review')}?{filter_query(params)}"


def quick_filters(
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


def people_offered(*, chosen: User | None = None) -> list[str]:
    """Names of the first CHOICES at the desk, and of the person chosen now, whom a saved form would take off."""
    names = list(people_at_the_desk().values_list("username", flat=True)[:CHOICES])
    if chosen is not None and chosen.get_username() not in names:
        names.append(chosen.get_username())
    return names


def filter_words(
    params: Mapping[str, Any], filters: Mapping[str, Filter], access: DeskAccess
) -> list[str]:
    """Of an export; a name in them is for those who see names."""
    return [
        f"{filters[name].label}: {filters[name].value(str(value))}"
        for name, value in params.items()
        if name in filters and (name != "user" or access.sees_names)
    ]
