"""Conversations, decision paths and the desk's log that are older than the site keeps them, and how they are deleted.

`…_over` are the rows of which nobody has said that they are wanted still; each step of `…_erase` is a short transaction
and yields how many of them it deleted. `ragsite.operations.retention` says what is too old.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chat.models import (
    AnswerReview,
    DecisionStep,
    DeskEvent,
    FilledPrompt,
    Message,
    Session,
    Share,
    Source,
    UsageDay,
)
from chat.runs.budgets import began

AT_ONCE = 100
ASSIGNED = Q(
    state=AnswerReview.State.TODO, assignee__isnull=False
)  # every answer is to do; this one is somebody's


# ------------------------------------------------------------------------------------------------ conversations
def conversations_over(before: datetime) -> QuerySet[Session]:
    return _unheld().filter(archived_at=None, updated_at__lt=before)


def unkept_over(before: datetime) -> QuerySet[Session]:
    """Of programs that keep theirs themselves."""
    return _unwritten().filter(kept=False, expires_at=None, updated_at__lt=before)


def temporary_over(now: datetime) -> QuerySet[Session]:
    """Temporary ones whose time is over."""
    return _unwritten().filter(expires_at__lte=now)


def _unwritten() -> QuerySet[Session]:
    written = Message.objects.filter(status=Message.Status.STREAMING, session=OuterRef("pk"))
    return Session.objects.filter(~Exists(written))


def archived_over(before: datetime) -> QuerySet[Session]:
    return _unheld().filter(archived_at__lt=before, updated_at__lt=before)


def _unheld() -> QuerySet[Session]:
    of_it = {"session": OuterRef("pk")}
    shared = Share.objects.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), **of_it)
    written = Message.objects.filter(status=Message.Status.STREAMING, **of_it)
    held = (shared, written, AnswerReview.objects.filter(ASSIGNED, **of_it))
    return Session.objects.filter(*(~Exists(rows) for rows in held), pinned_at=None)


def sessions_erase(over: Callable[[], QuerySet[Session]]) -> Iterator[int]:
    """As their users delete them: with them go memories, attached files, ratings and evidence
    (`chat.services.sessions`, `feedback.signals`). One that is used or held meanwhile stays."""
    while ids := list(over().order_by("updated_at", "pk").values_list("pk", flat=True)[:AT_ONCE]):
        for pk in ids:
            with transaction.atomic():
                Session.objects.select_for_update().filter(pk=pk).first()
                left = over().filter(pk=pk).exists()
                if left:
                    Session.objects.filter(pk=pk).delete()
            yield int(left)


# ------------------------------------------------------------------------------------------------ paths
def paths_over(before: datetime) -> QuerySet[Message]:
    """Answers that have a path; it stays where somebody at the desk has to look at the answer."""
    of_it = {"message": OuterRef("pk")}
    held = AnswerReview.objects.filter(ASSIGNED, **of_it)
    old = Message.objects.filter(created_at__lt=before).exclude(status=Message.Status.STREAMING)
    return old.filter(Exists(DecisionStep.objects.filter(**of_it)), ~Exists(held))


def paths_erase(over: Callable[[], QuerySet[Message]]) -> Iterator[int]:
    """With the prompts of their calls. The answers stay."""
    while ids := list(over().order_by("created_at").values_list("pk", flat=True)[:AT_ONCE]):
        with transaction.atomic():
            FilledPrompt.objects.filter(message__in=ids).delete()
            DecisionStep.objects.filter(message__in=ids).delete()
        yield len(ids)


def prompts_erase() -> None:
    """Where paths are kept for good no prompt is stored, and none that was stays."""
    FilledPrompt.objects.all().delete()


def remains_erase() -> None:
    """What a run stored of an answer while that was being deleted: no constraint of the database forbids it."""
    for model in (Source, DecisionStep, FilledPrompt):
        answer = Message.objects.filter(pk=OuterRef("message_id"))
        model._default_manager.filter(~Exists(answer)).delete()


# ------------------------------------------------------------------------------------------------ the desk's log
def log_over(before: datetime) -> QuerySet[DeskEvent]:
    return DeskEvent.objects.filter(at__lt=before)


def log_erase(over: Callable[[], QuerySet[DeskEvent]]) -> Iterator[int]:
    while ids := list(over().order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        yield DeskEvent.objects.filter(pk__in=ids).delete()[0]


# ------------------------------------------------------------------------------------------------ tokens used
def usage_over(before: datetime) -> QuerySet[UsageDay]:
    """Never of the running month, which budgets count."""
    return UsageDay.objects.filter(day__lt=min(timezone.localdate(before), began("month")))


def usage_erase(over: Callable[[], QuerySet[UsageDay]]) -> Iterator[int]:
    while ids := list(over().order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        yield UsageDay.objects.filter(pk__in=ids).delete()[0]
