"""What an event log is; `chat.runs.events` has the one in memory, `chat.runs.redis_events` the one in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

Event = dict[str, Any]
FINAL_TYPES = frozenset({"done", "error"})
EVENT_LOG_TTL_S = 900  # how long a finished answer's events can be replayed
HEARTBEAT_S = 15.0  # a silent stream sends a comment at least this often


class EventLogGoneError(Exception):
    """There is no log of this message: never begun here, expired, or its server is away."""


class EventLog(Protocol):
    async def append(self, message_id: str, event: Event) -> None:
        """Store an event whose `seq` is one above the last, and wake the readers."""
        ...

    def read(self, message_id: str, *, after: int, idle_s: float) -> AsyncIterator[Event | None]:
        """Events with seq > after, then live ones until `done` or `error`; None whenever idle_s passed without any.

        Raises EventLogGoneError.
        """
        ...

    async def close(self) -> None: ...
