from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from retrieval.errors import IndexUnavailableError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.services.search_cache import CachedSearcher, cache_key
from retrieval.values import CollectionRef, EmbeddingSpace, Query, SearchFilters, SearchScope
from tests.retrieval.steps.fakes import HANDBOOK, MemorySearcher

NUMBERS = settings.RAG.search
REF = CollectionRef(id="c1", name="handbook", space=EmbeddingSpace("test", 8), version=3)
REQUEST = SearchRequest(queries=(Query("deposit Lakeside hall"),), scope=SearchScope((REF,)))


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


async def test_the_same_search_is_done_once_and_the_second_says_so() -> None:
    inner = MemorySearcher(HANDBOOK)
    first, second = [await CachedSearcher(inner, NUMBERS).search(REQUEST) for _ in range(2)]
    assert len(inner.requests) == 1
    assert first.candidates and second.candidates == first.candidates
    assert (first.notes.get("cached"), second.notes["cached"]) == (None, True)
    assert set(second.timings_ms) == {"cache", "total"}


@pytest.mark.parametrize(
    "change",
    [
        {"scope": SearchScope((replace(REF, version=4),))},
        {"scope": SearchScope((replace(REF, id="c2"),))},
        {"scope": SearchScope((REF, replace(REF, id="c2")))},
        {"queries": (Query("deposit Bamboo hall"),)},
        {"queries": (Query("deposit Lakeside hall", vector_only=True),)},
        {"filters": SearchFilters(policy_year=2024)},
        {"top_k": 7},
        {"stages": ("bm25",)},
    ],
    ids=["documents", "permission", "more collections", "query", "vectors", "filters", "top_k", "stages"],
)
def test_whatever_a_result_depends_on_changes_the_key(change: dict[str, Any]) -> None:
    assert cache_key(replace(REQUEST, **change), NUMBERS) != cache_key(REQUEST, NUMBERS)


def test_another_formula_changes_the_key_and_white_space_does_not() -> None:
    assert cache_key(REQUEST, NUMBERS.replace(formula="seed")) != cache_key(REQUEST, NUMBERS)
    spaced = replace(REQUEST, queries=(Query(" deposit  Lakeside hall\n"),))
    assert cache_key(spaced, NUMBERS) == cache_key(REQUEST, NUMBERS)


async def test_what_was_degraded_or_failed_is_not_kept() -> None:
    class Limping(MemorySearcher):
        async def search(self, request: SearchRequest) -> SearchResult:
            return replace(await super().search(request), degraded=("no vectors",))

    limping, broken = Limping(HANDBOOK), MemorySearcher(HANDBOOK, error=IndexUnavailableError())
    for _ in range(2):
        await CachedSearcher(limping, NUMBERS).search(REQUEST)
    with pytest.raises(IndexUnavailableError):
        await CachedSearcher(broken, NUMBERS).search(REQUEST)
    broken.error = None
    assert (await CachedSearcher(broken, NUMBERS).search(REQUEST)).candidates
    assert len(limping.requests) == 2


async def test_a_cache_that_is_away_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr(cache, "aget", away, raising=False)
    monkeypatch.setattr(cache, "aset", away, raising=False)
    assert (await CachedSearcher(MemorySearcher(HANDBOOK), NUMBERS).search(REQUEST)).candidates


async def test_no_time_to_keep_means_no_cache() -> None:
    inner = MemorySearcher(HANDBOOK)
    for _ in range(2):
        await CachedSearcher(inner, NUMBERS.replace(cache_ttl_s=0)).search(REQUEST)
    assert len(inner.requests) == 2
