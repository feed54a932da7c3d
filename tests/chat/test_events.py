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


@pytest.mark.parametrize("after", [3, 99])
async def test_reader_ahead_of_a_finished_log_gets_nothing(log: EventLog, key: str, after: int) -> None:
    await log.append(key, event(1))
    await log.append(key, event(2, "error"))
    assert [item async for item in log.read(key, after=after, idle_s=0.02) if item] == []


async def test_readers_go_on_live_until_the_end(log: EventLog, key: str) -> None:
    await log.append(key, event(1))
    readers = [asyncio.create_task(read(log, key, after=after)) for after in (0, 1)]
    await asyncio.sleep(0.02)
    await log.append(key, event(2))
    await log.append(key, event(3, "done"))
    assert await asyncio.gather(*readers) == [[1, 2, 3], [2, 3]]


async def test_unknown_message_has_no_log(log: EventLog, key: str) -> None:
    with pytest.raises(EventLogGoneError):
        await anext(log.read(key, after=0, idle_s=1))


async def test_finished_logs_expire_and_running_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.runs.event_log.EVENT_LOG_TTL_S", 0)
    log = MemoryEventLog()
    await log.append("finished", event(1, "done"))
    await log.append("running", event(1))
    with pytest.raises(EventLogGoneError):
        await anext(log.read("finished", after=0, idle_s=1))
    assert await anext(log.read("running", after=0, idle_s=1)) == event(1)


async def test_oldest_finished_logs_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.runs.event_log.EVENT_LOG_ANSWERS", 2)
    log = MemoryEventLog()
    for name in ("a", "b", "c", "d"):
        await log.append(name, event(1, "done"))
    with pytest.raises(EventLogGoneError):
        await read(log, "a")
    assert await read(log, "d") == [1]


async def test_redis_that_is_away_holds_up_no_answer() -> None:
    log = RedisEventLog("redis://127.0.0.1:1/0")
    await log.append("key", event(1))
    with pytest.raises(EventLogGoneError):
        await anext(log.read("key", after=0, idle_s=1))
    await log.close()
