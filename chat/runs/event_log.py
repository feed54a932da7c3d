"""The event log: everything an answer has sent, numbered, so that any reader can read it from any point.

One writer (the answer's run) appends; any number of readers follow at their own pace, so that a slow client holds up
neither the run nor the others. Two logs: in this process, or in Redis where several processes serve one site.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from ragsite.core.redis_connection import heeding_cancellation, lasting_connection

logger = logging.getLogger(__name__)

Event = dict[str, Any]
FINAL_TYPES = frozenset({"done", "error"})
EVENT_LOG_TTL_S = 900  # how long a finished answer's events can be replayed
HEARTBEAT_S = 15.0  # a silent stream sends a comment at least this often


class EventLogGoneError(Exception):
    """There is no log of this message: never begun here, expired, or its server is away."""


class EventLog(Protocol):
    """Keeps the events of each answer under the id of its message."""

    async def begin(self, message_id: str) -> None:
        """Forget the events of an answer that goes on: its events are numbered from 1 again."""
        ...

    async def append(self, message_id: str, event: Event) -> None:
        """Store an event whose `seq` is one above the last, and wake the readers."""
        ...

    def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        """Events with seq > after, then live ones until `done` or `error`; None whenever idle_s passed without any.

        Raises EventLogGoneError.
        """
        ...

    async def close(self) -> None: ...


# ------------------------------------------------------------------------------------------------ in this process
EVENT_LOG_ANSWERS = 500  # finished answers whose events one process keeps
EVENT_LOG_MIB = 64  # memory that these may take together
MIB = 1024 * 1024
BYTES_PER_FIELD = 100  # of an event, beside its text


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

    async def begin(self, message_id: str) -> None:
        self._records.pop(message_id, None)

    async def append(self, message_id: str, event: Event) -> None:
        record = self._records.get(message_id)
        if record is None:
            self._forget_old()
            record = self._records[message_id] = _Record()
        record.events.append(event)
        record.bytes += _size(event)
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
                async with asyncio.timeout(idle_s):  # unlike `wait_for`, without a task for each event
                    await grown.wait()
            except TimeoutError:
                yield None

    async def close(self) -> None:
        self._records.clear()

    def _forget_old(self) -> None:
        """Drop expired logs, and the oldest finished ones over a limit. Records stand in the order of their start."""
        expired_before = time.monotonic() - EVENT_LOG_TTL_S
        finished = [(key, record) for key, record in self._records.items() if record.finished_at is not None]
        surplus = len(finished) - EVENT_LOG_ANSWERS
        held = sum(record.bytes for _, record in finished)
        for number, (key, record) in enumerate(finished):
            over = number < surplus or held > EVENT_LOG_MIB * MIB
            if over or (record.finished_at or 0.0) < expired_before:
                del self._records[key]
                held -= record.bytes


def _size(event: Event) -> int:
    """Bytes in memory, about: its texts, and what holds them. JSON is written by compiled code; looking at every value
    by itself took a twentieth of an answer's processor time."""
    text = json.dumps(event, ensure_ascii=False, default=str)
    return sys.getsizeof(text) + BYTES_PER_FIELD * text.count('": ')


# ------------------------------------------------------------------------------------------------ in Redis
PREFIX = "ragsite:events:"
CALL_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 1.0
READ_AT_ONCE = 500
WRITE_AT_ONCE = 200
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0  # between attempts to write what Redis did not take

# Appends the events that the stream lacks. Returns the number of its last event: below `first - 1` it has lost some,
# and nothing was written. Events that are there already are passed over, so that it may be called twice.
APPEND = """
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local last = newest[1] and tonumber(string.match(newest[1][1], '^%d+')) or 0
local first = tonumber(ARGV[2])
if last < first - 1 then return last end
for position = 3, #ARGV do
  local seq = first + position - 3
  if seq > last then
    redis.call('XADD', KEYS[1], string.format('%d-0', seq), 'event', ARGV[position])
    last = seq
  end
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return last
"""


