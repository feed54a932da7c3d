"""For the sidebar: how many collections wait for the reader's answer."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import AnonymousUser, User

from retrieval.knowledge.selectors import shares_unanswered

MOST_COUNTED = 100
register = template.Library()


@register.filter
def shares_waiting(user: User | AnonymousUser) -> int:
    """Collections shared with `user` and neither accepted nor refused; at most MOST_COUNTED."""
    if not isinstance(user, User):
        return 0
    return len(shares_unanswered(user).values_list("pk", flat=True)[:MOST_COUNTED])
