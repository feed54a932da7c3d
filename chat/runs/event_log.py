"""The event log: everything an answer has sent, numbered, so that any reader can read it from any point.

One writer (the answer's run) appends; any number of readers follow at their own pace, so that a slow client holds up
neither the run nor the others. Two logs: in this process, or in Redis where several processes serve one site. A process
that takes an answer over claims its log first (`RedisEventLog.claim`): what the former writer, which may only have been
slow, sends from then on is not taken, so that nobody reads words that the answer does not have.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from ragsite.core.redis_connection import heeding_cancellation, lasting_connection

logger = logging.getLogger(__name__)

Event = dict[str, Any]
FINAL_TYPES = frozenset({"done", "error"})
HEARTBEAT_S = 15.0  # a silent stream sends a comment at least this often


class EventLogGoneError(Exception):
    """There is no log of this message: never begun here, expired, or its server is away."""


# ------------------------------------------------------------------------------------------------ in this process
FINISHED_KEPT = 200  # answers; readers of older ones are served from the database


@dataclass(slots=True)
class _Record:
    events: list[Event] = field(default_factory=list)
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    finished: bool = False


class MemoryEventLog:
    """The log of one process."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    async def append(self, message_id: str, event: Event, *, writer: str = "") -> None:
        """Store an event and wake the readers. `seq` is one above the last; 1 starts a new log. writer: the only
        one, as this process takes nothing over from another."""
        if event["seq"] == 1:
            self._records.pop(message_id, None)
        record = self._records.setdefault(message_id, _Record())
        record.events.append(event)
        if event["type"] in FINAL_TYPES:
            record.finished = True
            finished = [
                key for key, record in self._records.items() if record.finished
            ]  # in order of their beginning
            for key in finished[:-FINISHED_KEPT]:
                del self._records[key]
        # Readers wait on the event that was current when they last looked.
        grown = record.grown
        record.grown = asyncio.Event()
        grown.set()

    async def read(
        self, message_id: str, *, after: int, idle_s: float
    ) -> AsyncIterator[Event | None]:
        """Events with seq > after, then live ones until `done` or `error`; None whenever idle_s passed without any.

        Raises EventLogGoneError.
        """
        record = self._records.get(message_id)
        if record is None:
            raise EventLogGoneError(message_id)
        position = max(0, after)
        while True:
            grown = record.grown
            while position < len(record.events):
                position += 1
                yield record.events[position - 1]
            if record.finished:
                return
            try:
                async with asyncio.timeout(
                    idle_s
                ):  # unlike `wait_for`, without a task for each event
                    await grown.wait()
            except TimeoutError:
                yield None

    async def whole(self, message_id: str) -> list[Event]:
        """Every event so far; none where there is no log."""
        record = self._records.get(message_id)
        return list(record.events) if record else []

    async def claim(self, message_id: str, *, writer: str) -> None:
        """Nobody else writes it."""

    async def close(self) -> None:
        self._records.clear()


# ------------------------------------------------------------------------------------------------ in Redis
PREFIX = "ragsite:events:"
KEPT_S = 900  # after the last event
CALL_TIMEOUT_S = 5.0
READ_AT_ONCE = 500
CLAIMED = "CLAIMED"  # the reply to a writer whose log belongs to another one by now

# KEYS: the stream, the name of its writer where one has claimed it. ARGV: writer, number of the event, the event,
# seconds that both are kept. Nothing is added to a stream that was flushed: its beginning is lost.
APPEND = f"""
local holder = redis.call('GET', KEYS[2])
if ARGV[2] == '1' then
    redis.call('DEL', KEYS[1])
    if holder ~= ARGV[1] then
        redis.call('DEL', KEYS[2])
        holder = false
    end
end
if holder and holder ~= ARGV[1] then
    return '{CLAIMED}'
end
if ARGV[2] == '1' then
    redis.call('XADD', KEYS[1], ARGV[2] .. '-0', 'event', ARGV[3])
else
    redis.call('XADD', KEYS[1], 'NOMKSTREAM', ARGV[2] .. '-0', 'event', ARGV[3])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[4])
return 'OK'
"""
# KEYS and the first of ARGV as above.
DELETE = """
local holder = redis.call('GET', KEYS[2])
if not holder or holder == ARGV[1] then
    redis.call('DEL', KEYS[1], KEYS[2])
end
return 'OK'
"""


