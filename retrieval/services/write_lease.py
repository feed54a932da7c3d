"""One writer at a time for each embedding space, across processes: a row in the database, renewed by its holder.

A holder that was killed leaves a lease that runs out. Works on SQLite and PostgreSQL alike: taking the lease is one
conditional UPDATE, or one INSERT that only one process can win.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from retrieval.errors import IndexUnavailableError
from retrieval.models import WriteLease

LEASE_S = 30.0
WAIT_S = 180.0  # longer than the longest write, shorter than anybody's patience
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def write_lease(space_key: str, *, lease_s: float = LEASE_S, wait_s: float = WAIT_S) -> AsyncIterator[None]:
    """Hold the lease for the body. Raises IndexUnavailableError when it can't be had within `wait_s`."""
    holder = f"{socket.gethostname()[:50]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
    await _acquire(space_key, holder, lease_s=lease_s, wait_s=wait_s)
    renewing = asyncio.create_task(_keep_renewing(space_key, holder, lease_s=lease_s))
    try:
        yield
    finally:
        renewing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await renewing
        await asyncio.shield(sync_to_async(lease_release)(space_key=space_key, holder=holder))


async def _acquire(space_key: str, holder: str, *, lease_s: float, wait_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + wait_s, FIRST_PAUSE_S
    while not await sync_to_async(lease_take)(space_key=space_key, holder=holder, lease_s=lease_s):
        if loop.time() + pause_s > deadline:
            raise IndexUnavailableError("The search index is busy with another write; try again shortly.")
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


async def _keep_renewing(space_key: str, holder: str, *, lease_s: float) -> None:
    while True:
        await asyncio.sleep(lease_s / 3)
        try:
            renewed = await sync_to_async(lease_renew)(space_key=space_key, holder=holder, lease_s=lease_s)
        except DatabaseError as error:  # the next round may get through before the lease ends
            logger.warning("The write lease of %s could not be renewed: %s", space_key, error)
            continue
        if not renewed:
            logger.error("The write lease of %s was lost: this process was stopped for too long", space_key)


def lease_take(*, space_key: str, holder: str, lease_s: float) -> bool:
    """True when the lease was free, or its holder's time was over."""
    now = timezone.now()
    fresh = {"holder": holder, "expires_at": now + timedelta(seconds=lease_s)}
    if WriteLease.objects.filter(space=space_key, expires_at__lte=now).update(**fresh):
        return True
    if WriteLease.objects.filter(space=space_key).exists():
        return False
    try:
        with transaction.atomic():
            WriteLease.objects.create(space=space_key, **fresh)
    except IntegrityError:  # another process was quicker
        return False
    return True


def lease_renew(*, space_key: str, holder: str, lease_s: float) -> bool:
    """False when the lease is somebody else's by now."""
    expires_at = timezone.now() + timedelta(seconds=lease_s)
    return bool(WriteLease.objects.filter(space=space_key, holder=holder).update(expires_at=expires_at))


def lease_release(*, space_key: str, holder: str) -> None:
    WriteLease.objects.filter(space=space_key, holder=holder).delete()
