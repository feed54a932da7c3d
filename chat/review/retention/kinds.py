"""What conversations and the desk keep, and how it goes when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from chat.models import (
    AnswerReview,
    DecisionStep,
    DeskEvent,
    FilledPrompt,
    Message,
    Replay,
    ReplayBatch,
    Session,
    Share,
)
from chat.services.attachments import UNASKED_KEPT, attachments_sweep, attachments_unasked
from ragsite.core.retention import Kind, erased, use_kind
from ragsite.core.wording import worded

SESSIONS_AT_ONCE = 20
MESSAGES_AT_ONCE = 100  # deleted in a transaction, with all that leans on them
STEPS_AT_ONCE = 500


def connect() -> None:
    """Once, when the site starts."""
    use_kind(
        Kind(
            name="conversations",
            title=worded("Conversations"),
            rule=worded(
                "Since they were last used; with their files, ratings and what the ratings said. Not those that are "
                "pinned, archived or shared, or that have an answer which is assigned to somebody at the desk and "
                "still to do."
            ),
            setting="conversations",
            moment="updated_at",
            rows=conversations_over,
            erase=sessions_eraser(conversations_over),
        )
    )
    use_kind(
        Kind(
            name="archived",
            title=worded("Archived conversations"),
            rule=worded("Since they were last used or archived, whichever was later; otherwise as the others."),
            setting="archived",
            moment="untouched_since",
            rows=archived_over,
            erase=sessions_eraser(archived_over),
        )
    )
    use_kind(
        Kind(
            name="paths",
            title=worded("Steps of decision paths"),
            rule=worded("Since the answer, which stays; not those of an answer assigned to somebody and still to do."),
            setting="paths",
            moment="message__created_at",
            rows=paths_over,
            erase=paths_erase,
        )
    )
    use_kind(
        Kind(
            name="prompts",
            title=worded("Filled prompts"),
            rule=worded("Since the call. 0 stores none, and deletes those that were stored before."),
            setting="prompts",
            zero_keeps=False,
            moment="at",
            rows=prompts_over,
            erase=lambda before: erased(lambda: prompts_over(before)),
        )
    )
    use_kind(
        Kind(
            name="desk_log",
            title=worded("Entries of the desk's log"),
            rule=worded("Who read, changed and exported what, since it was done."),
            setting="desk_log",
            moment="at",
            rows=log_over,
            erase=lambda before: erased(lambda: log_over(before)),
        )
    )
    use_kind(
        Kind(
            name="replays",
            title=worded("Replays"),
            rule=worded("Since they ended; a batch goes with its last replay."),
            setting="replays",
            moment="finished_at",
            rows=replays_over,
            erase=replays_erase,
        )
    )
    use_kind(
        Kind(
            name="unasked",
            title=worded("Files of conversations that were never begun"),
            rule=worded("Since they were attached."),
            fixed=UNASKED_KEPT,
            moment="created_at",
            rows=attachments_unasked,
            erase=_unasked_erase,
        )
    )


# ------------------------------------------------------------------------------------------------ conversations
def conversations_over(before: datetime) -> QuerySet[Any]:
    return _unheld().filter(archived_at=None, updated_at__lt=before)


def archived_over(before: datetime) -> QuerySet[Any]:
    archived = _unheld().filter(archived_at__lt=before, updated_at__lt=before)
    return archived.annotate(untouched_since=Greatest("archived_at", "updated_at"))


def _unheld() -> QuerySet[Session]:
    """What nobody has said to be wanted still."""
    now = timezone.now()
    of_it = {"session": OuterRef("pk")}
    shared = Share.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), **of_it)
    written = Message.objects.filter(status=Message.Status.STREAMING, **of_it)
    held = (shared, written, AnswerReview.objects.filter(_under_review(), **of_it))
    return Session.objects.filter(*(~Exists(rows) for rows in held), pinned_at=None)


def _under_review(prefix: str = "") -> Q:
    """Every answer is to do until somebody looks; this one is somebody's."""
    return Q(**{f"{prefix}state": AnswerReview.State.TODO, f"{prefix}assignee__isnull": False})


def sessions_eraser(over: Callable[[datetime], QuerySet[Any]]) -> Callable[[datetime], Iterator[int]]:
    """As their users delete them: with them go memories, attached files, ratings and evidence
    (`chat.services.deletion`, `feedback.start`)."""

    def erase(before: datetime) -> Iterator[int]:
        while ids := list(over(before).order_by("updated_at", "pk").values_list("pk", flat=True)[:SESSIONS_AT_ONCE]):
            messages = Message.objects.filter(session__in=ids)
            counted = (
                messages.order_by().values_list("session").annotate(Count("pk")).values_list("session", "pk__count")
            )
            sizes = dict(counted)
            batch: list[Any] = []
            for pk in ids:
                if batch and sum(sizes.get(other, 0) for other in (*batch, pk)) > MESSAGES_AT_ONCE:
                    break
                batch.append(pk)
            yield from _batch_erase(over, before, batch)

    return erase


def _batch_erase(over: Callable[[datetime], QuerySet[Any]], before: datetime, ids: list[Any]) -> Iterator[int]:
    """Those of them that nobody has used or held meanwhile. A long one loses its oldest messages first."""
    while True:
        with transaction.atomic():
            Session.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk").last()
            left = list(over(before).filter(pk__in=ids).values_list("pk", flat=True))
            messages = Message.objects.filter(session__in=left)
            if messages.count() <= MESSAGES_AT_ONCE:
                Session.objects.filter(pk__in=left).delete()
                break
            oldest = messages.order_by("created_at", "pk").values_list("pk", flat=True)[:MESSAGES_AT_ONCE]
            Message.objects.filter(pk__in=list(oldest)).delete()
        yield 0
    yield len(left)


# ------------------------------------------------------------------------------------------------ parts of them
def paths_over(before: datetime) -> QuerySet[Any]:
    steps = DecisionStep.objects.filter(message__created_at__lt=before)
    held = AnswerReview.objects.filter(_under_review(), message=OuterRef("message"))
    return steps.exclude(message__status=Message.Status.STREAMING).filter(~Exists(held))


def paths_erase(before: datetime) -> Iterator[int]:
    """In the order in which they were written, up to the first that are not over: nothing is read twice."""
    last = 0
    while True:
        written = DecisionStep.objects.filter(pk__gt=last).order_by("pk")
        ids = list(written.values_list("pk", flat=True)[:STEPS_AT_ONCE])
        if not ids:
            return
        last = ids[-1]
        old = list(paths_over(before).filter(pk__in=ids).order_by().values_list("pk", flat=True))
        if not old and not DecisionStep.objects.filter(pk__in=ids, message__created_at__lt=before).exists():
            return
        with transaction.atomic():
            DecisionStep.objects.filter(pk__in=old).delete()
        yield len(old)


def prompts_over(before: datetime) -> QuerySet[Any]:
    return FilledPrompt.objects.filter(at__lt=before)


# ------------------------------------------------------------------------------------------------ the desk
def log_over(before: datetime) -> QuerySet[Any]:
    return DeskEvent.objects.filter(at__lt=before)


def replays_over(before: datetime) -> QuerySet[Any]:
    return Replay.objects.filter(finished_at__lt=before)


def replays_erase(before: datetime) -> Iterator[int]:
    yield from erased(lambda: replays_over(before), at_once=50)
    for _ in erased(lambda: ReplayBatch.objects.filter(replays=None, created_at__lt=before)):
        yield 0


def _unasked_erase(before: datetime) -> Iterator[int]:
    while count := attachments_sweep():
        yield count
