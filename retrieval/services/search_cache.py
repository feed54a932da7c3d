"""Results of searches, kept for an hour in Django's cache.

The key holds all that a result depends on: the collections that the user may read with their versions, the queries,
filters, stages, and the settings of the search. A changed document gives its collection a new version, and a changed
permission another set of collections, so that neither ever meets an old result; boosts are put on afterwards.
"""

from __future__ import annotations

import hashlib
import logging
import time
from dataclasses import replace

from django.core.cache import caches
from redis.exceptions import RedisError

from ragsite.core.rag_settings import SearchSettings
from retrieval.ports import Searcher, SearchRequest, SearchResult

logger = logging.getLogger(__name__)
CACHE_FAILURES = (RedisError, OSError)
KEY_PREFIX = "search:9:"  # another number with every change of how searches rank


class CachedSearcher:
    """`retrieval.ports.Searcher` around another one."""

    def __init__(self, searcher: Searcher, settings: SearchSettings) -> None:
        self._searcher = searcher
        self._settings = settings

    async def search(self, request: SearchRequest) -> SearchResult:
        """Raises what the searcher raises. Degraded results are not kept; one from the cache has `cached` in `notes`
        and the time of the look-up alone in `timings_ms`."""
        if self._settings.cache_ttl_s <= 0:
            return await self._searcher.search(request)
        key, begun = cache_key(request, self._settings), time.perf_counter()
        known = await _get(key)
        if known is not None:
            total = round((time.perf_counter() - begun) * 1000, 2)
            return replace(known, timings_ms={"cache": total, "total": total}, notes={**known.notes, "cached": True})
        result = await self._searcher.search(request)
        if result.candidates and not result.degraded:  # an empty result may come from an index that is being repaired
            await _set(key, result, self._settings.cache_ttl_s)
        return result


def cache_key(request: SearchRequest, settings: SearchSettings) -> str:
    """Queries that differ in white space alone share a result; order and kind of the variants count."""
    parts = (
        sorted((ref.id, ref.version, repr(ref.space)) for ref in request.scope.collections),
        [(" ".join(query.text.split()), query.kind, query.vector_only) for query in request.queries],
        (sorted(request.filters.as_dict().items()), request.filters.documents),
        request.top_k,
        sorted(request.stages),
        (request.depth, request.strategy, sorted(request.document_ids)),
        repr(settings),
    )
    return KEY_PREFIX + hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


async def _get(key: str) -> SearchResult | None:
    try:
        known = await caches["default"].aget(key)
    except CACHE_FAILURES as error:
        logger.warning("The cache can't be read, searching without it: %s", error)
        return None
    return known if isinstance(known, SearchResult) else None


async def _set(key: str, result: SearchResult, seconds: int) -> None:
    try:
        await caches["default"].aset(key, result, seconds)
    except CACHE_FAILURES as error:
        logger.warning("The cache can't be written: %s", error)
