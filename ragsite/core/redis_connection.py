"""How connections to Redis are kept: one that has gone stale in its pool costs a new connection, and nothing else."""

from __future__ import annotations

from typing import Any

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
