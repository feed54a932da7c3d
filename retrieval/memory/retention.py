"""How long remembered facts are kept, for `ragsite.core.retention`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Greatest

from ragsite.core.retention import Kind, use_kind
from ragsite.core.wording import worded
from retrieval.memory.services import memories_forget
from retrieval.models import Memory

AT_ONCE = 100


def connect() -> None:
    """Once, when the site starts."""
    use_kind(
        Kind(
            name="memories",
            title=worded("Remembered facts"),
            rule=worded("Since an answer last made or used them."),
            setting="memories",
            moment="of_use_at",
            rows=memories_over,
            erase=memories_erase,
        )
    )


def memories_over(before: datetime) -> QuerySet[Any]:
    """Those that were of no use since, whoever's."""
    facts = Memory.objects.filter(updated_at__lt=before).exclude(last_used_at__gte=before)
    return facts.annotate(of_use_at=Greatest(Coalesce("last_used_at", "updated_at"), "updated_at"))


def memories_erase(before: datetime) -> Iterator[int]:
    """As people forget them: their rows in the index follow."""
    while batch := list(memories_over(before).order_by("pk").values_list("user_id", "pk")[:AT_ONCE]):
        by_user: dict[int, list[UUID]] = {}
        for user_id, pk in batch:
            by_user.setdefault(user_id, []).append(pk)
        yield sum(memories_forget(user_id=user_id, memory_ids=ids) for user_id, ids in by_user.items())
