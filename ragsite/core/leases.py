"""The one kind of lease: the right to work on a row of the database until a moment that its holder keeps moving.

A holder that was killed leaves a lease that runs out. One that was only stopped (SIGSTOP, a blocked event loop) wakes
up with a token; whoever took the row over since has written another one. Every write names the token, so that what a
late holder writes changes nothing ("fencing token").

    lease = Lease(IngestJob.objects.all(), job_id, seconds=60)
    if lease.take(state="running"):                 # one conditional UPDATE: one of many wins
        async with hold(lease):                     # renews; cancels the body when the lease is lost
            with transaction.atomic():
                lease.check()                       # locks the row; raises LeaseLostError
                ...                                 # writes that belong to the work
        lease.release(state="done")

Work that has no row of its own takes a lock by name: `NamedLease("feedback round", seconds=120)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from django.db import Error, models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError
from ragsite.core.messages import worded

LONGEST = timedelta(minutes=10)  # that a lease may last, and clocks of several machines may differ
RENEWALS = 6  # tries of `hold` within the time of a lease
logger = logging.getLogger(__name__)


class LeaseLostError(ConflictError):
    """Somebody else holds the lease by now, or it ran out and could not be renewed. The work on the row ends."""

    code = "lease_lost"
    message = worded("Another process has taken this work over.")


def this_process() -> str:
    """Host and process id, for people: who holds a lease."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


class Leased(models.Model):
    """A row that one process at a time works on. Both columns are empty while nobody does."""

    lease_token = models.UUIDField(
        null=True, blank=True, editable=False, help_text="Of the holder; new at each take."
    )
    lease_expires_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def is_held(self) -> bool:
        """As of when the row was read; what `run_out` is for queries."""
        now = timezone.now()
        return self.lease_expires_at is not None and now < self.lease_expires_at <= now + LONGEST


def run_out(*, at: datetime | None = None) -> Q:
    """Rows that nobody holds, or whose holder's time is over: `Message.objects.filter(run_out(), status=…)`.

    A lease that ends later than any lease lasts was written before the clock was set back, and would be held as long.
    """
    now = at or timezone.now()
    return (
        Q(lease_expires_at=None)
        | Q(lease_expires_at__lte=now)
        | Q(lease_expires_at__gt=now + LONGEST)
    )


class Lease:
    """The lease of one row, as its holder sees it. Every method is one statement.

    rows: a queryset of a `Leased` model; rows that it leaves out can't be taken, nor held.
    seconds: how long it lasts after each take and renewal, > 0.
    token: a new one by default.
    """

    def __init__(
        self, rows: QuerySet[Any], pk: Any, *, seconds: float, token: uuid.UUID | None = None
    ) -> None:
        if seconds > LONGEST.total_seconds() / 2:
            raise ValueError(f"a lease of {seconds:g} s is longer than {LONGEST} allows")
        self.rows = rows
        self.pk = pk
        self.seconds = seconds
        self.token = token or uuid.uuid4()
        self._deadline = 0.0

    def columns(self) -> dict[str, Any]:
        """For creating a row that is held from the beginning: `Message.objects.create(…, **lease.columns())`."""
        self._deadline = time.monotonic() + self.seconds
        return self._columns()

    def take(self, **values: Any) -> bool:
        """True when nobody held the row, or the holder's time was over; then `values` are written with it."""
        free = self.rows.filter(run_out() | Q(lease_token=self.token), pk=self.pk)
        return self._written(free, values)

    def renew(self, **values: Any) -> None:
        """Prolong it, also after it ran out as long as nobody took it, and write `values`. Raises LeaseLostError."""
        if not self._written(self.held(), values):
            raise LeaseLostError

    def check(self) -> None:
        """Inside a transaction, before it writes: nobody takes the row until it ends. Raises LeaseLostError."""
        if self.held().select_for_update().order_by().values_list("pk").first() is None:
            raise LeaseLostError

    def release(self, **values: Any) -> bool:
        """Give it back, and write `values` with it. False: it was lost, and nothing is written."""
        self._deadline = 0.0
        return bool(self.held().update(lease_token=None, lease_expires_at=None, **values))

    def held(self) -> QuerySet[Any]:
        """The row, as long as it is this token's: for writes that need no lock, `lease.held().update(…)`."""
        return self.rows.filter(pk=self.pk, lease_token=self.token)

    def _written(self, rows: QuerySet[Any], values: dict[str, Any]) -> bool:
        deadline = (
            time.monotonic() + self.seconds
        )  # before it is sent: the statement may wait for a lock
        is_held = bool(rows.update(**self._columns(), **values))
        self._deadline = deadline if is_held else 0.0
        return is_held

    def _columns(self) -> dict[str, Any]:
        return {
            "lease_token": self.token,
            "lease_expires_at": timezone.now() + timedelta(seconds=self.seconds),
        }

    def remaining_s(self) -> float:
        """Until it runs out unless it is renewed, ≤ 0 afterwards; asks this machine's clock, not the database."""
        return self._deadline - time.monotonic()

    async def aensure(self) -> None:
        """Right before a write that no transaction guards (a file, Milvus). Raises LeaseLostError."""
        if self.remaining_s() <= 0:
            try:
                await database_call(self.renew)
            except Error as error:
                raise LeaseLostError from error


