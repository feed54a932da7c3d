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
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.signals import pre_delete
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from ragsite.accounts.choices import account_of
from ragsite.accounts.letters import Letter, confirmed_email, letter_queue
from ragsite.accounts.personal_data import Part, holders, what_goes
from ragsite.core.errors import ConflictError, NotFoundError, PermissionDeniedError
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.storage import check_room
from ragsite.core.wording import worded
from ragsite.models import PersonalDataJob

logger = logging.getLogger(__name__)
OFFERED_FOR = timedelta(days=1)
RECORD_KEPT = timedelta(days=365)  # of what was done
LEASE_S, REPORT_EVERY_S = 120.0, 2.0
ATTEMPTS = 5
COPIED_BYTES = 1024 * 1024
Kind, State = PersonalDataJob.Kind, PersonalDataJob.State
OPEN = Q(state__in=[State.WAITING, State.RUNNING])


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
    for finished in PersonalDataJob.objects.filter(~OPEN, user=user, requested_by=by, kind=Kind.EXPORT):
        _drop(finished)
    try:
        return _ask(Kind.EXPORT, user, by, reason)
    except IntegrityError as error:
        raise ExportRunsError from error


@transaction.atomic
def deletion_start(*, user: User, by: User, reason: str = "") -> PersonalDataJob:
    """Close the account now, and empty it. What runs of it already is left to run. Raises LastAdministratorError."""
    administrators = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in administrators] == [user.pk]:
        raise LastAdministratorError
    if running := PersonalDataJob.objects.filter(OPEN, user=user, kind=Kind.DELETION).first():
        return running
    user.is_active = False
    user.save(update_fields=["is_active"])  # ends its sessions and tokens, too (ragsite.accounts.signals)
    return _ask(Kind.DELETION, user, by, reason)


@transaction.atomic
def _ask(kind: str, user: User, by: User, reason: str) -> PersonalDataJob:
    job = PersonalDataJob.objects.create(kind=kind, user=user, user_number=user.pk, requested_by=by, reason=reason)
    transaction.on_commit(_wake)
    return job


def _wake() -> None:
    """A worker takes what waits; without this message the next round does, within a minute."""
    with suppress(OperationalError, OSError):
        current_app.send_task("ragsite.tasks.personal_data_next", retry=False)


# ------------------------------------------------------------------------------------------------ read
def export_latest(*, user: User, by: User) -> PersonalDataJob | None:
    """The export of the user's data that `by` asked for last and that is not over."""
    exports = PersonalDataJob.objects.filter(user=user, requested_by=by, kind=Kind.EXPORT)
    return exports.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now())).order_by("-created_at").first()


def export_open(*, job_id: UUID, by: User) -> IO[bytes]:
    """Its file. Only for who asked for it. Raises NoExportError."""
    done = PersonalDataJob.objects.filter(kind=Kind.EXPORT, state=State.DONE, expires_at__gt=timezone.now())
    job = done.filter(pk=job_id, requested_by=by, user__isnull=False).first()
    try:
        if job is not None:
            return _path(job).open("rb")
    except OSError as error:
        raise NoExportError from error
    raise NoExportError


def _folder() -> Path:
    return Path(settings.MEDIA_ROOT) / "exports"


def _path(job: PersonalDataJob) -> Path:
    return _folder() / f"{job.pk}.zip"


# ------------------------------------------------------------------------------------------------ done by a worker
def personal_data_take_next() -> str:
    """Do one job that waits or that a dead worker left. Returns its kind, or "idle"."""
    for job in PersonalDataJob.objects.filter(OPEN, run_out()).order_by("created_at")[:20]:
        lease = Lease(PersonalDataJob.objects.filter(OPEN), job.pk, seconds=LEASE_S)
        if lease.take(state=State.RUNNING, attempts=F("attempts") + 1):
            _work(PersonalDataJob.objects.get(pk=job.pk), lease)
            return str(job.kind)
    return "idle"


def _work(job: PersonalDataJob, lease: Lease) -> None:
    work = _export if job.kind == Kind.EXPORT else _delete
    try:
        if job.user is None:  # deleted by other means: nothing is left to do
            lease.release(state=State.DONE, finished_at=timezone.now())
            return
        work(job, job.user, lease)
    except LeaseLostError:
        logger.warning("%s was taken over by another worker", job)
    except Exception:  # the worker's outermost loop: the next one goes on
        logger.exception("%s did not end, attempt %s", job, job.attempts)
        over = job.attempts >= ATTEMPTS
        lease.release(state=State.FAILED if over else State.WAITING, finished_at=timezone.now() if over else None)


