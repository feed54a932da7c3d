"""The event log, in memory and (where a Redis is given) in Redis."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from chat.runs.event_log import Event, EventLog, EventLogGoneError, MemoryEventLog, RedisEventLog

REDIS_URL = os.environ.get("RAGSITE_TEST_REDIS_URL", "")


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
async def log(request: Any) -> AsyncIterator[EventLog]:
    if request.param == "redis" and not REDIS_URL:
        pytest.skip("RAGSITE_TEST_REDIS_URL is not set")
    log = RedisEventLog(REDIS_URL) if request.param == "redis" else MemoryEventLog()
    yield log
    await log.close()


def event(seq: int, type_: str = "chunk") -> Event:
    return {"type": type_, "seq": seq, "content": f"piece {seq} 书"}


async def read(log: EventLog, key: str, *, after: int = 0) -> list[int]:
    return [item["seq"] async for item in log.read(key, after=after, idle_s=5) if item]


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


async def test_replay_from_any_point(log: EventLog, key: str) -> None:
    for seq in (1, 2):
        await log.append(key, event(seq))
    await log.append(key, event(3, "done"))
    assert [await read(log, key, after=after) for after in (0, 1, 2)] == [[1, 2, 3], [2, 3], [3]]


async def test_readers_go_on_live_until_the_end(log: EventLog, key: str) -> None:
    await log.append(key, event(1))
    readers = [asyncio.create_task(read(log, key, after=after)) for after in (0, 1)]
    await asyncio.sleep(0.02)
    await log.append(key, event(2))
    await log.append(key, event(3, "done"))
    assert await asyncio.gather(*readers) == [[1, 2, 3], [2, 3]]


async def test_redis_that_is_away_holds_up_no_answer() -> None:
    log = RedisEventLog("redis://127.0.0.1:1/0")
    await log.append("key", event(1))
    with pytest.raises(EventLogGoneError):
        await anext(log.read("key", after=0, idle_s=1))
    await log.close()
