"""For the bell and the account's page: unread notifications, and which kinds come by e-mail."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import AnonymousUser, User

from ragsite.models import Notification
from ragsite.operations.notifications.selectors import MOST_COUNTED, emailed_kinds, unread_count

register = template.Library()


@register.filter
def unread_notifications(user: User | AnonymousUser) -> str:
    """Empty where there are none; "99+" where there are many."""
    count = unread_count(user) if isinstance(user, User) else 0
    if count >= MOST_COUNTED:
        return f"{MOST_COUNTED - 1}+"
    return str(count) if count else ""


@register.filter
def notification_kinds(user: User) -> list[tuple[str, str, bool]]:
    """Each with its label, and whether `user` gets it by e-mail."""
    emailed = emailed_kinds(user)
    return [(value, str(label), value in emailed) for value, label in Notification.Kind.choices]
