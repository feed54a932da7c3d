"""Giving out and deleting all that is a person's: asked for on a page, done by a worker, known by its row.

An export is a ZIP of JSON and original files, offered for a day to who asked for it. A deletion begins at once and
cannot be taken back: the account is closed in the same transaction, so that nothing new comes while it is emptied in
small steps. Both go on where they broke off: an export from its beginning, a deletion with what is left.
"""

from __future__ import annotations

import json
import logging
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, transaction
from django.db.models import F, Model, Q
from django.db.models.signals import pre_delete
from django.utils import timezone, translation
from kombu.exceptions import OperationalError

from ragsite.accounts.choices import account_of
from ragsite.accounts.letters import is_confirmed, letter_queue
from ragsite.accounts.personal_data import Part, holders, what_goes
from ragsite.core.errors import ConflictError, NotFoundError, PermissionDeniedError
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.storage import check_room
from ragsite.core.wording import worded
from ragsite.models import PersonalDataJob

logger = logging.getLogger(__name__)
FOLDER = "exports"  # in the site's storage
OFFERED_FOR = timedelta(days=1)
LEASE_S = 120.0
REPORT_EVERY_S = 2.0
ATTEMPTS = 5
COPIED_BYTES = 1024 * 1024
RECORD_KEPT = timedelta(days=365)  # of what was done
OPEN = Q(state__in=[PersonalDataJob.State.WAITING, PersonalDataJob.State.RUNNING])


class ExportRunsError(ConflictError):
    code = "export_runs"
    message = worded("Your data are being put together already; wait for it to end.")


class LastAdministratorError(PermissionDeniedError):
    code = "last_administrator"
    message = worded("You are the last administrator; make somebody else one first, then delete your account.")


class NoExportError(NotFoundError):
    code = "no_export"
    message = worded("There is no export to fetch, or its day is over; ask for a new one.")


# ------------------------------------------------------------------------------------------------ asked for
def export_start(*, user: User, by: User, reason: str = "") -> PersonalDataJob:
    """One at a time; a finished one gives way. Raises ExportRunsError."""
    for finished in PersonalDataJob.objects.filter(~OPEN, user=user, requested_by=by, kind=PersonalDataJob.Kind.EXPORT):
        _file_drop(finished)
    try:
        with transaction.atomic():
            job = PersonalDataJob.objects.create(
                kind=PersonalDataJob.Kind.EXPORT, user=user, user_number=user.pk, requested_by=by, reason=reason
            )
            transaction.on_commit(_wake)
            return job
    except IntegrityError as error:
        raise ExportRunsError from error


@transaction.atomic
def deletion_start(*, user: User, by: User, reason: str = "") -> PersonalDataJob:
    """Close the account now, and empty it. What runs of it already is left to run. Raises LastAdministratorError."""
    administrators = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in administrators] == [user.pk]:
        raise LastAdministratorError
    running = PersonalDataJob.objects.filter(OPEN, user=user, kind=PersonalDataJob.Kind.DELETION).first()
    if running is not None:
        return running
    user.is_active = False
    user.save(update_fields=["is_active"])  # ends its sessions and tokens, too (signing_out)
    job = PersonalDataJob.objects.create(
        kind=PersonalDataJob.Kind.DELETION, user=user, user_number=user.pk, requested_by=by, reason=reason
    )
    transaction.on_commit(_wake)
    return job


def _wake() -> None:
    """A worker takes what waits; without this message the next round does, within a minute."""
    with suppress(OperationalError, OSError):
        current_app.send_task("ragsite.tasks.personal_data_next", retry=False)


# ------------------------------------------------------------------------------------------------ read
def export_latest(*, user: User, by: User) -> PersonalDataJob | None:
    """The export of the user's data that `by` asked for last and that is not over."""
    exports = PersonalDataJob.objects.filter(user=user, requested_by=by, kind=PersonalDataJob.Kind.EXPORT)
    return exports.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now())).order_by("-created_at").first()


def export_open(*, job_id: UUID, by: User) -> IO[bytes]:
    """Its file. Only for who asked for it. Raises NoExportError."""
    job = PersonalDataJob.objects.filter(
        pk=job_id, requested_by=by, state=PersonalDataJob.State.DONE, expires_at__gt=timezone.now(), user__isnull=False
    ).first()
    if job is None or not job.file:
        raise NoExportError
    try:
        return default_storage.open(job.file, "rb")
    except OSError as error:
        raise NoExportError from error


# ------------------------------------------------------------------------------------------------ done by a worker
def personal_data_take_next() -> str:
    """Do one job that waits or that a dead worker left. Returns its kind, or "idle"."""
    for job in PersonalDataJob.objects.filter(OPEN, run_out()).order_by("created_at")[:20]:
        lease = Lease(PersonalDataJob.objects.filter(OPEN), job.pk, seconds=LEASE_S)
        if lease.take(state=PersonalDataJob.State.RUNNING, attempts=F("attempts") + 1):
            _work(PersonalDataJob.objects.get(pk=job.pk), lease)
            return str(job.kind)
    return "idle"


def _work(job: PersonalDataJob, lease: Lease) -> None:
    work = _export if job.kind == PersonalDataJob.Kind.EXPORT else _delete
    try:
        if job.user is None:  # deleted by other means: nothing is left to do
            lease.release(state=PersonalDataJob.State.DONE, finished_at=timezone.now())
            return
        work(job, job.user, lease)
    except LeaseLostError:
        logger.warning("%s was taken over by another worker", job)
    except Exception:  # the worker's outermost loop: the next one goes on
        logger.exception("%s did not end, attempt %s", job, job.attempts)
        over = job.attempts >= ATTEMPTS
        state = PersonalDataJob.State.FAILED if over else PersonalDataJob.State.WAITING
        lease.release(state=state, finished_at=timezone.now() if over else None)


