"""What a user's search found is kept for a while, for the same search again. Source: seed 004 (one hour, per user).

A search is the same where its user, its queries, filters and depth are, and the state of what it may see: the ids of
its collections, which are the permission, and their versions, which grow with every change of a document. Ratings are
applied to what was found, each time again. What was found with a fallback is not kept, and where the index is away or
incomplete nothing is found again: the search says so.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import fields, replace

from retrieval.engine.ports import SearchCache, Searcher, SearchRequest, SearchResult
from retrieval.engine.values import ScoredChunk, Scores, SearchScope, StoredChunk, TailHit

# What an older release has kept in another form is not found.
FORM = [
    [column.name for column in fields(kept)]
    for kept in (SearchResult, ScoredChunk, StoredChunk, Scores, TailHit)
]


class CachedSearcher:
    """Implements `retrieval.engine.ports.Searcher`. user_id: whose searches are found again. how: how a search is made,
    where that can be changed. seconds: that a result is kept."""

    def __init__(
        self, searcher: Searcher, cache: SearchCache, *, user_id: str, how: str, seconds: int
    ) -> None:
        self._searcher = searcher
        self._cache = cache
        self._user_id = user_id
        self._how = how
        self._seconds = seconds

    async def search(self, request: SearchRequest) -> SearchResult:
        """`notes["cached_s"]`: how many seconds ago it was searched, where it was found again."""
        begun = time.perf_counter()
        key = self._key(request)
        kept = await self._cache.get(key)
        if kept is not None and await self._searcher.is_whole(request.scope):
            made_at, result = kept
            age_s = round(max(0.0, time.time() - made_at))
            total = round((time.perf_counter() - begun) * 1000, 2)
            return replace(
                result, timings_ms={"total": total}, notes={**result.notes, "cached_s": age_s}
            )
        result = await self._searcher.search(request)
        if not result.degraded:
            await self._cache.put(key, (time.time(), result), seconds=self._seconds)
        return result

    async def is_whole(self, scope: SearchScope) -> bool:
        return await self._searcher.is_whole(scope)

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        """Not kept."""
        return await self._searcher.holds_any(terms, scope)

    def _key(self, request: SearchRequest) -> str:
        same = repr((FORM, self._how, self._user_id, request))
        return hashlib.sha256(same.encode("utf-8", "surrogatepass")).hexdigest()
