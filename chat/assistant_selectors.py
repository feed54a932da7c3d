"""Reads of assistants. Access is part of every query: somebody else's looks like none."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, Q, QuerySet, When

from chat.errors import AssistantNotFoundError
from chat.models import Assistant
from retrieval.knowledge.collection_addresses import read_address
from retrieval.knowledge.selectors import visible_collections
from retrieval.models import Collection

PUBLIC = Collection.Visibility.PUBLIC
SHARED = Collection.Visibility.SHARED


def visible_assistants(user: User) -> QuerySet[Assistant]:
    """Those that `user` may ask by: their own, those shared with them, public ones, for staff all of the site's."""
    shared = Q(pk__in=Assistant.objects.filter(people=user).values("pk"))
    shared |= Q(pk__in=Assistant.objects.filter(groups__user=user).values("pk"))
    rule = Q(owner=user) | Q(visibility=PUBLIC) | Q(visibility=SHARED) & shared
    if user.is_staff:
        rule |= Q(owner=None)
    return Assistant.objects.filter(rule).select_related("owner")


def owned_assistants(user: User) -> QuerySet[Assistant]:
    """Those that `user` may change, share and delete: their own, for staff the site's."""
    rule = Q(owner=user)
    if user.is_staff:
        rule |= Q(owner=None)
    return Assistant.objects.filter(rule).select_related("owner")


def readable_addresses(assistant: Assistant, user: User) -> dict[str, str]:
    """Id → address of those of its collections that `user` may read."""
    readable = visible_collections(user).filter(pk__in=assistant.collections)
    return {str(row.pk): row.address for row in readable.select_related("owner")}


def assistant_list(*, user: User) -> QuerySet[Assistant]:
    """Visible ones: the site's default first, then by name."""
    return visible_assistants(user).order_by("-is_default", "name", "created_at", "pk")


def assistant_find(*, user: User, address: str) -> Assistant | None:
    """The visible one that an id, `owner/name`, `site:name` or plain name means: one's own first, then the site's, then
    the oldest."""
    nearness = Case(When(owner=user, then=0), When(owner=None, then=1), default=2)
    found = visible_assistants(user).filter(read_address(address).rows())
    return found.order_by(nearness, "created_at", "pk").first()


def assistant_get(*, user: User, address: str) -> Assistant:
    """Raises AssistantNotFoundError."""
    assistant = assistant_find(user=user, address=address)
    if assistant is None:
        raise AssistantNotFoundError(fields={"assistant": [address]})
    return assistant


def assistant_owned(*, user: User, assistant_id: UUID) -> Assistant:
    """One that the user may change. Raises AssistantNotFoundError."""
    assistant = owned_assistants(user).filter(pk=assistant_id).first()
    if assistant is None:
        raise AssistantNotFoundError
    return assistant
