"""The channel layer in Redis, so that it outlives its server.

channels_redis keeps the members of a group in Redis alone, and ends a consumer whose wait for messages fails. Here each
process remembers which of its channels are in which groups, and puts them back where the server has lost them; and a
wait that fails goes on as soon as the server is there again.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from typing import Any
from weakref import WeakKeyDictionary

from channels_redis.core import RedisChannelLayer
from channels_redis.utils import create_pool
from redis.exceptions import RedisError

from ragsite.core.redis_connection import heeding_cancellation, lasting_connection

logger = logging.getLogger(__name__)

RESTORED = "groups.restored"
WATCH_S = 2.0  # how often the server is looked at, once per process
MARK = "ragsite:channel-layer"  # goes with a flush; another run_id tells of a restart
RECEIVE_AGAIN_S = 1.0
REDIS_AWAY = (RedisError, OSError)


class LastingRedisChannelLayer(RedisChannelLayer):
    """`channels_redis`'s layer. A channel whose groups were put back gets `{"type": "groups.restored", "since"}`.

    `since`: seconds since the epoch when the groups were last seen whole; what was sent to them after that may be lost.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._members: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], None]] = WeakKeyDictionary()
        self._watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = WeakKeyDictionary()

    def create_pool(self, index: int) -> Any:
        return heeding_cancellation(create_pool({**lasting_connection(), **self.hosts[index]}))

    async def group_add(self, group: str, channel: str) -> None:
        """Where Redis is away, the channel is added as soon as it is back."""
        loop = asyncio.get_running_loop()
        members = self._members.setdefault(loop, {})
        members[group, channel] = None
        known = await self._try(super().group_add(group, channel))
        watcher = self._watchers.get(loop)
        if watcher is None or watcher.done():
            self._watchers[loop] = asyncio.create_task(self._watch(members, whole=known))
        elif not known:
            watcher.cancel()
            self._watchers[loop] = asyncio.create_task(self._watch(members, whole=False))

    async def group_discard(self, group: str, channel: str) -> None:
        self._members.get(asyncio.get_running_loop(), {}).pop((group, channel), None)
        await self._try(super().group_discard(group, channel))

    async def receive(self, channel: str) -> Any:
        failing = False
        while True:
            try:
                return await super().receive(channel)
            except REDIS_AWAY as error:
                if not failing:
                    logger.warning("a channel waits for Redis: %s", error)
                failing = True
                await asyncio.sleep(RECEIVE_AGAIN_S)
            except asyncio.CancelledError:
                self.receive_buffer.pop(channel, None)  # it is never read again
                raise

    async def _try(self, call: Any) -> bool:
        try:
            await call
        except REDIS_AWAY as error:
            logger.warning("a group of the channel layer could not be changed: %s", error)
            return False
        return True

    async def _watch(self, members: dict[tuple[str, str], None], *, whole: bool) -> None:
        """As long as there are members. `whole`: they are known to be in Redis now."""
        since, server = time.time(), None
        while members:
            try:
                if (seen := await self._server()) != server or not whole:
                    # A flush before the first look leaves no trace in what the look sees: only members that are gone.
                    first = server is None and whole
                    if lost := [member for member in list(members) if not (first and await self._is_there(*member))]:
                        await self._put_back(lost, since)
                    server, whole = seen, True
                since = time.time()
            except REDIS_AWAY as error:
                if whole:
                    logger.warning("the channel layer's groups may be gone: %s", error)
                whole = False
            await asyncio.sleep(WATCH_S)

    async def _server(self) -> tuple[str, ...]:
        """Changes when a server of the layer is flushed, restarted or replaced."""
        seen: list[str] = []
        for index in range(self.ring_size):
            redis = self.connection(index)
            await redis.set(MARK, uuid.uuid4().hex, nx=True)
            seen += [str(await redis.get(MARK)), str((await redis.info("server")).get("run_id"))]
        return tuple(seen)

    async def _is_there(self, group: str, channel: str) -> bool:
        redis = self.connection(self.consistent_hash(group))
        return await redis.zscore(self._group_key(group), channel) is not None

    async def _put_back(self, members: list[tuple[str, str]], since: float) -> None:
        for group, channel in members:
            await super().group_add(group, channel)
        for channel in dict.fromkeys(channel for _, channel in members):
            await self.send(channel, {"type": RESTORED, "since": since})
        logger.info("%d memberships were put back into the channel layer's groups", len(members))
