"""What a user's search found is found again, as long as nothing has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.search.cached import CachedSearcher
from retrieval.engine.values import (
    CollectionRef,
    EmbeddingSpace,
    Query,
    ScoredChunk,
    SearchFilters,
    SearchScope,
    Vocabulary,
)
from retrieval.knowledge.search_cache import SharedSearchCache
from tests.retrieval.engine.steps.fakes import chunk

REF = CollectionRef(id="c1", name="rules", space=EmbeddingSpace("m", 2), version=1)
REQUEST = SearchRequest(queries=(Query("books"),), scope=SearchScope((REF,)))


@dataclass
class Counting:
    """Finds one passage, and counts how often it was asked."""

    degraded: tuple[str, ...] = ()
    whole: bool = True
    asked: list[SearchRequest] = field(default_factory=list)

    async def search(self, request: SearchRequest) -> SearchResult:
        self.asked.append(request)
        hits = (ScoredChunk(chunk=chunk(1, "Ten books."), ranks={"original:bm25": 1}),)
        return SearchResult(candidates=hits, degraded=self.degraded, notes={"found": 1})

    async def is_whole(self, scope: SearchScope) -> bool:
        return self.whole

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        return "books" in terms


def cached(
    searcher: Counting, *, user_id: str = "1", how: str = "zscore", seconds: int = 3600
) -> CachedSearcher:
    return CachedSearcher(searcher, SharedSearchCache(), user_id=user_id, how=how, seconds=seconds)


async def test_the_same_search_of_a_user_is_made_once() -> None:
    searcher = Counting()
    first, again = [await cached(searcher).search(REQUEST) for _ in range(2)]
    assert len(searcher.asked) == 1
    assert again.candidates == first.candidates
    assert "cached_s" not in first.notes
    assert again.notes == {"found": 1, "cached_s": 0}


OTHERS: dict[str, dict[str, Any]] = {
    "query": {"queries": (Query("loans"),)},
    "kind of query": {"queries": (Query("books", vector_only=True),)},
    "collection": {"scope": SearchScope((replace(REF, id="c2"),))},
    "state of the index": {"scope": SearchScope((replace(REF, version=2),))},
    "embedding model": {"scope": SearchScope((replace(REF, space=EmbeddingSpace("n", 2)),))},
    "filter": {"filters": SearchFilters(department="HR")},
    "preference": {"filters": SearchFilters(preferred=Vocabulary(policy_years=(2025,)))},
    "depth": {"top_k": 9},
    "leg": {"stages": ("bm25",)},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
async def test_another_search_is_made_anew(changes: dict[str, Any]) -> None:
    searcher = Counting()
    await cached(searcher).search(REQUEST)
    await cached(searcher).search(replace(REQUEST, **changes))
    assert len(searcher.asked) == 2


@pytest.mark.parametrize("other", [{"user_id": "2"}, {"how": "seed"}])
async def test_another_user_and_another_way_to_search_find_nothing_of_it(
    other: dict[str, str],
) -> None:
    searcher = Counting()
    await cached(searcher).search(REQUEST)
    await cached(searcher, **other).search(REQUEST)
    assert len(searcher.asked) == 2


async def test_what_a_fallback_found_is_not_kept() -> None:
    searcher = Counting(degraded=("no vectors, text search alone",))
    await cached(searcher).search(REQUEST)
    await cached(searcher).search(REQUEST)
    assert len(searcher.asked) == 2


async def test_nothing_is_found_again_while_the_index_is_not_whole() -> None:
    searcher = Counting()
    await cached(searcher).search(REQUEST)
    searcher.whole = False
    assert "cached_s" not in (await cached(searcher).search(REQUEST)).notes
    assert len(searcher.asked) == 2


async def test_a_cache_that_is_away_costs_a_search_alone(settings: Any) -> None:
    settings.CACHES = {
        "default": settings.CACHES["default"],
        "searches": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        },
    }
    searcher = Counting()
    for _ in range(2):
        assert (await cached(searcher).search(REQUEST)).candidates
    assert len(searcher.asked) == 2