@dataclass(slots=True)
class _Journal:
    """An answer's events as JSON; the first is number 1. `written`: how many Redis was seen to have."""

    events: list[str] = field(default_factory=list)
    written: int = 0
    finished_at: float | None = None
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class RedisEventLog:
    """The log that all processes of a site share: one stream per message, whose entry ids are the events' numbers.

    A stream lives EVENT_LOG_TTL_S beyond its last event. The writer keeps an answer's events until Redis has all of
    them; what Redis lost meanwhile (a connection, a restart, a flush) is written again, in order and each event once,
    so that readers go on from where they were. While Redis is away a run goes on without its log: its readers are
    served from the database in the end.
    """

    def __init__(self, url: str) -> None:
        self._ttl_s = EVENT_LOG_TTL_S
        # Readers block on their connection for up to a heartbeat.
        longest_s = HEARTBEAT_S + CALL_TIMEOUT_S
        self._reader: Redis = Redis.from_url(url, socket_timeout=longest_s, **lasting_connection())
        self._writer: Redis = Redis.from_url(url, socket_timeout=CALL_TIMEOUT_S, **lasting_connection())
        for client in (self._reader, self._writer):
            heeding_cancellation(client.connection_pool)
        self._append = self._writer.register_script(APPEND)
        self._journals: dict[str, _Journal] = {}
        self._retrying: asyncio.Task[None] | None = None

    async def begin(self, message_id: str) -> None:
        self._journals.pop(message_id, None)
        try:
            await self._writer.delete(PREFIX + message_id)
        except (RedisError, OSError) as error:  # then a reader may get the old events, whose end is the old answer
            logger.warning("the old events of message %s are still in the log: %s", message_id, error)

    async def append(self, message_id: str, event: Event) -> None:
        """On return the event is in the log, or will be as soon as Redis is back: a run is held up for one attempt."""
        journal = self._journals.setdefault(message_id, _Journal())
        journal.events.append(json.dumps(event, ensure_ascii=False))
        if event["type"] in FINAL_TYPES:
            journal.finished_at = time.monotonic()
        if self._retrying and not self._retrying.done():
            return
        try:
            await self._write(message_id, journal)
        except (RedisError, OSError) as error:
            logger.warning("event %s of message %s is not in the log yet: %s", event["seq"], message_id, error)
            self._retrying = asyncio.create_task(self._retry())

    async def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        key, block_ms = PREFIX + message_id, max(1, int(idle_s * 1000))
        try:
            if not await self._reader.exists(key):
                raise EventLogGoneError(message_id)
            last = max(0, after)
            while True:
                reply: Any = await self._reader.xread({key: f"{last}-0"}, count=READ_AT_ONCE, block=block_ms)
                streams = reply.items() if isinstance(reply, dict) else reply or ()
                events = [_event(fields) for _, stream in streams for _, fields in stream]
                if not events:
                    newest: Any = await self._reader.xrevrange(key, count=1)
                    if not newest:  # expired or flushed under its reader
                        raise EventLogGoneError(message_id)
                    if _event(newest[0][1])["type"] in FINAL_TYPES:
                        return
                    yield None
                for event in events:
                    last = event["seq"]
                    yield event
                    if event["type"] in FINAL_TYPES:
                        return
        except (RedisError, OSError) as error:
            raise EventLogGoneError(message_id) from error

    async def close(self) -> None:
        """What Redis does not have yet gets one more attempt."""
        if self._retrying:
            self._retrying.cancel()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._write_all()
        except (RedisError, OSError) as error:  # OSError: TimeoutError too
            logger.warning("the last events of %d answers are not in the log: %s", len(self._journals), error)
        await self._reader.aclose()
        await self._writer.aclose()

    async def _write(self, message_id: str, journal: _Journal) -> None:
        async with journal.writing:
            while journal.written < len(journal.events):
                missing = journal.events[journal.written : journal.written + WRITE_AT_ONCE]
                last = await self._append(keys=[PREFIX + message_id], args=[self._ttl_s, journal.written + 1, *missing])
                journal.written = int(last)
        if journal.finished_at is not None:
            self._journals.pop(message_id, None)

    async def _write_all(self) -> None:
        while missing := [item for item in self._journals.items() if item[1].written < len(item[1].events)]:
            for message_id, journal in missing:
                await self._write(message_id, journal)

    async def _retry(self) -> None:
        """Write what is missing as soon as Redis takes it; also the last event of an answer, which none follows."""
        pause_s = FIRST_PAUSE_S
        while True:
            await asyncio.sleep(pause_s)
            try:
                await self._write_all()
            except (RedisError, OSError):
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                self._forget_expired()
            else:
                return

    def _forget_expired(self) -> None:
        """Forget the events of answers that ended long ago: no reader asks for them any more."""
        expired_before = time.monotonic() - self._ttl_s
        for message_id, journal in list(self._journals.items()):
            if journal.finished_at is not None and journal.finished_at < expired_before:
                del self._journals[message_id]


def _event(fields: dict[bytes, bytes]) -> Event:
    event: Event = json.loads(fields[b"event"])
    return event


# ------------------------------------------------------------------------------------------------ the one in use
_logs: WeakKeyDictionary[asyncio.AbstractEventLoop, EventLog] = WeakKeyDictionary()


def get_event_log() -> EventLog:
    """The running loop's log: Redis where REDIS_URL is set, else this process's memory."""
    loop = asyncio.get_running_loop()
    if loop not in _logs:
        _logs[loop] = RedisEventLog(settings.REDIS_URL) if settings.REDIS_URL else MemoryEventLog()
    return _logs[loop]


async def close_event_log() -> None:
    """Close the running loop's log; the next `get_event_log` makes a new one."""
    if log := _logs.pop(asyncio.get_running_loop(), None):
        await log.close()
