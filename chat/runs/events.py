"""The event log: everything an answer has sent, numbered, so that any subscriber can read it from any point.

One writer (the answer's run) appends; any number of readers follow at their own pace, so that a slow client holds up
neither the run nor the others. Two logs: in this process, or in Redis where several processes serve one site.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings

from chat.runs import event_log
from chat.runs.event_log import FINAL_TYPES, Event, EventLog, EventLogGoneError
from chat.runs.redis_events import RedisEventLog

EVENT_LOG_ANSWERS = 500  # finished answers whose events one process keeps
EVENT_LOG_MIB = 64  # memory that these may take together

MIB = 1024 * 1024


@dataclass(slots=True)
class _Record:
    events: list[Event] = field(default_factory=list)
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    bytes: int = 0
    finished_at: float | None = None


class MemoryEventLog:
    """The log of one process.

    Of finished answers it keeps EVENT_LOG_ANSWERS and EVENT_LOG_MIB at most, for EVENT_LOG_TTL_S; readers of the
    others are served from the database.
    """

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    async def append(self, message_id: str, event: Event) -> None:
        record = self._records.get(message_id)
        if record is None:
            self._forget_old()
            record = self._records[message_id] = _Record()
        record.events.append(event)
        record.bytes += _size(event, set())
        if event["type"] in FINAL_TYPES:
            record.finished_at = time.monotonic()
            self._forget_old()
        # Readers wait on the event that was current when they last looked.
        grown, record.grown = record.grown, asyncio.Event()
        grown.set()

    async def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        self._forget_old()
        record = self._records.get(message_id)
        if record is None:
            raise EventLogGoneError(message_id)
        position = max(0, after)
        while True:
            grown = record.grown
            while position < len(record.events):
                position += 1
                yield record.events[position - 1]
            if record.finished_at is not None and position >= len(record.events):
                return
            try:
                await asyncio.wait_for(grown.wait(), idle_s)
            except TimeoutError:
                yield None

    async def close(self) -> None:
        self._records.clear()

    def _forget_old(self) -> None:
        """Drop expired logs, and the oldest finished ones over a limit. Records stand in the order of their start."""
        expired_before = time.monotonic() - event_log.EVENT_LOG_TTL_S
        finished = [(key, record) for key, record in self._records.items() if record.finished_at is not None]
        surplus = len(finished) - EVENT_LOG_ANSWERS
        held = sum(record.bytes for _, record in finished)
        for number, (key, record) in enumerate(finished):
            over = number < surplus or held > EVENT_LOG_MIB * MIB
            if over or (record.finished_at or 0.0) < expired_before:
                del self._records[key]
                held -= record.bytes


def _size(value: Any, counted: set[int]) -> int:
    """Bytes in memory; what an event holds twice, as `done` holds the sources, is counted once."""
    if id(value) in counted:
        return 0
    counted.add(id(value))
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(_size(item, counted) for item in value.values())
    if isinstance(value, list):
        return sys.getsizeof(value) + sum(_size(item, counted) for item in value)
    return sys.getsizeof(value)


_logs: WeakKeyDictionary[asyncio.AbstractEventLoop, EventLog] = WeakKeyDictionary()


def get_event_log() -> EventLog:
    """The running loop's log: Redis where REDIS_URL is set, else this process's memory."""
    loop = asyncio.get_running_loop()
    if loop not in _logs:
        _logs[loop] = RedisEventLog(settings.REDIS_URL) if settings.REDIS_URL else MemoryEventLog()
    return _logs[loop]


async def close_event_log() -> None:
    if log := _logs.pop(asyncio.get_running_loop(), None):
        await log.close()
