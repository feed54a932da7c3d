"""Where results of searches are kept: in Redis, or in this process's memory (`CACHES["searches"]`)."""

from __future__ import annotations

import logging
from pickle import PickleError

from django.core.cache import caches
from redis.exceptions import RedisError

from retrieval.engine.ports import SearchResult

ALIAS = "searches"
AWAY = (RedisError, OSError)
logger = logging.getLogger(__name__)


class SharedSearchCache:
    """`retrieval.engine.ports.SearchCache`. A cache that is away costs a search, and nothing else."""

    async def get(self, key: str) -> tuple[float, SearchResult] | None:
        try:
            kept: tuple[float, SearchResult] | None = await caches[ALIAS].aget(key)
        except AWAY as error:
            logger.warning("The cache of searches could not be read: %s", error)
            return None
        except (
            PickleError,
            AttributeError,
            ImportError,
        ):  # an older release kept it in another form
            return None
        return kept

    async def put(self, key: str, kept: tuple[float, SearchResult], *, seconds: int) -> None:
        try:
            await caches[ALIAS].aset(key, kept, timeout=seconds)
        except AWAY as error:
            logger.warning("The cache of searches could not be written: %s", error)
