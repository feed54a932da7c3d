"""What people at the desk do with answers: state, assignee, note, labels; and the log of it, readings included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ragsite.core.text import clean_line, clean_text
from ragsite.core.wording import worded

MAX_AT_ONCE = 200
MAX_LABELS = 20
MAX_LABEL_CHARS = 40
MAX_NOTE_CHARS = 4_000
READ_AGAIN_AFTER = timedelta(minutes=30)  # within which further looks at an answer are one reading
Kind = DeskEvent.Kind


@transaction.atomic
def answers_mark(*, access: DeskAccess, message_ids: Sequence[UUID], changes: Mapping[str, Any]) -> int:
    """Change all these answers alike, and log what has changed. Returns how many did.

    changes: any of `state`, `assignee` (a user name, None for nobody), `note`, `labels` (in place of all),
    `add_labels`, `remove_labels`. Raises NotFoundError where one of the answers is not there, InvalidInputError.
    """
    wanted = dict.fromkeys(message_ids)
    rows = list(AnswerReview.objects.select_for_update().filter(message__in=wanted).order_by("pk"))
    if len(rows) != len(wanted):
        raise NotFoundError
    assignee = _assignee(changes["assignee"]) if "assignee" in changes else None
    assigned = {user.pk: user.get_username() for user in User.objects.filter(pk__in={row.assignee_id for row in rows})}
    labels: dict[int, set[str]] = {row.pk: set() for row in rows}
    for answer_id, name in AnswerLabel.objects.filter(answer__in=rows).values_list("answer_id", "name"):
        labels[answer_id].add(name)
    events: list[DeskEvent] = []
    changed: set[int] = set()

    def note_event(row: AnswerReview, kind: Kind, before: Any, after: Any) -> bool:
        if before == after:
            return False
        detail = {"from": before, "to": after}
        events.append(DeskEvent(by=access.user, by_name=_name(access), kind=kind, answer=row, detail=detail))
        changed.add(row.pk)
        return True

    for row in rows:
        if "state" in changes and note_event(row, Kind.STATE, row.state, changes["state"]):
            row.state, row.state_by, row.state_at = changes["state"], access.user, timezone.now()
        if "assignee" in changes:
            to = assignee.get_username() if assignee else None
            if note_event(row, Kind.ASSIGNEE, assigned.get(row.assignee_id or 0), to):
                row.assignee = assignee
        if "note" in changes and note_event(row, Kind.NOTE, row.note, _note(changes["note"])):
            row.note = _note(changes["note"])
        after = _labels_after(labels[row.pk], changes)
        if note_event(row, Kind.LABELS, sorted(labels[row.pk]), sorted(after)):
            AnswerLabel.objects.filter(answer=row).exclude(name__in=after).delete()
            new = [AnswerLabel(answer=row, name=name) for name in sorted(after - labels[row.pk])]
            AnswerLabel.objects.bulk_create(new, ignore_conflicts=True)
    AnswerReview.objects.bulk_update(rows, ["state", "state_by", "state_at", "assignee", "note"])
    DeskEvent.objects.bulk_create(events)
    return len(changed)


def reading_log(*, access: DeskAccess, row: AnswerReview) -> None:
    """That somebody read this answer's conversation at the desk."""
    readings_log(user=access.user, rows=AnswerReview.objects.filter(pk=row.pk))


def readings_log(*, user: User, rows: QuerySet[AnswerReview]) -> None:
    """That somebody read the conversation of these answers, at the desk or in the administration."""
    recent = DeskEvent.objects.filter(kind=Kind.READ, by=user, at__gt=timezone.now() - READ_AGAIN_AFTER)
    unread = rows.exclude(pk__in=recent.filter(answer__in=rows).values("answer"))
    name = user.get_username()
    DeskEvent.objects.bulk_create(DeskEvent(by=user, by_name=name, kind=Kind.READ, answer=row) for row in unread)


def export_log(*, access: DeskAccess, filters: Mapping[str, Any], with_names: bool) -> None:
    """That somebody exported what these filters let through."""
    detail = {"filters": dict(filters), "with_names": with_names}
    DeskEvent.objects.create(by=access.user, by_name=_name(access), kind=Kind.EXPORT, detail=detail)


def events_of(row: AnswerReview) -> QuerySet[DeskEvent]:
    """Newest first."""
    return row.events.order_by("-at", "-id")


def _name(access: DeskAccess) -> str:
    return access.user.get_username()


def _assignee(name: str | None) -> User | None:
    if name is None:
        return None
    user = people_at_the_desk().filter(username=name).first()
    if user is None:
        raise InvalidInputError(fields={"assignee": [worded("Nobody of that name works at the review desk.")]})
    return user


def _note(text: str) -> str:
    text = clean_text(text).strip()
    if len(text) > MAX_NOTE_CHARS:
        raise InvalidInputError(fields={"note": [worded("Use at most {most} characters.", most=MAX_NOTE_CHARS)]})
    return text


def _labels_after(before: set[str], changes: Mapping[str, Any]) -> set[str]:
    after = set(map(_label, changes["labels"])) if "labels" in changes else set(before)
    after |= set(map(_label, changes.get("add_labels", ())))
    after -= set(map(_label, changes.get("remove_labels", ())))
    if len(after) > MAX_LABELS:
        raise InvalidInputError(fields={"labels": [worded("Use at most {most} labels.", most=MAX_LABELS)]})
    return after


def _label(name: str) -> str:
    name = clean_line(name)
    if not 1 <= len(name) <= MAX_LABEL_CHARS:
        raise InvalidInputError(
            fields={"labels": [worded("Labels have 1 to {most} characters.", most=MAX_LABEL_CHARS)]}
        )
    return name
