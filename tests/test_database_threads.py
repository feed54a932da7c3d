"""Database threads that are kept: one for each piece of work at a time, and no connection left open but where they are
kept."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from ragsite.core import database
from ragsite.core.database import own_database_thread


@pytest.fixture(autouse=True)
def _none_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_idle_threads", [])


async def thread() -> int:
    return await sync_to_async(threading.get_ident)()


async def idle(count: int) -> None:
    """Wait until so many threads have nothing to do any more."""
    async with asyncio.timeout(10):
        while len(database._idle_threads) < count:
            await asyncio.sleep(0.001)


async def test_all_calls_of_a_block_run_in_one_thread_which_the_next_block_has() -> None:
    async with own_database_thread():
        first = [await thread() for _ in range(2)]
    await idle(1)
    async with own_database_thread():
        assert {*first, await thread()} == {first[0]}


async def test_blocks_side_by_side_have_threads_of_their_own() -> None:
    both_inside = asyncio.Barrier(2)

    async def block() -> int:
        async with own_database_thread():
            await both_inside.wait()
            return await thread()

    left, right = await asyncio.gather(block(), block())
    assert left != right


async def test_nobody_waits_behind_a_call_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_keeps_connections", lambda: True)
    begun, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        go_on.wait(20)

    async def block() -> None:
        async with own_database_thread():
            await sync_to_async(hang)()

    given_up = asyncio.create_task(block())
    try:
        await asyncio.to_thread(begun.wait, 10)
        given_up.cancel()
        await asyncio.wait([given_up], timeout=0.2)
        async with asyncio.timeout(10), own_database_thread():
            assert await thread()
    finally:
        go_on.set()
    await asyncio.wait([given_up])


async def test_no_more_than_a_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "THREADS_KEPT", 1)
    async with own_database_thread(), own_database_thread():
        assert await thread()
    await idle(1)
    assert len(database._idle_threads) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_connection_is_closed_where_none_is_kept() -> None:
    def is_open() -> bool:
        return connection.connection is not None

    async with own_database_thread():
        await sync_to_async(lambda: connection.ensure_connection())()
        assert await sync_to_async(is_open)()
    await idle(1)
    async with own_database_thread():
        assert not await sync_to_async(is_open)()


@pytest.mark.django_db(transaction=True)
async def test_a_connection_is_kept_with_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_keeps_connections", lambda: True)

    def opened() -> object:
        connection.ensure_connection()
        return connection.connection

    async with own_database_thread():
        first = await sync_to_async(opened)()
    await idle(1)
    async with own_database_thread():
        assert await sync_to_async(opened)() is first
        await sync_to_async(lambda: connection.close())()
