"""One writer at a time."""

from __future__ import annotations

import asyncio

import pytest

from retrieval.knowledge.index_sync.write_lease import write_lease

pytestmark = pytest.mark.django_db(transaction=True)


async def test_writers_of_a_space_take_turns() -> None:
    running, most = 0, 0

    async def write() -> None:
        nonlocal running, most
        async with write_lease("space"):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

    await asyncio.gather(*(write() for _ in range(4)))
    assert most == 1
