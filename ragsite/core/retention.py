"""How long the site keeps what. Each app says at start which kinds of rows it has, and how they are deleted.

    use_kind(Kind(name="memories", …))          # in the app's `ready`

`chat.review.retention` looks at all of them and deletes what is over, once a night; nothing else decides an age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Min, QuerySet

from ragsite.core.rag_settings.site import RETAINED
from ragsite.core.wording import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Rows of one kind.

    setting: a kind of `RAGSITE_RETENTION`, in days; empty: the age is `fixed`, and they go without being asked.
    zero_keeps: what 0 days means: for good, or not at all.
    rows: those that are over, given the moment before which they are. moment: the column that says how old one is, and
    read: what its value means.
    erase: deletes them. Each step is one short transaction and yields how many rows of the kind it deleted; begun anew
    it goes on.
    """

    name: str
    title: Sentence
    rule: Sentence
    moment: str
    rows: Callable[[datetime], QuerySet[Any]]
    erase: Callable[[datetime], Iterator[int]]
    setting: str = ""
    zero_keeps: bool = True
    fixed: timedelta = timedelta()
    read: Callable[[Any], datetime | None] = field(default=lambda value: value)

    def age(self) -> timedelta | None:
        """How long one is kept; None: for good."""
        if not self.setting:
            return self.fixed
        days: int = settings.RAG.retention.ages.get(self.setting, 0)
        return None if days == 0 and self.zero_keeps else timedelta(days=days)

    def variable(self) -> str:
        """Where the age is set; empty where it is fixed."""
        return f"RAGSITE_RETENTION: {self.setting}" if self.setting else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """What would go of one kind. `more`: there are more than were counted, and the newest is not known."""

    count: int
    oldest: datetime | None
    newest: datetime | None
    more: bool = False


_kinds: dict[str, Kind] = {}


def use_kind(kind: Kind) -> None:
    """Say that there are such rows. Again under the same name: in place of the first."""
    _kinds[kind.name] = kind


def kinds() -> list[Kind]:
    """Those that operators decide about first, in the order of the settings."""
    return sorted(_kinds.values(), key=lambda kind: RETAINED.index(kind.setting) if kind.setting else len(RETAINED))


def over(kind: Kind, *, now: datetime, most: int | None = None) -> Over:
    """What would go now, counted up to `most`; nothing where the kind is kept for good."""
    age = kind.age()
    if age is None:
        return Over(count=0, oldest=None, newest=None)
    rows = kind.rows(now - age).annotate(retained_from=F(kind.moment)).order_by()
    if most is not None:
        rows = rows.order_by("retained_from")[: most + 1]
    found = rows.aggregate(count=Count("pk"), oldest=Min("retained_from"), newest=Max("retained_from"))
    more = most is not None and found["count"] > most
    return Over(
        count=found["count"] - more,
        oldest=kind.read(found["oldest"]),
        newest=None if more else kind.read(found["newest"]),
        more=more,
    )


def erased(rows: Callable[[], QuerySet[Any]], *, at_once: int = 200) -> Iterator[int]:
    """Delete rows that nothing else has to know of, some in a transaction, until none is left."""
    while batch := list(rows().order_by("pk").values_list("pk", flat=True)[:at_once]):
        with transaction.atomic():
            rows().filter(pk__in=batch).delete()
        yield len(batch)
