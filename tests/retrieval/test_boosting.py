"""Ranking with boosts: what has no votes keeps its place among its like, and bounds hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.search.boosting import rank_with_boosts
from retrieval.values import Boost, Boosts, Scores, TailHit

FUSED = st.lists(st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.995, 1.0]) | st.floats(0.0, 1.0), min_size=1, max_size=40)
MULTIPLIERS = st.dictionaries(st.integers(0, 39), st.floats(0.5, 2.0), max_size=10)


def hits(fused: list[float]) -> list[TailHit]:
    return [
        TailHit(chunk_id=f"c{at}", document_id=f"d{at}", scores=Scores(fused=score)) for at, score in enumerate(fused)
    ]


def boosted(multipliers: dict[int, float]) -> Boosts:
    return Boosts(by_chunk={f"c{at}": Boost(multiplier=value) for at, value in multipliers.items()}, revision="r1")


@settings(deadline=None)
@given(FUSED, MULTIPLIERS)
def test_what_has_no_votes_keeps_its_own_score_and_its_place_among_its_like(
    fused: list[float], multipliers: dict[int, float]
) -> None:
    found = hits(fused)
    plain, after = rank_with_boosts(found, Boosts()), rank_with_boosts(found, boosted(multipliers))
    without = [f"c{at}" for at in range(len(found)) if at not in multipliers]
    assert {p.chunk_id: p.final for p in after if p.chunk_id in without} == {
        p.chunk_id: p.final for p in plain if p.chunk_id in without
    }
    assert [p.chunk_id for p in after if p.chunk_id in without] == [p.chunk_id for p in plain if p.chunk_id in without]


@settings(deadline=None)
@given(FUSED, MULTIPLIERS)
def test_what_has_no_votes_is_passed_only_by_lifted_ones_whose_score_was_not_far_below(
    fused: list[float], multipliers: dict[int, float]
) -> None:
    found, boosts = hits(fused), boosted(multipliers)
    plain, after = rank_with_boosts(found, Boosts()), rank_with_boosts(found, boosts)
    was = {place.chunk_id: (at, place.final) for at, place in enumerate(plain)}
    for at, place in enumerate(after):
        if place.chunk_id in boosts.by_chunk:
            continue
        passed = [p.chunk_id for p in after[:at] if was[p.chunk_id][0] > was[place.chunk_id][0]]
        assert at - was[place.chunk_id][0] <= len(passed)
        for chunk in passed:
            multiplier = boosts.by_chunk[chunk].multiplier
            assert multiplier > 1.0
            assert was[chunk][1] * multiplier >= was[place.chunk_id][1]
