"""What can happen to a source that is kept in step. Nobody but its owner sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from ragsite.accounts.auth import bound_to
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError, PermissionDeniedError
from ragsite.core.leases import run_out
from ragsite.core.messages import worded, wording_of
from ragsite.core.queueing import enqueue
from ragsite.core.sealed import seal
from ragsite.core.text import clean_line
from retrieval.knowledge.services.collections import collection_for_upload
from retrieval.knowledge.sync.folder import folder_of
from retrieval.knowledge.sync.kinds import PACKAGES
from retrieval.knowledge.sync.run import TASK
from retrieval.knowledge.sync.source import check_credentials_may_go, check_installed, server_of
from retrieval.models import DocumentKey, SyncSource

MOST_HOURS = 24 * 31
MOST_DEPTH = 5
MOST_PAGES = 2000
OPTIONS: dict[str, dict[str, int]] = {"web": {"depth": MOST_DEPTH, "most_pages": MOST_PAGES}}
WORDS = {"git": ("branch",), "s3": ("region",)}
MAX_WORD_CHARS = 200
CHANGED = ["name", "address", "every_hours", "options", "credentials", "version"]
LOST_CREDENTIALS = worded(
    "The address leads to another server, so the stored user name and password were removed. Enter them again."
)
STOPPED = worded("The run was stopped.")


def sync_source_list(*, user: User) -> QuerySet[SyncSource]:
    ids = bound_to(user)
    rows = SyncSource.objects.filter(owner=user).select_related("collection__owner")
    return rows if ids is None else rows.filter(collection_id__in=ids)


def sync_source_get(*, user: User, source_id: UUID) -> SyncSource:
    """Raises NotFoundError."""
    row = sync_source_list(user=user).filter(pk=source_id).first()
    if row is None:
        raise NotFoundError
    return row


@transaction.atomic
def sync_source_create(*, owner: User, kind: str, collection: str, **values: Any) -> SyncSource:
    """values: as the changes of `sync_source_update`; `name` and `address` are needed.

    Raises InvalidInputError, PermissionDeniedError, CollectionNotFoundError, SourceKindMissingError.
    """
    if kind == SyncSource.Kind.FOLDER and not owner.is_staff:
        raise PermissionDeniedError(worded("Only staff may name a folder of the site's machines."))
    if kind not in SyncSource.Kind.values:
        raise InvalidInputError(fields={"kind": [worded("Choose a kind.")]})
    if package := PACKAGES.get(SyncSource.Kind(kind)):
        check_installed(package)
    target = collection_for_upload(user=owner, name=collection)
    return sync_source_update(
        row=SyncSource(owner=owner, kind=kind, collection=target), changes=values
    )


def sync_source_update(*, row: SyncSource, changes: Mapping[str, Any]) -> SyncSource:
    """Any of name, address, every_hours, username and password (both "": none), and of its kind's options. Another
    address is read from the start. On another server the stored credentials are dropped, since whoever may change
    the address need not know them; `row.lost_credentials` then says so. No hours any more ends a run. Raises
    InvalidInputError."""
    wrong: dict[str, list[str]] = {}
    hours_before = row.every_hours
    row.name = clean_line(str(changes.get("name", row.name)))
    _change_address(row, changes)
    row.every_hours = _number(changes, "every_hours", row.every_hours, 0, MOST_HOURS, wrong)
    _change_options(row, changes, wrong)
    if "username" in changes or "password" in changes:
        pair = {name: str(changes.get(name) or "") for name in ("username", "password")}
        row.credentials = seal(pair) if any(pair.values()) else ""
    try:
        _check_address(row)
    except AppError as error:
        wrong["address"] = [error.message]
    try:
        row.clean_fields(exclude=["owner", "collection", "report"])
    except ValidationError as error:
        wrong |= error.message_dict
    if wrong:
        raise InvalidInputError(fields=wrong)
    row.save(
        update_fields=None if row._state.adding else CHANGED
    )  # a run may write the others meanwhile
    if hours_before and not row.every_hours:
        sync_source_stop(row=row)
    return row


def _change_address(row: SyncSource, changes: Mapping[str, Any]) -> None:
    """On another server the stored credentials are dropped."""
    address = str(changes.get("address", row.address)).strip()
    if address != row.address:
        row.version = ""
    if row.credentials and server_of(address) != server_of(row.address):
        row.credentials = ""
        row.lost_credentials = "username" not in changes and "password" not in changes
    row.address = address


def _change_options(
    row: SyncSource, changes: Mapping[str, Any], wrong: dict[str, list[str]]
) -> None:
    """Those of its kind."""
    for option, most in OPTIONS.get(row.kind, {}).items():
        if changes.get(option) not in (None, ""):
            least = 0 if option == "depth" else 1
            row.options[option] = _number(changes, option, 0, least, most, wrong)
    for option in WORDS.get(row.kind, ()):
        if option in changes and changes[option] != row.options.get(option, ""):
            row.options[option] = clean_line(str(changes[option]))[:MAX_WORD_CHARS]
            row.version = ""


def _check_address(row: SyncSource) -> None:
    """Raises AppError. Where it leads is checked when it is called."""
    if row.kind == SyncSource.Kind.FOLDER:
        if not Path(row.address).is_absolute() or "\0" in row.address:
            raise InvalidInputError(worded("Give the whole path of the folder."))
        folder_of(row.address)
        return
    try:
        parts = urlsplit(row.address)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.username or parts.password:
        raise InvalidInputError(
            worded("Give an address that starts with https:// or http://, without a user name.")
        )
    if row.credentials:
        check_credentials_may_go(row.address)


def _number(
    changes: Mapping[str, Any],
    name: str,
    default: int,
    least: int,
    most: int,
    wrong: dict[str, list[str]],
) -> int:
    try:
        value = int(changes.get(name, default))
    except (TypeError, ValueError):
        value = -1
    if not least <= value <= most:
        wrong[name] = [
            worded("Give a whole number from {least} to {most}.", least=least, most=most)
        ]
        return default
    return value


def sync_source_delete(*, row: SyncSource) -> None:
    """A run of it ends within seconds. The documents stay in the collection."""
    row.delete()


def sync_source_start(*, row: SyncSource, dry_run: bool = False) -> None:
    """A worker runs it as soon as it can, one source of a user at once."""
    transaction.on_commit(partial(enqueue, TASK, str(row.pk), dry_run))


def sync_source_stop(*, row: SyncSource) -> None:
    """A run of it ends within seconds, since its lease is gone; one that waits does not begin."""
    error = {"error": STOPPED, "wording": wording_of(STOPPED)}
    report = (
        {**row.report, "finished_at": timezone.now().isoformat(), "error": error}
        if row.report
        else {}
    )
    running = SyncSource.objects.exclude(run_out()).filter(pk=row.pk)
    running.update(lease_token=None, lease_expires_at=None, report=report)
    SyncSource.objects.filter(pk=row.pk).update(waits_since=None)
    row.refresh_from_db()


# ------------------------------------------------------------------------------------------------ schedule
def connect() -> None:
    """Connect the signals; called once, when the apps are ready."""
    post_save.connect(_schedule, sender=SyncSource, dispatch_uid="retrieval.sync_source_saved")
    post_delete.connect(_forget, sender=SyncSource, dispatch_uid="retrieval.sync_source_deleted")


def _schedule(sender: type[Model], instance: SyncSource, **_: Any) -> None:
    """Its row of django-celery-beat."""
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    interval, _made = IntervalSchedule.objects.get_or_create(
        every=max(1, instance.every_hours), period="hours"
    )
    PeriodicTask.objects.update_or_create(
        name=_task_name(instance),
        defaults={
            "task": TASK,
            "interval": interval,
            "args": f'["{instance.pk}"]',
            "enabled": instance.every_hours > 0,
            "expire_seconds": 3600,
            "description": instance.name,
        },
    )


def _forget(sender: type[Model], instance: SyncSource, **_: Any) -> None:
    from django_celery_beat.models import PeriodicTask

    PeriodicTask.objects.filter(name=_task_name(instance)).delete()
    DocumentKey.objects.filter(source=str(instance.pk)).delete()


def _task_name(row: SyncSource) -> str:
    return f"Source {row.pk}"
