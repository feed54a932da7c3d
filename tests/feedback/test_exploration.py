"""Thompson sampling among near-equals: what it may move, and what it must not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.ranking import exploration
from feedback.ranking.exploration import NEAR, Votes, explored, is_explored
from retrieval.search.boosting import Ranked, rank_with_boosts
from retrieval.values import DRAWN, Boost, Boosts, Scores, TailHit

FUSED = st.lists(st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.995, 1.0]) | st.floats(0.0, 1.0), min_size=1, max_size=40)
MULTIPLIERS = st.dictionaries(st.integers(0, 39), st.floats(0.5, 2.0), max_size=10)


def hits(fused: list[float]) -> list[TailHit]:
    return [
        TailHit(chunk_id=f"c{at}", document_id=f"d{at}", scores=Scores(fused=score)) for at, score in enumerate(fused)
    ]


def boosted(multipliers: dict[int, float]) -> Boosts:
    return Boosts(by_chunk={f"c{at}": Boost(multiplier=value) for at, value in multipliers.items()}, revision="r1")


def drawn(
    found: list[TailHit], boosts: Boosts, *, question: str = "q", votes: dict[str, Votes] | None = None
) -> tuple[list[Ranked], list[Ranked], Boosts]:
    """Ranked before, ranked after, and the boosts that did it."""
    before = rank_with_boosts(found, boosts)
    new = explored(boosts, before, votes or {}, question=question, full_votes=3.0, share=0.5)
    return before, rank_with_boosts(found, new), new


@settings(deadline=None)
@given(FUSED, MULTIPLIERS, st.text(max_size=20))
def test_nothing_changes_places_but_near_equals(
    fused: list[float], multipliers: dict[int, float], question: str
) -> None:
    before, after, _ = drawn(hits(fused), boosted(multipliers), question=question)
    score = {place.chunk_id: place.final for place in before}
    for was, now in zip(before, after, strict=True):
        assert score[now.chunk_id] == pytest.approx(was.final, rel=NEAR / (1 - NEAR) + 1e-9)
        assert now.final == pytest.approx(score[now.chunk_id], rel=NEAR / (1 - NEAR) + 1e-9)


@settings(deadline=None)
@given(FUSED, MULTIPLIERS, st.text(max_size=20))
def test_the_same_question_gets_the_same_order(
    fused: list[float], multipliers: dict[int, float], question: str
) -> None:
    runs = [drawn(hits(fused), boosted(multipliers), question=question) for _ in range(2)]
    assert runs[0][2] == runs[1][2]


def orders(votes: dict[str, Votes], *, second: float = 0.995) -> list[str]:
    """What comes first for each of 200 questions, of two passages of which c0 scores a little higher."""
    found = hits([1.0, second, 0.0])
    return [drawn(found, Boosts(), question=f"q{n}", votes=votes)[1][0].chunk_id for n in range(200)]


def test_what_nobody_has_rated_comes_first_now_and_then() -> None:
    assert 60 < orders({}).count("c1") < 140


def test_what_is_well_known_is_moved_less() -> None:
    known = {"c0": Votes(500.0, 500.0), "c1": Votes(500.0, 500.0)}
    assert orders(known, second=0.93).count("c1") < 40 < 60 < orders({}, second=0.93).count("c1")


def test_passages_of_one_score_are_told_apart_by_the_draw() -> None:
    found = hits([1.0, 1.0, 1.0, 0.0])
    first = {drawn(found, Boosts(), question=f"q{n}")[1][0].chunk_id for n in range(30)}
    assert first == {"c0", "c1", "c2"}


def test_the_probability_of_each_place_is_kept_with_the_scores() -> None:
    found = hits([1.0, 0.995, 0.0])
    _, after, boosts = drawn(found, Boosts())
    shown = {place.chunk_id: place.scores().shown for place in after}
    assert shown["c2"] is None  # nothing was drawn for it
    first = after[0].chunk_id
    expected = orders({}).count(first) / 200
    assert shown[first] == pytest.approx(0.5 * expected + 0.5 * (first == "c0"), abs=0.08)
    assert boosts.by_chunk[first].origin == DRAWN


def test_a_boosts_own_reason_stays_beside_the_draw() -> None:
    boosts = Boosts(by_chunk={"c1": Boost(multiplier=1.01, origin="3 people found this useful")})
    _, _, new = drawn(hits([1.0, 0.995, 0.0]), boosts)
    assert new.by_chunk["c1"].origin.startswith("3 people found this useful; ")


def test_a_share_of_the_questions_is_explored_and_always_the_same_ones() -> None:
    chosen = [is_explored(f"q{n}", "r1", 0.3) for n in range(1000)]
    assert 240 < sum(chosen) < 360
    assert chosen == [is_explored(f"q{n}", "r1", 0.3) for n in range(1000)]
    assert not any(is_explored(f"q{n}", "r1", 0.0) for n in range(1000))
    assert all(is_explored(f"q{n}", "r1", 1.0) for n in range(100))


@pytest.mark.parametrize(("x", "value"), [(1.0, math.pi**2 / 6), (2.0, math.pi**2 / 6 - 1), (11.0, 0.0951663357)])
def test_the_variance_of_log_odds_is_the_trigamma_function(x: float, value: float) -> None:
    assert exploration._trigamma(x) == pytest.approx(value, abs=1e-6)


# ------------------------------------------------------------------------------------------------ the floor
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
