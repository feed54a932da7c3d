"""One holder at a time, and none that writes after its time."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from ragsite.core.leases import Lease, LeaseLostError, NamedLease, NamedLock, hold, lock_is_held

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = NamedLock.objects


@pytest.fixture
def row() -> NamedLock:
    return ROWS.create(name="space", holder="")


def lease(seconds: float = 5.0, **options: Any) -> Lease:
    return Lease(ROWS.all(), "space", seconds=seconds, **options)


def take_over() -> None:
    """As another process does it once the time of the holder is over."""
    ROWS.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert lease().take(holder="other")


@contextlib.asynccontextmanager
async def database_away() -> AsyncIterator[asyncio.Event]:
    """The event: a statement has failed."""
    failed, loop = asyncio.Event(), asyncio.get_running_loop()

    def away(*_: Any) -> None:
        loop.call_soon_threadsafe(failed.set)
        raise OperationalError("server closed the connection unexpectedly")

    wrappers = await sync_to_async(
        lambda: connection.execute_wrappers
    )()  # of the thread that speaks to the database
    wrappers.append(away)
    try:
        yield failed
    finally:
        wrappers.remove(away)


# ------------------------------------------------------------------------------------------------ the row
def test_one_of_two_takes_a_row(row: NamedLock) -> None:
    assert lease().take(holder="one")
    assert not lease().take(holder="two")
    assert ROWS.get().holder == "one"


def test_a_lease_that_ran_out_is_taken_over(row: NamedLock) -> None:
    mine = lease()
    assert mine.take()
    take_over()
    with pytest.raises(LeaseLostError):
        mine.renew(holder="me again")
    assert ROWS.get().holder == "other"


def test_a_lease_of_a_clock_that_was_set_back_is_taken_over(row: NamedLock) -> None:
    ahead = timezone.now() + timedelta(days=1)
    ROWS.update(lease_token=uuid.uuid4(), lease_expires_at=ahead)
    assert lease().take(holder="me")


def test_a_clock_that_jumps_ahead_leaves_its_holder_the_row_until_somebody_takes_it(
    row: NamedLock,
) -> None:
    mine = lease()
    assert mine.take(holder="me")
    ROWS.update(lease_expires_at=timezone.now() - timedelta(days=1))
    mine.renew()
    assert not lease().take(holder="other")


def test_a_late_holder_cannot_write(row: NamedLock) -> None:
    mine = lease()
    assert mine.take(holder="me")
    take_over()
    with pytest.raises(LeaseLostError), transaction.atomic():
        mine.check()
    assert not mine.release(holder="")
    assert not mine.held().update(holder="me") and ROWS.get().holder == "other"


# ------------------------------------------------------------------------------------------------ while it is held
async def renewed() -> None:
    before = (await ROWS.aget()).lease_expires_at
    while (await ROWS.aget()).lease_expires_at == before:
        await asyncio.sleep(0.05)


async def test_a_long_body_keeps_its_lease(row: NamedLock) -> None:
    mine = lease(3.0)
    assert await sync_to_async(mine.take)()
    async with hold(mine):
        await renewed()


async def test_a_lost_lease_ends_the_body(row: NamedLock) -> None:
    mine, ended = lease(0.6), False
    assert await sync_to_async(mine.take)()
    with pytest.raises(LeaseLostError):
        async with hold(mine):
            await sync_to_async(take_over)()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended = True
                raise
    assert ended and not asyncio.current_task().cancelling()  # type: ignore[union-attr]


async def test_a_body_that_swallows_its_end_is_told_all_the_same(row: NamedLock) -> None:
    mine = lease(0.6)
    assert await sync_to_async(mine.take)()
    with pytest.raises(LeaseLostError):
        async with hold(mine):
            await sync_to_async(take_over)()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)


async def test_a_database_that_is_away_for_a_moment_costs_nothing(row: NamedLock) -> None:
    mine = lease(6.0)
    assert await sync_to_async(mine.take)()
    async with hold(mine):
        async with database_away() as failed:
            await failed.wait()
        await renewed()


async def test_a_database_that_stays_away_ends_the_body(row: NamedLock) -> None:
    mine = lease(0.3)
    assert await sync_to_async(mine.take)()
    with pytest.raises(LeaseLostError) as raised:
        async with database_away(), hold(mine):
            await asyncio.sleep(60)
    assert isinstance(raised.value.__cause__, OperationalError)


async def test_a_stopped_process_notices_before_it_writes(row: NamedLock) -> None:
    mine, written = lease(0.1), False
    assert await sync_to_async(mine.take)()
    with pytest.raises(LeaseLostError):
        async with hold(mine):
            await sync_to_async(take_over)()
            time.sleep(0.2)  # nothing of this process runs, as after SIGSTOP
            await mine.aensure()
            written = True
    assert not written


# ------------------------------------------------------------------------------------------------ locks by name
def test_a_lock_by_name_has_one_holder_and_leaves_no_row() -> None:
    lock = NamedLease("feedback round", seconds=5.0)
    other = NamedLease("feedback round", seconds=5.0)
    assert lock.take()
    assert not other.take()
    assert lock_is_held("feedback round")
    assert lock.release()
    assert not lock_is_held("feedback round")
    assert not NamedLock.objects.exists()
    assert other.take()


def test_who_lost_a_lock_by_name_does_not_give_it_back() -> None:
    lock = NamedLease("feedback round", seconds=5.0)
    lock.take()
    NamedLock.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert NamedLease("feedback round", seconds=5.0).take()
    assert not lock.release()
    assert lock_is_held("feedback round")