class RedisEventLog:
    """The same, shared by all processes of a site: one stream per message, whose entry ids are the events' numbers.

    A stream is whole or it is not there: where Redis was flushed or did not take an event, nothing more of that answer
    is written. Its run goes on without a log, and its readers get the end from the database.
    """

    def __init__(self, url: str) -> None:
        # Readers block on their connection for up to a heartbeat.
        longest_s = HEARTBEAT_S + CALL_TIMEOUT_S
        self._reader: Redis = Redis.from_url(url, socket_timeout=longest_s, **lasting_connection())
        self._writer: Redis = Redis.from_url(
            url, socket_timeout=CALL_TIMEOUT_S, **lasting_connection()
        )
        for client in (self._reader, self._writer):
            heeding_cancellation(client.connection_pool)
        self._append = self._writer.register_script(APPEND)
        self._delete = self._writer.register_script(DELETE)
        self._broken: set[str] = set()

    async def append(self, message_id: str, event: Event, *, writer: str = "") -> None:
        """A run is held up for one attempt. writer: the name by which it claimed the log; empty: it began it."""
        is_last = event["type"] in FINAL_TYPES
        if event["seq"] == 1:
            self._broken.discard(message_id)
        try:
            if message_id not in self._broken:
                await self._add(message_id, event, writer)
            elif is_last:  # a beginning without its end
                await self._delete(keys=_keys(message_id), args=[writer])
        except (RedisError, OSError) as error:
            logger.warning(
                "message %s has no log from event %s on: %s", message_id, event["seq"], error
            )
            self._broken.add(message_id)
        if is_last:
            self._broken.discard(message_id)

    async def _add(self, message_id: str, event: Event, writer: str) -> None:
        text = json.dumps(event, ensure_ascii=False)
        try:
            reply: Any = await self._append(
                keys=_keys(message_id), args=[writer, event["seq"], text, KEPT_S]
            )
        except ResponseError as error:
            # Sent twice, because the first reply was lost: the stream has the event already.
            if "equal or smaller" in str(error):
                return
            raise
        if reply == CLAIMED.encode():
            logger.info("message %s is written by another process", message_id)
            self._broken.add(message_id)

    async def claim(self, message_id: str, *, writer: str) -> None:
        """From now on nobody else's events are taken. Raises EventLogGoneError where Redis can't be asked."""
        _, claimed = _keys(message_id)
        self._broken.discard(message_id)  # a run of this process may have lost it before
        try:
            await self._writer.set(claimed, writer, ex=KEPT_S)
        except (RedisError, OSError) as error:
            raise EventLogGoneError(message_id) from error

    async def read(
        self, message_id: str, *, after: int, idle_s: float
    ) -> AsyncIterator[Event | None]:
        key, _ = _keys(message_id)
        block_ms = max(1, int(idle_s * 1000))
        try:
            if not await self._reader.exists(key):
                raise EventLogGoneError(message_id)
            last = max(0, after)
            while True:
                reply: Any = await self._reader.xread(
                    {key: f"{last}-0"}, count=READ_AT_ONCE, block=block_ms
                )
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

    async def whole(self, message_id: str) -> list[Event]:
        """Raises EventLogGoneError where Redis can't be asked."""
        try:
            entries: Any = await self._writer.xrange(_keys(message_id)[0])
        except (RedisError, OSError) as error:
            raise EventLogGoneError(message_id) from error
        return [_event(fields) for _, fields in entries]

    async def subscribers(self, channel: str) -> int:
        """How many connections listen to it. Raises EventLogGoneError where Redis can't be asked."""
        try:
            counted: Any = await self._writer.pubsub_numsub(channel)
        except (RedisError, OSError) as error:
            raise EventLogGoneError(channel) from error
        return int(counted[0][1])

    async def close(self) -> None:
        await self._reader.aclose()
        await self._writer.aclose()


def _keys(message_id: str) -> list[str]:
    """In one slot of a cluster."""
    return [f"{PREFIX}{{{message_id}}}", f"{PREFIX}{{{message_id}}}:writer"]


def _event(fields: dict[bytes, bytes]) -> Event:
    event: Event = json.loads(fields[b"event"])
    return event


# ------------------------------------------------------------------------------------------------ the one in use
EventLog = MemoryEventLog | RedisEventLog
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
