"""The event log in Redis: one stream per message, whose entry ids are the events' numbers.

Its writer keeps an answer's events until they are all there. Whatever Redis lost meanwhile (a connection, a restart, a
flush) is written again, in order and each event once, so that readers go on from where they were.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chat.runs import event_log
from chat.runs.event_log import FINAL_TYPES, Event, EventLogGoneError
from ragsite.core.redis_connection import heeding_cancellation, lasting_connection

logger = logging.getLogger(__name__)

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
    """Shared by all processes of a site. A stream lives EVENT_LOG_TTL_S beyond its last event.

    When Redis is away, a run goes on without its log: its readers are served from the database in the end.
    """

    def __init__(self, url: str) -> None:
        self._ttl_s = event_log.EVENT_LOG_TTL_S
        # Readers block on their connection for up to a heartbeat.
        longest_s = event_log.HEARTBEAT_S + CALL_TIMEOUT_S
        self._reader: Redis = Redis.from_url(url, socket_timeout=longest_s, **lasting_connection())
        self._writer: Redis = Redis.from_url(url, socket_timeout=CALL_TIMEOUT_S, **lasting_connection())
        for client in (self._reader, self._writer):
            heeding_cancellation(client.connection_pool)
        self._append = self._writer.register_script(APPEND)
        self._journals: dict[str, _Journal] = {}
        self._mender: asyncio.Task[None] | None = None

    async def append(self, message_id: str, event: Event) -> None:
        """On return the event is in the log, or will be as soon as Redis is back: a run is held up for one attempt."""
        journal = self._journals.setdefault(message_id, _Journal())
        journal.events.append(json.dumps(event, ensure_ascii=False))
        if event["type"] in FINAL_TYPES:
            journal.finished_at = time.monotonic()
        if self._mender and not self._mender.done():
            return
        try:
            await self._write(message_id, journal)
        except (RedisError, OSError) as error:
            logger.warning("event %s of message %s is not in the log yet: %s", event["seq"], message_id, error)
            self._mender = asyncio.create_task(self._mend())

    async def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        key = PREFIX + message_id
        try:
            if not await self._reader.exists(key):
                raise EventLogGoneError(message_id)
            last = max(0, after)
            while True:
                entries = await self._next(key, last, idle_s)
                if not entries:
                    newest = await self._newest(key)
                    if newest is None:  # expired or flushed under its reader
                        raise EventLogGoneError(message_id)
                    if newest["type"] in FINAL_TYPES:
                        return
                    yield None
                for event in entries:
                    last = event["seq"]
                    yield event
                    if event["type"] in FINAL_TYPES:
                        return
        except (RedisError, OSError) as error:
            raise EventLogGoneError(message_id) from error

    async def close(self) -> None:
        """What Redis does not have yet gets one more attempt."""
        if self._mender:
            self._mender.cancel()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._write_all()
        except (RedisError, OSError) as error:  # OSError: TimeoutError too
            logger.warning("the last events of %d answers are not in the log: %s", len(self._journals), error)
        await self._reader.aclose()
        await self._writer.aclose()

    # -------------------------------------------------------------------------------------------- writing
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

    async def _mend(self) -> None:
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
        """Nobody comes for the events of an answer that ended long ago."""
        expired_before = time.monotonic() - self._ttl_s
        for message_id, journal in list(self._journals.items()):
            if journal.finished_at is not None and journal.finished_at < expired_before:
                del self._journals[message_id]

    # -------------------------------------------------------------------------------------------- reading
    async def _next(self, key: str, last: int, idle_s: float) -> list[Event]:
        reply: Any = await self._reader.xread({key: f"{last}-0"}, count=READ_AT_ONCE, block=max(1, int(idle_s * 1000)))
        entries = [
            entry for _, stream in (reply.items() if isinstance(reply, dict) else reply or ()) for entry in stream
        ]
        return [_event(fields) for _, fields in entries]

    async def _newest(self, key: str) -> Event | None:
        entries: Any = await self._reader.xrevrange(key, count=1)
        return _event(entries[0][1]) if entries else None


def _event(fields: dict[bytes, bytes]) -> Event:
    event: Event = json.loads(fields[b"event"])
    return event
