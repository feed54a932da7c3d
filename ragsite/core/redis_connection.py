"""How connections to Redis are kept: one that has gone stale in its pool costs a new connection, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

CONNECT_TIMEOUT_S = 5.0
HEALTH_CHECK_S = 15  # a connection that was idle for longer is tried before it is used
RETRIES, FIRST_PAUSE_S, LONGEST_PAUSE_S = 2, 0.05, 0.2


def lasting_connection() -> dict[str, Any]:
    """Options of redis.asyncio's connections. Calls on them may be sent twice. A time-out is not tried again."""
    backoff = ExponentialBackoff(cap=LONGEST_PAUSE_S, base=FIRST_PAUSE_S)
    return {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "health_check_interval": HEALTH_CHECK_S,
        "retry": Retry(backoff, RETRIES, supported_errors=(RedisConnectionError,)),
    }


class _HeedsCancellation:
    """redis-py sends under `asyncio.wait_for`. On Python 3.11 that loses a cancellation that comes as the sending ends.

    The cancelled task would then wait for Redis for ever, and with it whoever waits for its end.
    """

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        await super().send_packed_command(*args, **kwargs)  # type: ignore[misc]
        if task and task.cancelling() > before:
            await self.disconnect(nowait=True)  # type: ignore[attr-defined]  # nobody reads the reply
            raise asyncio.CancelledError


def heeding_cancellation(pool: ConnectionPool) -> ConnectionPool:
    """The same pool; a task that is cancelled while one of its connections sends ends."""
    pool.connection_class = type("LastingConnection", (_HeedsCancellation, pool.connection_class), {})
    return pool
