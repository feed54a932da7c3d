"""For templates: whether to show the way to the review desk, and what its pages call things."""

from __future__ import annotations

import re
from typing import Any

from django import template
from django.utils.translation import gettext as _

from chat.labels import STATES, label, workflow_label
from chat.messages.rendering import reachable
from chat.models import Message
from chat.review.roles import has_desk

register = template.Library()
register.filter("has_desk", lambda user: has_desk(user))


register.filter("workflow", workflow_label)
register.filter("step_status", lambda name: label(STATES, name))
register.filter("reachable", reachable)
_MARKUP = re.compile(
    r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)"
    r"|^[ \t]{0,3}(?:#{1,6}|[-*+>]|\d{1,3}[.)])[ \t]"
    r"|[*_`|]{1,3}"
    r"|\\([!-/:-@\[-`{-~])",
    re.M,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@register.filter
def effort(answer: Message) -> str:
    """How much was done for it: Quick, Careful or Thorough, else its workflow's name."""
    return workflow_label(answer.workflow, answer.request.get("options"))


@register.filter
def seconds(ms: Any) -> str:
    """1.4 s of 1400, 250 ms of 250; "–" where nothing was measured."""
    if not isinstance(ms, int | float):
        return "–"
    return _("{time} ms").format(time=round(ms)) if ms < 1000 else _("{time} s").format(time=f"{ms / 1000:.1f}")


@register.filter
def grouped(number: Any) -> str:
    """12,345 of 12345; "–" where nothing was counted."""
    return f"{number:,}" if isinstance(number, int) else "–"


@register.filter
def unmarked(text: str) -> str:
    """The words of a Markdown text, for a line or two in a list."""
    return _MARKUP.sub(lambda found: found[2] or _ESCAPED.sub(r"\1", found[1] or ""), (text or "")[:2000])
