"""Ranking with boosts: what has no votes keeps its place among its like, and bounds hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from ragsite.core.errors import UnavailableError
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.search.boosting import put_boosts, rank_with_boosts
from retrieval.engine.steps.retrieve.search import search_documents
from retrieval.engine.values import (
    Boosts,
    ChunkBoost,
    Query,
    ScoredChunk,
    Scores,
    SearchScope,
    StoredChunk,
    TailHit,
)
from tests.retrieval.engine.steps.fakes import HANDBOOK, SCOPE, chunk, make_tools, scored

FUSED = st.lists(
    st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.995, 1.0]) | st.floats(0.0, 1.0),
    min_size=1,
    max_size=40,
)
MULTIPLIERS = st.dictionaries(st.integers(0, 39), st.floats(0.5, 2.0), max_size=10)


def hits(fused: list[float]) -> list[TailHit]:
    return [
        TailHit(chunk_id=f"c{at}", document_id=f"d{at}", scores=Scores(fused=score))
        for at, score in enumerate(fused)
    ]


def boosted(multipliers: dict[int, float]) -> Boosts:
    return Boosts(
        by_chunk={f"c{at}": ChunkBoost(multiplier=value) for at, value in multipliers.items()},
        revision="r1",
    )


@given(FUSED, MULTIPLIERS)
def test_what_has_no_votes_keeps_its_own_score_and_its_place_among_its_like(
    fused: list[float], multipliers: dict[int, float]
) -> None:
    found = hits(fused)
    plain, after = rank_with_boosts(found, Boosts()), rank_with_boosts(found, boosted(multipliers))
    without = [f"c{at}" for at in range(len(found)) if at not in multipliers]
    assert {p.chunk_id: p.scores.final for p in after if p.chunk_id in without} == {
        p.chunk_id: p.scores.final for p in plain if p.chunk_id in without
    }
    assert [p.chunk_id for p in after if p.chunk_id in without] == [
        p.chunk_id for p in plain if p.chunk_id in without
    ]


@given(FUSED, MULTIPLIERS)
def test_what_has_no_votes_is_passed_only_by_lifted_ones_whose_score_was_not_far_below(
    fused: list[float], multipliers: dict[int, float]
) -> None:
    found, boosts = hits(fused), boosted(multipliers)
    plain, after = rank_with_boosts(found, Boosts()), rank_with_boosts(found, boosts)
    was = {place.chunk_id: (at, place.scores.final) for at, place in enumerate(plain)}
    for at, place in enumerate(after):
        if place.chunk_id in boosts.by_chunk:
            continue
        passed = [p.chunk_id for p in after[:at] if was[p.chunk_id][0] > was[place.chunk_id][0]]
        assert at - was[place.chunk_id][0] <= len(passed)
        for one in passed:
            multiplier = boosts.by_chunk[one].multiplier
            assert multiplier > 1.0
            assert was[one][1] * multiplier >= was[place.chunk_id][1]


# ------------------------------------------------------------------------------------------------ in a search
class Store:
    """The chunks whose text may be read."""

    def __init__(self, *chunks: StoredChunk) -> None:
        self.chunks = {one.chunk_id: one for one in chunks}

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        return {one: self.chunks[one] for one in chunk_ids if one in self.chunks}


def with_fused(number: int, fused: float) -> ScoredChunk:
    candidate = scored(number, f"text {number}")
    return replace(candidate, scores=replace(candidate.scores, fused=fused))


def below(number: int, fused: float) -> TailHit:
    return TailHit(
        chunk_id=f"k{number}", document_id=f"d{number}", scores=Scores(fused=fused, final=fused)
    )


def times(**multipliers: float) -> Boosts:
    return Boosts(
        by_chunk={chunk_id: ChunkBoost(multiplier=value) for chunk_id, value in multipliers.items()}
    )


def ids(found: Sequence[ScoredChunk | TailHit]) -> list[str]:
    return [one.chunk_id for one in found]


def test_a_boost_lifts_and_lowers_whatever_the_sign_of_the_fused_score() -> None:
    candidates = [with_fused(1, 1.0), with_fused(2, -0.9), with_fused(3, -1.0)]
    lifted = rank_with_boosts(candidates, times(k3=1.3))
    lowered = rank_with_boosts(candidates, times(k1=0.1))
    assert ids(lifted) == ["k1", "k3", "k2"]
    assert [one.scores.final for one in lowered if one.chunk_id == "k1"] == [0.1]
    assert lifted[0].scores.boost == 1.0


async def test_what_was_found_further_down_comes_up_with_its_text() -> None:
    result = SearchResult(
        candidates=(with_fused(1, 3.0), with_fused(2, 2.0)),
        tail_hits=(below(3, 1.9), below(4, 0.0)),
    )
    store = Store(chunk(3, "text 3"), chunk(4, "text 4"))
    candidates, lifted = await put_boosts(result, times(k3=2.0), store=store, scope=SCOPE)
    assert ids(candidates) == ["k3", "k1"]
    assert candidates[0].chunk.text == "text 3"
    assert lifted == ["k3"]


async def test_a_boost_shows_nothing_that_may_not_be_read() -> None:
    result = SearchResult(
        candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.9),)
    )
    candidates, lifted = await put_boosts(result, times(k3=2.0), store=Store(), scope=SCOPE)
    assert ids(candidates) == ["k1", "k2"]
    assert lifted == []


async def test_what_staff_hide_gives_its_place_to_the_next() -> None:
    result = SearchResult(
        candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.0),)
    )
    hidden = Boosts(by_chunk={"k1": ChunkBoost(multiplier=1.0, hide=True)})
    candidates, lifted = await put_boosts(
        result, hidden, store=Store(chunk(3, "text 3")), scope=SCOPE
    )
    assert ids(candidates) == ["k2", "k3"]
    assert lifted == ["k3"]


async def test_ratings_that_are_away_leave_the_order_and_the_path_says_so() -> None:
    class Away:
        async def boosts(self, query: str, candidates: object) -> Boosts:
            raise UnavailableError("The ratings are away.")

    request = SearchRequest(
        queries=(Query("How many books may an undergraduate borrow?"),), scope=SCOPE
    )
    deps = make_tools(settings.RAG, HANDBOOK, boosts=Away())
    result = await search_documents(deps, request)
    assert (result.candidates[0].chunk_id, result.degraded) == ("k1", ("The ratings are away.",))
    assert deps.trace.degraded == [{"step": "boost", "reason": "The ratings are away."}]
