"""For templates: whether to show the way to the review desk."""

from __future__ import annotations

from typing import Any

from django import template

from chat.review.roles import has_desk

register = template.Library()
register.filter("has_desk", lambda user: has_desk(user))


@register.filter
def seconds(ms: Any) -> str:
    """1.4 s of 1400."""
    return f"{ms / 1000:.1f} s" if isinstance(ms, int) else ""


@register.filter
def spaced(name: str) -> str:
    """dual loop of dual_loop."""
    return name.replace("_", " ")