class NamedLock(Leased):
    """A lock that one process at a time holds. Its row is there only while it is held."""

    name = models.CharField(max_length=255, primary_key=True)
    holder = models.CharField(max_length=100)  # host and process, for people

    class Meta:
        app_label = "ragsite"
        verbose_name = _("lock")
        verbose_name_plural = _("locks")

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"


class NamedLease(Lease):
    """The lease of a `NamedLock`, whose row is made by `take` and removed by `release`."""

    def __init__(self, name: str, *, seconds: float) -> None:
        super().__init__(NamedLock.objects.all(), name, seconds=seconds)

    def take(self, **values: Any) -> bool:
        values = {"holder": this_process(), **values}
        if super().take(**values):
            return True
        if self.rows.filter(pk=self.pk).exists():
            return False
        self.rows.bulk_create([NamedLock(name=self.pk)], ignore_conflicts=True)
        return super().take(**values)

    def release(self, **values: Any) -> bool:
        self._deadline = 0.0
        deleted, _by_model = self.held().delete()
        return bool(deleted)


def lock_is_held(name: str) -> bool:
    """Whether any process holds this lock at this moment."""
    return NamedLock.objects.filter(pk=name).exclude(run_out()).exists()


@contextlib.asynccontextmanager
async def hold(lease: Lease) -> AsyncIterator[Lease]:
    """Renew a lease that was taken, as long as the body runs; the caller releases it.

    Cancels the body and raises LeaseLostError once the lease is somebody else's, or has run out and could not be
    renewed. Database errors are waited out until then.
    """
    lost: Exception | None = None

    async def keep() -> None:
        nonlocal lost
        while lost is None:
            await asyncio.sleep(lease.seconds / RENEWALS)
            try:
                await database_call(lease.renew)
            except LeaseLostError as error:
                lost = error
            except Error as error:
                logger.warning("the lease of %s could not be renewed: %s", lease.pk, error)
                lost = error if lease.remaining_s() <= 0 else None
        logger.error("the lease of %s was lost: its work here ends", lease.pk)
        scope.reschedule(asyncio.get_running_loop().time())  # cancels the body

    try:
        async with asyncio.timeout(None) as scope:
            renewing = asyncio.create_task(keep())
            try:
                yield lease
            finally:
                renewing.cancel()
                await asyncio.wait([renewing])
    except Exception as error:
        if lost is None:
            raise
        if not isinstance(error, TimeoutError):  # that of the cancellation
            logger.warning(
                "the work that had lost the lease of %s ended with an error",
                lease.pk,
                exc_info=error,
            )
    if lost is not None:  # also where the body ignored the cancellation
        raise LeaseLostError from lost
