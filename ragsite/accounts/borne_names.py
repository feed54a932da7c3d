"""Names by which an account went, each with its time: a name that was given up may be somebody else's by now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from auditlog.models import LogEntry as AuditEntry
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat, Trim

PARTS = ("username", "first_name", "last_name")
NO_VALUE = "None"  # as the log of changes has it


@dataclass(frozen=True, slots=True)
class BorneName:
    """since, until: within which it was this account's; until None: it still is. is_full: a full name, which others may
    bear at the same time."""

    text: str
    since: datetime
    until: datetime | None
    is_full: bool = False

    def covers(self, at: datetime) -> bool:
        return self.since <= at and (self.until is None or at <= self.until)

    def within(self, column: str) -> Q:
        """Rows of which `column`, a time, is one in which the name was borne."""
        ends = Q() if self.until is None else Q(**{f"{column}__lte": self.until})
        return Q(**{f"{column}__gte": self.since}) & ends


def names_borne(user: User, changes: QuerySet[AuditEntry]) -> list[BorneName]:
    """User names, full names and the address, as far as `changes`, the log of those of the account, has them."""
    names = list(_of_states(user, changes))
    is_shared = User.objects.exclude(pk=user.pk).filter(email__iexact=user.email).exists()
    if user.email and not is_shared:
        names.append(BorneName(user.email, user.date_joined, None))
    return names


def _of_states(user: User, changes: QuerySet[AuditEntry]) -> Iterator[BorneName]:
    """From the present backwards."""
    state = {part: getattr(user, part) for part in PARTS}
    until: datetime | None = None
    changed = changes.filter(action=AuditEntry.Action.UPDATE).order_by("-timestamp", "-pk")
    for entry in changed.iterator(chunk_size=100):
        before = {part: pair[0] for part, pair in (entry.changes or {}).items() if part in PARTS}
        if not before:
            continue
        yield from _of_state(state, entry.timestamp, until)
        until = entry.timestamp
        state |= before
    yield from _of_state(state, user.date_joined, until)


def _of_state(
    state: dict[str, str], since: datetime, until: datetime | None
) -> Iterator[BorneName]:
    parts = {name: "" if text == NO_VALUE else text for name, text in state.items()}
    if parts["username"]:
        yield BorneName(parts["username"], since, until)
    full = f"{parts['first_name']} {parts['last_name']}".strip()
    if full:
        yield BorneName(full, since, until, is_full=True)


def is_anothers(name: str, *, user: User) -> bool:
    """Whether another account goes by it now."""
    full = Trim(Concat(F("first_name"), Value(" "), F("last_name")))
    others = User.objects.exclude(pk=user.pk).annotate(full=full)
    return others.filter(Q(username=name) | Q(full=name)).exists()