class _Progress:
    """Renews the lease with the figures, every few seconds."""

    def __init__(self, lease: Lease, total: int) -> None:
        self._lease, self._done, self._next = lease, 0, 0.0
        self._lease.renew(done=0, total=total)

    def step(self, count: int = 1) -> None:
        """Raises LeaseLostError."""
        self._done += count
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REPORT_EVERY_S
            self._lease.renew(done=self._done)


# ------------------------------------------------------------------------------------------------ export
def _export(job: PersonalDataJob, user: User, lease: Lease) -> None:
    check_room(0)
    name = f"{FOLDER}/{job.pk}-{lease.token.hex[:8]}.zip"  # of this worker alone, should another one take over
    path = Path(settings.MEDIA_ROOT) / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        _archive_write(path, user, _Progress(lease, sum(held.count for held in what_goes(user))))
        now = timezone.now()
        done = {"file": name, "size_bytes": path.stat().st_size, "finished_at": now, "expires_at": now + OFFERED_FOR}
        if not lease.release(state=PersonalDataJob.State.DONE, done=F("total"), **done):
            raise LeaseLostError
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _archive_write(path: Path, user: User, progress: _Progress) -> None:
    language = account_of(user).language or settings.LANGUAGE_CODE
    zipped = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=3)
    with translation.override(language), zipped as archive:
        for holder in holders():
            for part in holder.parts(user):
                _write(archive, part, progress)


def _write(archive: zipfile.ZipFile, part: Part, progress: _Progress) -> None:
    if callable(part.content):
        try:
            stored = part.content()
        except (OSError, ValueError):  # its row names a file that is gone
            logger.warning("a file of an export is gone: %s", part.path)
            return
        check_room(0)
        with stored, archive.open(part.path, "w", force_zip64=True) as entry:
            while piece := stored.read(COPIED_BYTES):
                entry.write(piece)
                progress.step(0)
        progress.step()
        return
    with archive.open(part.path, "w", force_zip64=True) as entry:
        if isinstance(part.content, Iterator):
            _write_list(entry, part.content, progress)
        else:
            entry.write(_json(part.content))
            progress.step()


def _write_list(entry: IO[bytes], rows: Iterator[Any], progress: _Progress) -> None:
    entry.write(b"[")
    for number, row in enumerate(rows):
        entry.write(b",\n" if number else b"\n")
        entry.write(_json(row))
        progress.step()
    entry.write(b"\n]\n")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder).encode()


# ------------------------------------------------------------------------------------------------ deletion
def _delete(job: PersonalDataJob, user: User, lease: Lease) -> None:
    progress = _Progress(lease, sum(held.count for held in what_goes(user)))
    for holder in holders():
        for deleted in holder.erase(user):
            progress.step(deleted)
    account = account_of(user)
    email = account.confirmed_email if is_confirmed(account) else ""
    name, language = user.get_username(), account.language or settings.LANGUAGE_CODE
    lease.renew()
    with transaction.atomic():
        user.delete()
        lease.release(state=PersonalDataJob.State.DONE, finished_at=timezone.now(), done=F("total"))
        if email:
            transaction.on_commit(partial(_say_deleted, email, name, language))


def _say_deleted(email: str, name: str, language: str) -> None:
    with translation.override(language):
        letter_queue("deleted", email=email, name=name)


# ------------------------------------------------------------------------------------------------ tidying
def connect() -> None:
    """With an account goes the file of its export, however it is deleted."""
    pre_delete.connect(_user_goes, sender=User, dispatch_uid="ragsite.exports_of_user")


def _user_goes(sender: type[Model], instance: User, **_: Any) -> None:
    exports = PersonalDataJob.objects.filter(user=instance, kind=PersonalDataJob.Kind.EXPORT)
    for name in exports.exclude(file="").values_list("file", flat=True):
        transaction.on_commit(partial(default_storage.delete, name))
    exports.delete()


def personal_data_purge(*, now: datetime | None = None) -> int:
    """Delete files whose day is over, and old records. Returns how many rows went."""
    now = now or timezone.now()
    exports = PersonalDataJob.objects.filter(kind=PersonalDataJob.Kind.EXPORT)
    over = list(exports.filter(Q(expires_at__lte=now) | Q(state=PersonalDataJob.State.FAILED)).order_by("pk")[:1000])
    for job in over:
        _file_drop(job)
    old, _ = PersonalDataJob.objects.filter(~OPEN, finished_at__lt=now - RECORD_KEPT).delete()
    _orphans_drop(now)
    return len(over) + old


def _orphans_drop(now: datetime) -> None:
    """What killed workers left half written."""
    folder = Path(settings.MEDIA_ROOT) / FOLDER
    known = set(PersonalDataJob.objects.exclude(file="").values_list("file", flat=True))
    for path in folder.iterdir() if folder.is_dir() else ():
        if f"{FOLDER}/{path.name}" not in known and path.stat().st_mtime < (now - OFFERED_FOR).timestamp():
            path.unlink(missing_ok=True)


def _file_drop(job: PersonalDataJob) -> None:
    if job.file:
        default_storage.delete(job.file)
    job.delete()
