"""The search step: preferred filters, ratings, what the path says; the corrective stages."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from ragsite.core.errors import UnavailableError
from retrieval.errors import IndexUnavailableError
from retrieval.ports import SearchRequest
from retrieval.steps.retrieve import search_again, search_documents
from retrieval.values import Boost, Boosts, Query, SearchFilters
from tests.retrieval.steps.fakes import HANDBOOK, SCOPE, MemorySearcher, ask, make_tools

BOOKS = "How many books may an undergraduate borrow?"


def request(text: str = BOOKS, **fields: Any) -> SearchRequest:
    return SearchRequest(queries=(Query(text),), scope=SCOPE, **fields)


async def test_what_a_preferred_filter_leaves_comes_first_and_the_rest_fills_up() -> None:
    deps = make_tools(settings.RAG, HANDBOOK)
    preferred = SearchFilters(policy_year=2022).in_mode("prefer")
    result = await search_documents(deps, request(filters=preferred))
    assert [hit.chunk_id for hit in result.candidates][:2] == ["k2", "k1"]
    assert result.relaxed == ("policy_year",)


async def test_a_strict_filter_never_gives_way() -> None:
    deps = make_tools(settings.RAG, HANDBOOK)
    result = await search_documents(deps, request(filters=SearchFilters(policy_year=2022)))
    assert ([hit.chunk_id for hit in result.candidates], result.relaxed) == (["k2"], ())


async def test_a_preferred_filter_that_leaves_enough_is_searched_with_once() -> None:
    deps = make_tools(settings.RAG, HANDBOOK)
    preferred = SearchFilters(policy_year=2022).in_mode("prefer")
    await search_documents(deps, request(filters=preferred, top_k=1))
    assert isinstance(deps.searcher, MemorySearcher) and len(deps.searcher.requests) == 1


async def test_the_path_tells_queries_and_what_each_leg_found() -> None:
    deps = make_tools(settings.RAG, HANDBOOK)
    await search_documents(deps, request(), purpose="own_words")
    [entry] = deps.trace.steps
    assert entry.summary.startswith("own words: candidates: ")
    assert entry.detail["queries"] == [{"kind": "original", "text": BOOKS}]
    assert entry.detail["candidates"][0]["ranks"] == {"original:bm25": 1}


async def test_an_index_that_is_away_is_not_nothing_found() -> None:
    deps = make_tools(settings.RAG, searcher=MemorySearcher((), error=IndexUnavailableError()))
    with pytest.raises(IndexUnavailableError):
        await search_documents(deps, request())


class Ratings:
    def __init__(self, **multipliers: float) -> None:
        self.boosted = Boosts(by_chunk={key: Boost(multiplier=value) for key, value in multipliers.items()})

    async def current(self) -> Ratings:
        return self

    async def boosts(self, query: str, candidates: Any) -> Boosts:
        if not self.boosted.by_chunk:
            raise UnavailableError("The ratings are away.")
        return self.boosted


async def test_ratings_change_the_order_and_the_path_says_by_how_much() -> None:
    deps = make_tools(settings.RAG, HANDBOOK, boosts=Ratings(k2=2.0))
    result = await search_documents(deps, request())
    assert result.candidates[0].chunk_id == "k2"
    assert deps.trace.steps[1].detail["boosts"]["k2"]["multiplier"] == 2.0


async def test_ratings_that_are_away_leave_the_order_and_are_told() -> None:
    deps = make_tools(settings.RAG, HANDBOOK, boosts=Ratings())
    result = await search_documents(deps, request())
    assert result.candidates[0].chunk_id == "k1"
    assert result.degraded == ("The ratings are away.",)
    assert deps.trace.degraded == [{"step": "boost", "reason": "The ratings are away."}]


async def test_the_corrective_search_looks_by_words_alone_then_wider_without_read_filters() -> None:
    deps, question = make_tools(settings.RAG, HANDBOOK), ask(BOOKS)
    read = SearchFilters(department="Registry").in_mode("prefer")
    queries = (Query(BOOKS), Query("imagined", kind="hyde", vector_only=True))
    await search_again(deps, question, queries, "text", filters=read, number=1, missing="loan period")
    await search_again(deps, question, queries, "wide", filters=read, number=2)
    assert isinstance(deps.searcher, MemorySearcher)
    by_words, *_, wide = deps.searcher.requests
    assert by_words.stages == ("bm25",)
    assert [query.text for query in by_words.queries] == [BOOKS, "loan period"]
    assert (wide.filters, len(wide.queries)) == (SearchFilters(), 2)
    assert wide.top_k > by_words.top_k
