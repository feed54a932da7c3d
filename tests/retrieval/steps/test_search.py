"""The search step: preferred filters, ratings, what the path says; the corrective stages."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from ragsite.core.errors import UnavailableError
from retrieval.ports import SearchRequest
from retrieval.steps.retrieve import search_documents
from retrieval.values import Boost, Boosts, Query
from tests.retrieval.steps.fakes import HANDBOOK, SCOPE, make_tools

BOOKS = "How many books may an undergraduate borrow?"


def request(text: str = BOOKS, **fields: Any) -> SearchRequest:
    return SearchRequest(queries=(Query(text),), scope=SCOPE, **fields)


class Ratings:
    def __init__(self, **multipliers: float) -> None:
        self.boosted = Boosts(by_chunk={key: Boost(multiplier=value) for key, value in multipliers.items()})

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
