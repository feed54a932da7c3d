"""Collections as choices of a field on a page: never all of a large site."""

from __future__ import annotations

import uuid

from django.db.models import Case, Q, QuerySet, When

from retrieval.knowledge.selectors import User, visible_collections, writable_collections
from retrieval.models import Collection

CHOICES = 500


def collections_offered(*, user: User) -> QuerySet[Collection]:
    """The first CHOICES of the visible collections by name, as choices of a field."""
    return (
        visible_collections(user)
        .select_related("owner")
        .order_by("name", "created_at", "pk")[:CHOICES]
    )


def collections_to_write(*, user: User, chosen: uuid.UUID | None = None) -> QuerySet[Collection]:
    """Those whose documents `user` may change, as choices of a field; none of a conversation. See `chosen_first`."""
    rows = writable_collections(user).filter(conversation_id=None).select_related("owner")
    return chosen_first(rows.distinct(), chosen=chosen)


def chosen_first(
    collections: QuerySet[Collection], *, chosen: uuid.UUID | None
) -> QuerySet[Collection]:
    """The first CHOICES by name, before them the one that is chosen now: a form that leaves it out would choose
    another one."""
    is_chosen = Q(pk=chosen) if chosen else Q(pk__isnull=True)
    order = Case(When(is_chosen, then=0), default=1)
    return collections.order_by(order, "name", "created_at", "pk")[:CHOICES]
