"""One writer at a time for each embedding space, across processes: a lease in the database, renewed by its holder."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import Error

from ragsite.core.leases import Lease, LeaseLostError, NamedLease, hold
from ragsite.core.messages import worded
from retrieval.engine.errors import IndexUnavailableError

LEASE_S = 30.0
WAIT_S = 180.0  # longer than the longest write; afterwards the waiting writer gets an error
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def write_lease(
    space_key: str, *, lease_s: float = LEASE_S, wait_s: float = WAIT_S
) -> AsyncIterator[Lease]:
    """Hold the lease for the body; `await lease.aensure()` right before each write to Milvus.

    Raises IndexUnavailableError when it isn't free within `wait_s`, and when it is lost: then the body is cancelled.
    """
    lease = NamedLease(space_key, seconds=lease_s)
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
            await asyncio.shield(sync_to_async(lease.release)())
        except (
            Error
        ) as error:  # what was written is written; the next writer waits until it has run out
            logger.warning("%r could not be given back: %s", lease, error)


async def _acquire(lease: Lease, *, wait_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    pause_s = FIRST_PAUSE_S
    while not await sync_to_async(lease.take)():
        if loop.time() + pause_s > deadline:
            raise IndexUnavailableError(
                worded("The search index is busy with another write; try again shortly.")
            )
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
