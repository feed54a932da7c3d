"""Filters that prefer, over a real Milvus Lite: what they name comes first, as far as it is about the question."""

from __future__ import annotations

from typing import Any

import pytest

from ragsite.core.search_settings import SearchSettings
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.search.boosting import rank_with_boosts
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.preferring import search_preferring
from retrieval.engine.search.space_search import SpaceSearcher
from retrieval.engine.values import Boosts, Query, SearchFilters, SearchScope, Vocabulary
from tests.retrieval.test_search import Library, titles

QUESTION = "What is the resit fee?"


@pytest.fixture
async def fees(index: MilvusIndex) -> Library:
    """The newest document says the question's words most often."""
    fees = Library(index)
    await fees.add(
        "fees 2025",
        "The resit fee is 55 euros. A resit fee is due before the resit.",
        policy_year=2025,
    )
    await fees.add("fees 2023", "Whoever takes a resit pays a fee of 40 euros.", policy_year=2023)
    await fees.add("fees 2022", "Whoever sits a resit pays a fee of 35 euros.", policy_year=2022)
    await fees.add(
        "team 2023", "The rowing team met on Mondays.", policy_year=2023, department="Sport"
    )
    return fees


async def search(
    library: Library, query: str = QUESTION, *, top_k: int = 5, **preferred: Any
) -> SearchResult:
    parts: Any = library
    searcher = HybridSearcher(
        SpaceSearcher(index=library.index, store=parts, models=parts, settings=SearchSettings())
    )
    filters = SearchFilters(preferred=Vocabulary(**preferred))
    scope = SearchScope((library.ref,))
    return await search_preferring(
        searcher, SearchRequest(queries=(Query(query),), scope=scope, filters=filters, top_k=top_k)
    )


async def test_what_a_preferring_filter_names_comes_first(fees: Library) -> None:
    assert titles(await search(fees))[0] == "fees 2025"
    found = await search(fees, policy_years=(2023,))
    assert titles(found)[0] == "fees 2023"
    assert "fees 2025" in titles(found)
    assert found.relaxed == ("policy_year",)


async def test_the_order_holds_where_ratings_rank_what_was_found(fees: Library) -> None:
    found = await search(fees, policy_years=(2023,))
    ranked = rank_with_boosts((*found.candidates, *found.tail_hits), Boosts())
    assert [hit.chunk_id for hit in ranked] == [hit.chunk_id for hit in found.candidates]


async def test_values_of_a_field_are_alternatives(fees: Library) -> None:
    assert set(titles(await search(fees, policy_years=(2022, 2023)))[:2]) == {
        "fees 2022",
        "fees 2023",
    }


async def test_what_more_fields_name_comes_before_what_one_names(fees: Library) -> None:
    await fees.add(
        "hall fees 2023",
        "A resit in the hall costs a fee of 45 euros.",
        policy_year=2023,
        department="Hall",
    )
    found = await search(fees, policy_years=(2023,), departments=("Hall",))
    assert titles(found)[:2] == ["hall fees 2023", "fees 2023"]


async def test_what_is_about_something_else_is_not_raised(fees: Library) -> None:
    found = titles(await search(fees, departments=("Sport",)))
    assert found[0] == "fees 2025"
    assert found.index("team 2023") == len(found) - 1


async def test_a_tag_counts_where_no_other_field_is_named(fees: Library) -> None:
    await fees.add(
        "tuition 2023",
        "A course costs a fee of 900 euros; a resit of a course too.",
        policy_year=2023,
        tags=("fees",),
    )
    assert titles(await search(fees, tags=("fees",)))[0] == "tuition 2023"
    assert titles(await search(fees, tags=("fees",), policy_years=(2023,)))[0] == "fees 2023"


async def test_a_value_that_no_document_has_is_relaxed(fees: Library) -> None:
    found = await search(fees, policy_years=(1999,))
    assert titles(found) == titles(await search(fees))
    assert found.relaxed == ("policy_year",)


async def test_nothing_is_relaxed_where_all_that_is_shown_was_preferred(fees: Library) -> None:
    found = await search(fees, policy_years=(2023,), top_k=1)
    assert (titles(found), found.relaxed) == (["fees 2023"], ())
