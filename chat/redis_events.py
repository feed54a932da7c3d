"""The event log in Redis: one stream per message, whose entry ids are the events' numbers."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chat.event_log import FINAL_TYPES, Event, EventLogGoneError
from ragsite.rag_settings import LimitSettings

logger = logging.getLogger(__name__)

PREFIX = "ragsite:events:"
CALL_TIMEOUT_S = 5.0
READ_AT_ONCE = 500


class RedisEventLog:
    """Shared by all processes of a site. A stream lives `event_log_ttl_s` beyond its last event.

    When Redis is away, a run goes on without its log: its readers are served from the database in the end.
    """

    def __init__(self, url: str, limits: LimitSettings) -> None:
        self._ttl_s = limits.event_log_ttl_s
        # Readers block on their connection for up to a heartbeat.
        self._redis: Redis = Redis.from_url(
            url, socket_connect_timeout=CALL_TIMEOUT_S, socket_timeout=limits.heartbeat_s + CALL_TIMEOUT_S
        )

    async def append(self, message_id: str, event: Event) -> None:
        key = PREFIX + message_id
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.xadd(key, {"event": json.dumps(event, ensure_ascii=False)}, id=f"{event['seq']}-0")
                pipe.expire(key, self._ttl_s)
                await pipe.execute()
        except RedisError as error:
            logger.warning("event %s of message %s is not in the log: %s", event["seq"], message_id, error)

    async def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        key = PREFIX + message_id
        try:
            if not await self._redis.exists(key):
                raise EventLogGoneError(message_id)
            last = max(0, after)
            while True:
                entries = await self._next(key, last, idle_s)
                if not entries:
                    if await self._is_finished(key):
                        return
                    yield None
                for event in entries:
                    last = event["seq"]
                    yield event
                    if event["type"] in FINAL_TYPES:
                        return
        except RedisError as error:
            raise EventLogGoneError(message_id) from error

    async def close(self) -> None:
        await self._redis.aclose()

    async def _next(self, key: str, last: int, idle_s: float) -> list[Event]:
        reply: Any = await self._redis.xread({key: f"{last}-0"}, count=READ_AT_ONCE, block=max(1, int(idle_s * 1000)))
        entries = [
            entry for _, stream in (reply.items() if isinstance(reply, dict) else reply or ()) for entry in stream
        ]
        return [_event(fields) for _, fields in entries]

    async def _is_finished(self, key: str) -> bool:
        """Whether the last entry ends the message, or the stream has expired under a reader that is ahead of it."""
        newest: Any = await self._redis.xrevrange(key, count=1)
        return not newest or _event(newest[0][1])["type"] in FINAL_TYPES


def _event(fields: dict[bytes, bytes]) -> Event:
    event: Event = json.loads(fields[b"event"])
    return event
