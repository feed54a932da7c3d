"""What the desk holds of a person, as somebody who works there and as somebody who asked, for
`ragsite.accounts.personal_data`. The desk's rows of a person's answers go with the conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from chat.models import DeskEvent, Replay, SavedView
from ragsite.accounts.personal_data import Held, Part
from ragsite.core.wording import counted

EVENTS_AT_ONCE = 500
FORGOTTEN = "–"  # in place of a name


class DeskHolder:
    """Saved views, and what the log says of who did what."""

    def goes(self, user: User) -> Iterable[Held]:
        views = _views(user).count()
        yield Held(counted("{count} saved view", "{count} saved views", views), views)

    def stays(self, user: User) -> Iterable[Held]:
        events = DeskEvent.objects.filter(by=user).count()
        yield Held(counted("{count} act at the review desk", "{count} acts at the review desk", events), events)
        replays = Replay.objects.filter(made_by=user).count()
        told = counted("{count} replay that you ordered; it no longer names you",
                       "{count} replays that you ordered; they no longer name you", replays)  # fmt: skip
        yield Held(told, replays)

    def parts(self, user: User) -> Iterator[Part]:
        views = SavedView.objects.filter(owner=user).order_by("created_at")
        yield Part("review/views.json", ({"name": view.name, "filters": view.filters} for view in views.iterator()))
        events = DeskEvent.objects.filter(by=user).select_related("answer").order_by("pk")
        yield Part("review/log.json", map(_event_data, events.iterator(chunk_size=EVENTS_AT_ONCE)))
        replays = Replay.objects.filter(made_by=user).order_by("created_at", "pk")
        ordered = replays.values_list("pk", "created_at", "change").iterator(chunk_size=EVENTS_AT_ONCE)
        yield Part(
            "review/replays.json",
            ({"id": str(pk), "at": at.isoformat(), "change": change} for pk, at, change in ordered),
        )

    def erase(self, user: User) -> Iterator[int]:
        with transaction.atomic():
            views, _ = _views(user).delete()
        yield views
        name = user.get_username()
        while batch := list(_naming(user)[:EVENTS_AT_ONCE]):
            with transaction.atomic():
                for event in batch:
                    event.detail = _without(event.detail, name)
                    if event.by_id == user.pk:
                        event.by, event.by_name = None, FORGOTTEN
                DeskEvent.objects.bulk_update(batch, ["by", "by_name", "detail"])
            yield 0


def _views(user: User) -> QuerySet[SavedView]:
    """Theirs, and those that look for them."""
    name = user.get_username()
    return SavedView.objects.filter(Q(owner=user) | Q(filters__user=name) | Q(filters__reviewer=name))


def _naming(user: User) -> QuerySet[DeskEvent]:
    """What they did, that answers were assigned to them, and exports of what they asked."""
    name = user.get_username()
    assigned = Q(kind=DeskEvent.Kind.ASSIGNEE) & (Q(detail__from=name) | Q(detail__to=name))
    filters = Q(detail__filters__user=name) | Q(detail__filters__reviewer=name)
    exported = Q(kind=DeskEvent.Kind.EXPORT) & filters
    return DeskEvent.objects.filter(Q(by=user) | assigned | exported).order_by("pk")


def _without(detail: dict[str, Any], name: str) -> dict[str, Any]:
    filters = detail.get("filters")
    cleared = {key: FORGOTTEN if value == name else value for key, value in detail.items()}
    if isinstance(filters, dict):
        cleared["filters"] = {key: FORGOTTEN if value == name else value for key, value in filters.items()}
    return cleared


def _event_data(event: DeskEvent) -> dict[str, Any]:
    answer = str(event.answer.message_id) if event.answer else None
    return {"kind": event.kind, "at": event.at.isoformat(), "answer": answer, "detail": event.detail}
