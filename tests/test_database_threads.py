"""Database threads: one for each piece of work, and no connection left open."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, transaction

from ragsite.core.database import after_commit, own_database_thread


async def thread() -> int:
    return await sync_to_async(threading.get_ident)()


async def test_nobody_waits_behind_a_call_that_was_given_up() -> None:
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
def test_what_fails_after_a_commit_is_logged_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Django names it by what a partial lacks."""
    called: list[int] = []

    def first(number: int) -> None:
        raise OperationalError("the database is gone")

    with transaction.atomic():
        after_commit(first, 1)
        after_commit(called.append, 2)
    assert called == [2]
    assert "the database is gone" in caplog.text
