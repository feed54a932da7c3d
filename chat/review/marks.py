"""What people at the desk do with answers: state, assignee, note, labels; and the log of it, readings included."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import AnswerLabel, AnswerReview, DeskEvent
from chat.review.roles import DeskAccess, people_at_the_desk
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line, clean_text

MAX_LABELS = 20
MAX_LABEL_CHARS = 40
MAX_NOTE_CHARS = 4_000
READ_AGAIN_AFTER = timedelta(minutes=30)  # within which further looks at an answer are one reading
Kind = DeskEvent.Kind


@transaction.atomic
def answer_mark(*, access: DeskAccess, message_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change an answer's marks, and log what has changed.

    changes: any of `state`, `assignee` (a user name, None for nobody), `note`, `labels` (in place of all). Raises
    NotFoundError, InvalidInputError.
    """
    row = AnswerReview.objects.select_for_update().filter(message=message_id).first()
    if row is None:
        raise NotFoundError

    def log(kind: Kind, before: Any, after: Any) -> bool:
        if before != after:
            detail = {"from": before, "to": after}
            name = access.user.get_username()
            DeskEvent.objects.create(
                by=access.user, by_name=name, kind=kind, answer=row, detail=detail
            )
        return before != after

    if "state" in changes and log(Kind.STATE, row.state, changes["state"]):
        row.state = changes["state"]
        row.state_by = access.user
        row.state_at = timezone.now()
    if "assignee" in changes:
        assignee = _assignee(changes["assignee"])
        names = (user.get_username() if user else None for user in (row.assignee, assignee))
        if log(Kind.ASSIGNEE, *names):
            row.assignee = assignee
    if "note" in changes and log(Kind.NOTE, row.note, note := clean_text(changes["note"]).strip()):
        row.note = note
    if "labels" in changes:
        before = {label.name for label in row.labels.all()}
        after = set(map(_label, changes["labels"]))
        if log(Kind.LABELS, sorted(before), sorted(after)):
            row.labels.exclude(name__in=after).delete()
            AnswerLabel.objects.bulk_create(
                AnswerLabel(answer=row, name=name) for name in sorted(after - before)
            )
    row.save(update_fields=["state", "state_by", "state_at", "assignee", "note"])


def readings_log(*, user: User, rows: QuerySet[AnswerReview]) -> None:
    """That somebody read the conversation of these answers, at the desk or in the administration."""
    recent = DeskEvent.objects.filter(
        kind=Kind.READ, by=user, at__gt=timezone.now() - READ_AGAIN_AFTER
    )
    unread = rows.exclude(pk__in=recent.filter(answer__in=rows).values("answer"))
    name = user.get_username()
    DeskEvent.objects.bulk_create(
        DeskEvent(by=user, by_name=name, kind=Kind.READ, answer=row) for row in unread
    )


def export_log(*, access: DeskAccess, filters: Mapping[str, Any], with_names: bool) -> None:
    """That somebody exported what these filters let through."""
    detail = {"filters": dict(filters), "with_names": with_names}
    name = access.user.get_username()
    DeskEvent.objects.create(by=access.user, by_name=name, kind=Kind.EXPORT, detail=detail)


def file_log(*, user: User, kind: Kind, what: str, counts: Mapping[str, int]) -> None:
    """That somebody took a file of `what` (`curated`, `golden`) in or out, or back again."""
    name = user.get_username()
    detail = {"what": what, "counts": dict(counts)}
    DeskEvent.objects.create(by=user, by_name=name, kind=kind, detail=detail)


def _assignee(name: str | None) -> User | None:
    if name is None:
        return None
    user = people_at_the_desk().filter(username=name).first()
    if user is None:
        raise InvalidInputError(
            fields={"assignee": [worded("Nobody of that name works at the review desk.")]}
        )
    return user


def _label(name: str) -> str:
    name = clean_line(name)
    if not name:
        raise InvalidInputError(
            fields={"labels": [worded("Labels have 1 to {most} characters.", most=MAX_LABEL_CHARS)]}
        )
    return name
