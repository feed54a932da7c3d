"""One writer at a time."""

from __future__ import annotations

import asyncio

import pytest

from retrieval.errors import IndexUnavailableError
from retrieval.models import WriteLease
from retrieval.services.write_lease import write_lease

pytestmark = pytest.mark.django_db(transaction=True)


async def take_over() -> None:
    await WriteLease.objects.aupdate(lease_token="00000000-0000-4000-8000-000000000000", holder="other")


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


async def test_spaces_do_not_wait_for_each_other() -> None:
    async with write_lease("one", wait_s=0), write_lease("two", wait_s=0):
        assert await WriteLease.objects.acount() == 2


async def test_waiting_has_an_end() -> None:
    async with write_lease("space"):
        with pytest.raises(IndexUnavailableError, match="busy"):
            async with write_lease("space", wait_s=0.05):
                pass


async def test_a_writer_that_lost_its_lease_stops() -> None:
    with pytest.raises(IndexUnavailableError, match="Another process"):
        async with write_lease("space", lease_s=0.6):
            await take_over()
            await asyncio.sleep(60)
    assert (await WriteLease.objects.aget()).holder == "other"
