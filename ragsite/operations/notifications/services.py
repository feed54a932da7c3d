"""Making notifications, and marking them read. `events` decides who is notified of what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.translation import get_language

from ragsite.core.errors import NotFoundError
from ragsite.core.messages import worded
from ragsite.models import Notification, NotificationPreference

KEPT = 200  # of one person, the newest
ROWS_AT_ONCE = 500


def notify(
    kind: Notification.Kind,
    subject: UUID,
    people: Iterable[int],
    counts: Mapping[int, int] | None = None,
) -> None:
    """Notify these people (ids), who get no second one while the first is unread. counts: by person."""
    ids = set(people)
    told = Notification.objects.filter(kind=kind, subject=subject, user__in=ids, read_at=None)
    ids -= set(told.values_list("user", flat=True))
    ids &= set(User.objects.filter(pk__in=ids, is_active=True).values_list("pk", flat=True))
    wishes = NotificationPreference.objects.filter(user__in=ids).values_list("user", "emailed")
    by_email = {user_id for user_id, emailed in wishes if kind in emailed}
    rows = [
        Notification(
            user_id=user_id,
            kind=kind,
            subject=str(subject),
            count=(counts or {}).get(user_id, 1),
            email_pending=user_id in by_email,
        )
        for user_id in sorted(ids)
    ]
    Notification.objects.bulk_create(
        rows,
        batch_size=ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["user", "kind", "subject"],
        update_fields=["count", "created_at", "read_at", "email_pending"],
    )


def notification_mark(*, user: User, notification_id: int, read: bool | None) -> Notification:
    """read: None leaves it as it is. Raises NotFoundError for one that is not there, or is somebody else's."""
    with transaction.atomic():
        row = Notification.objects.select_for_update().filter(user=user, pk=notification_id).first()
        if row is None:
            raise NotFoundError(worded("There is no such notification, or it is not yours."))
        if read is None:
            return row
        row.read_at = (row.read_at or timezone.now()) if read else None
        row.email_pending = False
        row.save(update_fields=["read_at", "email_pending"])
    return row


def notifications_mark_read(*, user: User) -> int:
    """All of them. Returns how many were unread."""
    return _read(Notification.objects.filter(user=user))


def notification_settle(*, user_id: int, kind: Notification.Kind, subject: UUID) -> None:
    """The person has dealt with it elsewhere."""
    _read(Notification.objects.filter(user=user_id, kind=kind, subject=subject))


def notification_settle_for_all(*, kind: Notification.Kind, subject: UUID) -> None:
    """There is nothing left to do about it, for anybody."""
    _read(Notification.objects.filter(kind=kind, subject=subject))


def _read(rows: QuerySet[Notification]) -> int:
    return rows.filter(read_at=None).update(read_at=timezone.now(), email_pending=False)


def email_wishes_set(*, user: User, kinds: Collection[str]) -> None:
    """Which kinds come by e-mail from now on, in the language that is active."""
    known = [kind for kind in Notification.Kind.values if kind in kinds]
    changes: dict[str, Any] = {"emailed": known, "language": get_language() or ""}
    NotificationPreference.objects.update_or_create(user=user, defaults=changes)
    Notification.objects.filter(user=user, email_pending=True).exclude(kind__in=known).update(
        email_pending=False
    )


# ------------------------------------------------------------------------------------------------ retention
def notifications_over(before: datetime) -> QuerySet[Notification]:
    return Notification.objects.filter(created_at__lt=before)


def notifications_erase(over: Callable[[], QuerySet[Notification]]) -> Iterator[int]:
    """Yields how many rows each transaction deleted."""
    while batch := list(over().order_by().values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        Notification.objects.filter(pk__in=batch).delete()
        yield len(batch)


def notifications_trim() -> int:
    """Delete what is beyond the newest KEPT of each person. Returns how many went."""
    place = Window(
        RowNumber(), partition_by=F("user"), order_by=[F("created_at").desc(), F("pk").desc()]
    )
    placed = Notification.objects.annotate(place=place)
    return sum(notifications_erase(lambda: placed.filter(place__gt=KEPT)))
