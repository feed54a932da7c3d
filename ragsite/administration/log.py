"""The log: what people did at the review desk and in the administration, with old and new values, the latest first.

Three tables hold it: `DeskEvent`; what staff changed (`ragsite.administration.audit`), for superusers alone; and the
admin's own, of which only what the second has not is shown to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from auditlog.models import LogEntry as AuditEntry
from django.contrib.admin.models import DELETION
from django.contrib.admin.models import LogEntry as AdminEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, Model, Q, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat import labels
from chat.models import DeskEvent
from ragsite.administration.audit import AUDITED

EMPTY = ("", "None", "[]", "{}")  # values of a field that says nothing
VALUE_CHARS = 2_000
DESK = "desk"
OTHER = "other"
KINDS: dict[str, Promise] = {  # what can be looked for
    DESK: gettext_lazy("Review desk"),
    "settings": gettext_lazy("Settings"),
    "people": gettext_lazy("People"),
    "budgets": gettext_lazy("Budgets"),
    "keys": gettext_lazy("API keys"),
    "collections": gettext_lazy("Collections"),
    "assistants": gettext_lazy("Assistants"),
    "prompts": gettext_lazy("Prompts"),
    "curation": gettext_lazy("Answers & questions"),
    "webhooks": gettext_lazy("Webhooks"),
    OTHER: gettext_lazy("Other"),
}
MODELS: dict[str, tuple[str, ...]] = {
    "settings": ("constance.constance", "constance.config"),
    "people": ("auth.user", "auth.group", "ragsite.notificationpreference"),
    "budgets": ("chat.budget",),
    "keys": ("ragsite.apitoken",),
    "collections": ("retrieval.collection", "retrieval.collectionperson"),
    "assistants": ("chat.assistant",),
    "prompts": ("ragsite.ownprompt",),
    "curation": ("feedback.curatedanswer", "feedback.goldenquestion"),
    "webhooks": ("ragsite.webhook",),
}
# Of tables and fields whose models have no words for people.
NAMES: dict[str, Promise] = {
    "feedback.CuratedAnswer": gettext_lazy("Checked answer"),
    "feedback.CuratedAnswer.question": gettext_lazy("Question"),
    "feedback.CuratedAnswer.wordings": gettext_lazy("Other wordings"),
    "feedback.CuratedAnswer.text": gettext_lazy("Answer"),
    "retrieval.CollectionPerson.collection": gettext_lazy("Collection"),
    "retrieval.CollectionPerson.user": gettext_lazy("Person"),
    "retrieval.CollectionPerson.role": gettext_lazy("Role"),
    "ragsite.NotificationPreference": gettext_lazy("Notifications"),
    "ragsite.NotificationPreference.user": gettext_lazy("Person"),
    "ragsite.NotificationPreference.emailed": gettext_lazy("By e-mail"),
}
YES_OR_NO: dict[str, Promise] = {"True": gettext_lazy("Yes"), "False": gettext_lazy("No")}
ACTIONS: dict[int, Promise] = {
    AuditEntry.Action.CREATE: gettext_lazy("Created"),
    AuditEntry.Action.UPDATE: gettext_lazy("Changed"),
    AuditEntry.Action.DELETE: gettext_lazy("Deleted"),
}


class FieldChange(NamedTuple):
    """Of one field. Empty: nothing."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """What somebody did. of: what it was done to; address: where that is."""

    at: datetime
    by: str
    what: str
    kind: str
    of: str = ""
    address: str = ""
    changes: list[FieldChange] = field(default_factory=list)
    request: tuple[Any, ...] = ()  # entries that one request made of one thing are one


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilters:
    """since: included; until, before: not."""

    by: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: datetime | None = None

    def of(self, rows: QuerySet[Any], moment: str, by: str) -> QuerySet[Any]:
        """Rows of this person and time, the latest first."""
        if self.by:
            rows = rows.filter(**{by: self.by})
        if self.since is not None:
            rows = rows.filter(**{f"{moment}__gte": self.since})
        for end in filter(None, (self.until, self.before)):
            rows = rows.filter(**{f"{moment}__lt": end})
        return rows.order_by(f"-{moment}", "-pk")


class LogPage(NamedTuple):
    """before: where the next page begins; None: there is none."""

    entries: list[LogEntry]
    before: datetime | None


def log_page_of(*, chosen: LogFilters, most: int, with_values: bool) -> LogPage:
    """The latest that the filters let through, `most` and those of the same moment as the last one.

    with_values: what staff changed, too, in place of what the admin wrote of the same.
    """
    read = most + 1
    entries = [*_desk_events(chosen, read), *_admin_entries(chosen, read, audited=with_values)]
    if with_values:
        entries += _audit_entries(chosen, read)
    entries.sort(key=lambda entry: entry.at, reverse=True)
    cut = most
    while 0 < cut < len(entries) and entries[cut].at == entries[cut - 1].at:
        cut += 1
    before = entries[cut - 1].at if cut < len(entries) else None
    return LogPage(list(_joined(entries[:cut])), before)


def _joined(entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    last: LogEntry | None = None
    for entry in entries:
        if last is not None and entry.request and entry.request == last.request:
            last = replace(last, what=entry.what, changes=[*entry.changes, *last.changes])
            continue
        if last is not None:
            yield last
        last = entry
    if last is not None:
        yield last


# ------------------------------------------------------------------------------------------------ the three tables
def _desk_events(chosen: LogFilters, most: int) -> list[LogEntry]:
    if chosen.kind not in ("", DESK):
        return []
    rows = chosen.of(DeskEvent.objects.select_related("answer"), "at", "by_name")
    entries = []
    for row in rows[:most]:
        file = labels.file_words(row.detail)
        entries.append(
            LogEntry(
                at=row.at,
                by=row.by_name,
                what=str(row.get_kind_display()),
                kind=DESK,
                of=file or (_("an answer") if row.answer else _("answers")),
                address=reverse("review_answer", args=[row.answer.message_id])
                if row.answer
                else "",
            )
        )
    return entries


def _admin_entries(chosen: LogFilters, most: int, *, audited: bool) -> list[LogEntry]:
    rows = AdminEntry.objects.select_related("user", "content_type")
    rows = _of_kind(rows, chosen.kind)
    if audited:
        rows = rows.exclude(_kept_with_values())
    entries = []
    for row in chosen.of(rows, "action_time", "user__username")[:most]:
        name = str(row.content_type).rpartition(" | ")[2] if row.content_type else ""
        what = row.get_change_message() or row.get_action_flag_display()
        entries.append(
            LogEntry(
                at=row.action_time,
                by=row.user.get_username(),
                what=str(what),
                kind=_kind_of(row.content_type),
                of=f"{name}: {row.object_repr}",
            )
        )
    return entries


def _kept_with_values() -> Q:
    """Of the admin's log: what is kept with its values. Its own sentences stay, and deleted accounts, which a worker
    empties."""
    tables = [*(label.lower() for label in AUDITED), *MODELS["settings"]]
    changed = ~Q(action_flag=DELETION) & Q(change_message__startswith="[")
    deleted = Q(action_flag=DELETION) & ~_of_tables(["auth.user"])
    return _of_tables(tables) & (changed | deleted)


def _audit_entries(chosen: LogFilters, most: int) -> list[LogEntry]:
    rows = AuditEntry.objects.select_related("actor", "content_type")
    rows = _of_kind(rows, chosen.kind)
    entries = []
    for row in chosen.of(rows, "timestamp", "actor__username")[:most]:
        model = row.content_type.model_class()
        name = _table_name(model) if model else row.content_type.model
        entries.append(
            LogEntry(
                at=row.timestamp,
                by=row.actor.get_username() if row.actor else "–",
                what=_sentence(row) or str(ACTIONS.get(row.action, "")),
                kind=_kind_of(row.content_type),
                of=f"{name}: {row.object_repr}",
                changes=list(_changes(row, model)),
                request=(row.cid, row.content_type_id, row.object_pk) if row.cid else (),
            )
        )
    return entries


def _sentence(row: AuditEntry) -> str:
    """Of what somebody did whose account is gone (`ragsite.accounts.personal_data`)."""
    return str((row.additional_data or {}).get("sentence", ""))


def _table_name(model: type[Model]) -> str:
    """Of a table's row, in the words of the pages."""
    return capfirst(str(NAMES.get(model._meta.label, model._meta.verbose_name)))


