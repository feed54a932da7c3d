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


async def test_all_calls_of_a_block_run_in_one_thread_which_the_next_block_has() -> None:
    async with own_database_thread():
        first = [await thread() for _ in range(2)]
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


async def test_no_more_than_a_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "THREADS_KEPT", 1)
    async with own_database_thread(), own_database_thread():
        assert await thread()
    assert len(database._idle_threads) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_connection_is_closed_where_none_is_kept() -> None:
    def is_open() -> bool:
        return connection.connection is not None

    async with own_database_thread():
        await sync_to_async(lambda: connection.ensure_connection())()
        assert await sync_to_async(is_open)()
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
    async with own_database_thread():
        assert await sync_to_async(opened)() is first
        await sync_to_async(lambda: connection.close())()
