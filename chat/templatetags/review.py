"""For templates: whether to show the way to the review desk, and what its pages call things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.labels import STATES, label, workflow_label
from chat.messages.rendering import reachable
from chat.models import Message
from chat.review.roles import Right, desk_access, has_desk

register = template.Library()
register.filter("has_desk", lambda user: has_desk(user))


register.filter("workflow", workflow_label)
register.filter("step_status", lambda name: label(STATES, name))
register.filter("reachable", reachable)
_MARKUP = re.compile(
    r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)"
    r"|^[ \t>|]*:?--[-:| \t]*$"  # a rule, or that under the head of a table
    r"|^(?:[ \t]{0,3}(?:#{1,6}|[-*+>]|\d{1,3}[.)])(?=[ \t\n]|$))+"  # of headings, lists and quotations, one in another
    r"|[*_`|]{1,3}"
    r"|\\([!-/:-@\[-`{-~])",
    re.M,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class DeskPlace(NamedTuple):
    """Of the desk, or a tab of one. pages: that belong to it, by the names of their addresses, the first one leads
    there."""

    name: str | Promise
    pages: tuple[str, ...]
    right: Right = "read"


PLACES = (
    DeskPlace(gettext_lazy("Queue"), ("review", "review_answer")),
    DeskPlace(gettext_lazy("Unanswered"), ("review_gaps", "review_gap", "review_gap_answer")),
    DeskPlace(
        gettext_lazy("Answers & questions"),
        (
            "review_curated",
            "review_curated_new",
            "review_golden",
            "review_golden_new",
            "review_import_new",
            "review_import",
        ),
        "curate",
    ),
    DeskPlace(
        gettext_lazy("Feedback"),
        ("review_revisions", "review_revision", "review_boosts", "review_boost_new"),
        "curate",
    ),
    DeskPlace(gettext_lazy("Ageing documents"), ("review_ageing",)),
    DeskPlace(gettext_lazy("Dashboard"), ("review_dashboard",)),
    DeskPlace(
        gettext_lazy("Replay history"), ("review_replays", "review_replay", "review_replay_new")
    ),
    DeskPlace(gettext_lazy("Log"), ("review_log",), "administer"),
)
TABS = {
    "answers": (
        DeskPlace(gettext_lazy("Checked answers"), ("review_curated",)),
        DeskPlace(gettext_lazy("Test questions"), ("review_golden",)),
    ),
    "feedback": (
        DeskPlace(gettext_lazy("New ratings"), ("review_revisions",)),
        DeskPlace(gettext_lazy("Set by hand"), ("review_boosts",)),
    ),
}


@register.simple_tag(takes_context=True)
def desk_places(context: dict[str, Any]) -> list[dict[str, Any]]:
    """Where this person may go at the desk."""
    request = context["request"]
    access = desk_access(request.user)
    return _links([place for place in PLACES if access.may(place.right)], request)


@register.inclusion_tag("review/_tabs.html", takes_context=True)
def desk_tabs(context: dict[str, Any], name: str) -> dict[str, Any]:
    return {"tabs": _links(TABS[name], context["request"])}


def _links(places: Sequence[DeskPlace], request: HttpRequest) -> list[dict[str, Any]]:
    here = request.resolver_match.url_name if request.resolver_match else ""
    return [
        {"name": place.name, "address": reverse(place.pages[0]), "current": here in place.pages}
        for place in places
    ]


@register.filter
def effort(answer: Message) -> str:
    """How much was done for it: Quick, Careful or Thorough, else its workflow's name."""
    return workflow_label(answer.workflow, answer.request.get("options"))


@register.filter
def seconds(ms: Any) -> str:
    """1.4 s of 1400, 250 ms of 250; "–" where nothing was measured."""
    if not isinstance(ms, int | float):
        return "–"
    return (
        _("{time} ms").format(time=round(ms))
        if ms < 1000
        else _("{time} s").format(time=f"{ms / 1000:.1f}")
    )


@register.filter
def grouped(number: Any) -> str:
    """12,345 of 12345; "–" where nothing was counted."""
    return f"{number:,}" if isinstance(number, int) else "–"


@register.filter
def unmarked(text: str) -> str:
    """The words of a Markdown text, for a line or two in a list."""
    return _MARKUP.sub(
        lambda found: found[2] or _ESCAPED.sub(r"\1", found[1] or ""), (text or "")[:2000]
    )