# ------------------------------------------------------------------------------------------------ what was changed
def _changes(row: AuditEntry, model: type[Model] | None) -> Iterator[FieldChange]:
    """Of what was deleted none: its name says what it was."""
    if row.action == AuditEntry.Action.DELETE:
        return
    for name, sides in sorted((row.changes or {}).items()):
        shown = _field_name(model, name)
        if isinstance(sides, dict):  # rows of a relation
            objects = ", ".join(sides["objects"])[:VALUE_CHARS]
            added = sides["operation"] == "add"
            yield FieldChange(shown, "" if added else objects, objects if added else "")
            continue
        old = _value(model, name, sides[0])
        new = _value(model, name, sides[1])
        if old or new:
            yield FieldChange(shown, old, new)


def _field_of(model: type[Model] | None, name: str) -> Any:
    """None: there is none any more; the log is older than some changes of the tables."""
    try:
        return model._meta.get_field(name) if model else None
    except FieldDoesNotExist:
        return None


def _field_name(model: type[Model] | None, name: str) -> str:
    if model is not None and (words := NAMES.get(f"{model._meta.label}.{name}")):
        return str(words)
    return capfirst(str(getattr(_field_of(model, name), "verbose_name", name)))


def _value(model: type[Model] | None, name: str, text: str) -> str:
    """As people read it: a choice by its name, a stored setting without how it is stored."""
    if text in EMPTY:
        return ""
    if model is not None and model._meta.label == "constance.Constance":
        return _setting(text)
    field = _field_of(model, name)
    if isinstance(field, BooleanField):
        return str(YES_OR_NO.get(text, text))
    choices = dict(getattr(field, "flatchoices", ()))
    return str(choices.get(text, text))[:VALUE_CHARS]


def _setting(text: str) -> str:
    try:
        stored = json.loads(text)
    except ValueError:
        return text[:VALUE_CHARS]
    return str(stored.get("__value__", stored) if isinstance(stored, dict) else stored)[
        :VALUE_CHARS
    ]


# ------------------------------------------------------------------------------------------------ kinds
def _of_kind(rows: QuerySet[Any], kind: str) -> QuerySet[Any]:
    if not kind:
        return rows
    if kind in MODELS:
        return rows.filter(_of_tables(MODELS[kind]))
    if kind == OTHER:
        return rows.exclude(_of_tables([one for tables in MODELS.values() for one in tables]))
    return rows.none()


def _of_tables(names: Iterable[str]) -> Q:
    found = Q(pk__in=[])
    for name in names:
        app_label, _dot, model = name.partition(".")
        found |= Q(content_type__app_label=app_label, content_type__model=model)
    return found


def _kind_of(content_type: ContentType | None) -> str:
    if content_type is None:
        return OTHER
    name = f"{content_type.app_label}.{content_type.model}"
    return next((kind for kind, names in MODELS.items() if name in names), OTHER)
