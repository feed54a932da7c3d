"""How connections to Redis are kept: one that has gone stale in its pool costs a new connection, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError


def lasting_connection() -> dict[str, Any]:
    """Options of redis.asyncio's connections. Calls on them may be sent twice. A time-out is not tried again."""
    retry = Retry(
        ExponentialBackoff(cap=0.2, base=0.05), 2, supported_errors=(RedisConnectionError,)
    )
    return {"socket_connect_timeout": 5.0, "health_check_interval": 15, "retry": retry}


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
    pool.connection_class = type(
        "LastingConnection", (_HeedsCancellation, pool.connection_class), {}
    )
    return pool
