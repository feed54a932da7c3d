"""One writer at a time for each embedding space, across processes: a lease in the database, renewed by its holder."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import Error

from ragsite.core.leases import Lease, LeaseLostError, hold, run_out, this_process
from ragsite.core.wording import worded
from retrieval.errors import IndexUnavailableError
from retrieval.models import WriteLease

LEASE_S = 30.0
WAIT_S = 180.0  # longer than the longest write; afterwards the waiting writer gets an error
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def write_lease(space_key: str, *, lease_s: float = LEASE_S, wait_s: float = WAIT_S) -> AsyncIterator[Lease]:
    """Hold the lease for the body; `await lease.aensure()` right before each write to Milvus.

    Raises IndexUnavailableError when it isn't free within `wait_s`, and when it is lost: then the body is cancelled.
    """
    lease = space_lease(space_key, seconds=lease_s)
    await _acquire(lease, wait_s=wait_s)
    try:
        async with hold(lease):
            yield lease
    except LeaseLostError as error:
        raise IndexUnavailableError(
            worded("Another process writes to the search index by now; try again shortly.")
        ) from error
    finally:
        try:
            await asyncio.shield(sync_to_async(lease_release)(lease))
        except Error as error:  # what was written is written; the next writer waits until it has run out
            logger.warning("%r could not be given back: %s", lease, error)


async def _acquire(lease: Lease, *, wait_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + wait_s, FIRST_PAUSE_S
    while not await sync_to_async(lease_take)(lease):
        if loop.time() + pause_s > deadline:
            raise IndexUnavailableError(worded("The search index is busy with another write; try again shortly."))
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def space_lease(space_key: str, *, seconds: float) -> Lease:
    """Of a space, or of any other work that one process at a time may do. Not taken yet."""
    return Lease(WriteLease.objects.all(), space_key, seconds=seconds)


def lease_take(lease: Lease) -> bool:
    """True when the lease was free, or its holder's time was over."""
    holder = this_process()
    if lease.take(holder=holder):
        return True
    if lease.rows.filter(pk=lease.pk).exists():
        return False
    lease.rows.bulk_create([WriteLease(space=lease.pk)], ignore_conflicts=True)
    return lease.take(holder=holder)


def lease_is_held(space_key: str) -> bool:
    """Whether somebody holds it at this moment."""
    return WriteLease.objects.filter(pk=space_key).exclude(run_out()).exists()


def lease_release(lease: Lease) -> None:
    """The row goes, so that throw-away spaces leave none behind."""
    lease.held().delete()
