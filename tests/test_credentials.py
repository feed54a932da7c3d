"""Waiting for something as long as a credential holds: by the caller's own task, which is interrupted."""

from __future__ import annotations

import asyncio

import pytest

from ragsite.accounts.credentials import SignedOutError, _unless


async def test_what_the_work_gives_is_given() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert await _unless(ended, asyncio.sleep(0, "an event")) == "an event"


async def test_waiting_ends_with_the_credential() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(ended.set_result, None)
    with pytest.raises(SignedOutError):
        await _unless(ended, asyncio.Event().wait())
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    await asyncio.sleep(0)  # nothing of the interruption is left over


async def test_work_that_passes_its_cancellation_over_gives_nothing_more() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "an event"
        return ""

    asyncio.get_running_loop().call_soon(ended.set_result, None)
    with pytest.raises(SignedOutError):
        await _unless(ended, stubborn())
    await asyncio.sleep(0)


async def test_a_credential_that_has_ended_gives_nothing() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ended.set_result(None)
    with pytest.raises(SignedOutError):
        await _unless(ended, asyncio.sleep(0, "an event"))
    await asyncio.sleep(0)


async def test_work_that_need_not_wait_leaves_no_interruption_behind() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def at_once() -> str:
        ended.set_result(None)
        return "an event"

    with pytest.raises(SignedOutError):
        await _unless(ended, at_once())
    with pytest.raises(SignedOutError):
        await _unless(ended, at_once_again())
    await asyncio.sleep(0.01)


async def at_once_again() -> str:
    return "an event"


async def test_a_reader_that_goes_away_is_no_sign_out() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    reading = asyncio.ensure_future(_unless(ended, asyncio.Event().wait()))
    await asyncio.sleep(0)
    reading.cancel()
    ended.set_result(None)
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_what_the_work_raises_is_raised() -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    with pytest.raises(StopAsyncIteration):
        await _unless(ended, anext(_nothing()))
    assert not ended.cancelled()


async def _nothing():  # type: ignore[no-untyped-def]
    for event in ():
        yield event