class _Progress:
    """Renews the lease with the figures, every few seconds."""

    def __init__(self, lease: Lease, user: User) -> None:
        self._lease, self._done, self._next = lease, 0, 0.0
        self._lease.renew(done=0, total=sum(held.count for held in what_goes(user)))

    def step(self, count: int = 1) -> None:
        """Raises LeaseLostError."""
        self._done += count
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REPORT_EVERY_S
            self._lease.renew(done=self._done)


# ------------------------------------------------------------------------------------------------ export
def _export(job: PersonalDataJob, user: User, lease: Lease) -> None:
    check_room(0)
    _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    half = _folder() / f"{lease.token}.half"  # of this worker alone, should another one take over
    progress, language = _Progress(lease, user), account_of(user).language or settings.LANGUAGE_CODE
    try:
        zipped = zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED, compresslevel=3)
        with translation.override(language), zipped as archive:
            for holder in holders():
                for part in holder.parts(user):
                    _write(archive, part, progress)
        with transaction.atomic():
            lease.check()
            size, now = half.stat().st_size, timezone.now()
            half.replace(_path(job))
            done = {"done": F("total"), "size_bytes": size, "finished_at": now, "expires_at": now + OFFERED_FOR}
            lease.release(state=State.DONE, **done)
    finally:
        half.unlink(missing_ok=True)


def _write(archive: zipfile.ZipFile, part: Part, progress: _Progress) -> None:
    check_room(0)
    if callable(part.content):
        try:
            stored = part.content()
        except (OSError, ValueError):  # its row names a file that is gone
            logger.warning("a file of an export is gone: %s", part.path)
            return
        with stored, archive.open(part.path, "w", force_zip64=True) as entry:
            while piece := stored.read(COPIED_BYTES):
                entry.write(piece)
                progress.step(0)
        progress.step()
    elif isinstance(part.content, Iterator):
        with archive.open(part.path, "w", force_zip64=True) as entry:
            entry.write(b"[")
            for number, row in enumerate(part.content):
                entry.write((b",\n" if number else b"\n") + _json(row))
                progress.step()
            entry.write(b"\n]\n")
    else:
        archive.writestr(part.path, _json(part.content))
        progress.step()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder).encode()


# ------------------------------------------------------------------------------------------------ deletion
def _delete(job: PersonalDataJob, user: User, lease: Lease) -> None:
    progress = _Progress(lease, user)
    for holder in holders():
        for deleted in holder.erase(user):
            progress.step(deleted)
    with translation.override(account_of(user).language or settings.LANGUAGE_CODE):
        text = _("The account “%(name)s” on Ragsite and everything that belonged to it are deleted.")
        told = {"subject": _("Your account was deleted"), "text": text % {"name": user.get_username()}}
    letter = Letter(to=confirmed_email(user), **told)
    lease.renew()
    with transaction.atomic():
        user.delete()
        lease.release(state=State.DONE, finished_at=timezone.now(), done=F("total"))
        if letter.to:
            transaction.on_commit(partial(letter_queue, letter))


# ------------------------------------------------------------------------------------------------ tidying
def connect() -> None:
    """With an account goes the file of its export, however it is deleted."""
    pre_delete.connect(_user_goes, sender=User, dispatch_uid="ragsite.exports_of_user")


def _user_goes(sender: type[User], instance: User, **kwargs: Any) -> None:
    exports = PersonalDataJob.objects.filter(user=instance, kind=Kind.EXPORT)
    for job in exports:
        transaction.on_commit(partial(_path(job).unlink, missing_ok=True))
    exports.delete()


def personal_data_purge(*, now: datetime | None = None) -> int:
    """Delete exports whose day is over, old records, and what killed workers left half written. Returns how many rows
    went."""
    now = now or timezone.now()
    over = PersonalDataJob.objects.filter(Q(expires_at__lte=now) | Q(state=State.FAILED), kind=Kind.EXPORT)
    exports = list(over)
    for job in exports:
        _drop(job)
    for path in _folder().glob("*"):
        if path.stat().st_mtime < (now - OFFERED_FOR).timestamp():
            path.unlink(missing_ok=True)
    return len(exports) + PersonalDataJob.objects.filter(~OPEN, finished_at__lt=now - RECORD_KEPT).delete()[0]


def _drop(job: PersonalDataJob) -> None:
    _path(job).unlink(missing_ok=True)
    job.delete()
