"""Deleting what is older than the site keeps it, by seven ages: every night (`ragsite.tasks`), or by a command.

Nothing is remembered of a run: expired rows are looked for each time, so that it may be killed, or run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from auditlog.models import LogEntry as AuditEntry
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from chat.services.retention import (
    archived_over,
    conversations_over,
    log_erase,
    log_over,
    paths_erase,
    paths_over,
    prompts_erase,
    remains_erase,
    sessions_erase,
    usage_erase,
    usage_over,
)
from feedback.curation.transfer.imports import imports_erase
from feedback.requests.retention import requests_erase
from feedback.rounds.retention import evidence_erase, evidence_over
from ragsite.operations.notifications.services import (
    notifications_erase,
    notifications_over,
    notifications_trim,
)

Over = Callable[[datetime], QuerySet[Any]]
Erase = Callable[[Callable[[], QuerySet[Any]]], Iterator[int]]
ENTRIES_AT_ONCE = 500


def audit_over(before: datetime) -> QuerySet[AuditEntry]:
    """What staff changed, as old as the desk's log is kept."""
    entries: QuerySet[AuditEntry] = AuditEntry.objects.filter(timestamp__lt=before)
    return entries


def audit_erase(over: Callable[[], QuerySet[AuditEntry]]) -> Iterator[int]:
    while ids := list(over().order_by("pk").values_list("pk", flat=True)[:ENTRIES_AT_ONCE]):
        yield AuditEntry.objects.filter(pk__in=ids).delete()[0]


KINDS: dict[str, tuple[Over, Erase]] = {  # by the name of the age in the settings, or as AGES says
    "conversations": (conversations_over, sessions_erase),
    "archived": (archived_over, sessions_erase),
    "paths": (paths_over, paths_erase),
    "desk_log": (log_over, log_erase),
    "audit_log": (audit_over, audit_erase),
    "evidence": (evidence_over, evidence_erase),
    "notifications": (notifications_over, notifications_erase),
    "usage": (usage_over, usage_erase),
}


AGES = {"audit_log": "desk_log"}


def age_of(kind: str) -> int:
    """In days; 0: it is kept for good."""
    days: int = getattr(settings.RAG.retention, f"{AGES.get(kind, kind)}_days")
    return days


def rows_over(kind: str, *, now: datetime) -> QuerySet[Any]:
    """What goes of it. Only where it has an age."""
    over, _ = KINDS[kind]
    return over(now - timedelta(days=age_of(kind)))


def retention_work() -> Iterator[tuple[str, int]]:
    """Delete all that is over now, in short transactions; after each its kind and how many rows went."""
    now = timezone.now()
    remains_erase()
    if not age_of("paths"):
        prompts_erase()
    notifications_trim()
    if days := age_of("conversations"):
        requests_erase(now - timedelta(days=days))
    imports_erase()
    for kind, (_, erase) in KINDS.items():
        if age_of(kind):
            for count in erase(partial(rows_over, kind, now=now)):
                yield kind, count
