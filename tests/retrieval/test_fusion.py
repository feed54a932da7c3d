"""Putting ranked lists together."""

from __future__ import annotations

import pytest

from retrieval.search.fusion import (
    best_first,
    dense_trust,
    reciprocal_rank_fusion,
    rrf_scores,
    seed_sum,
    zscore_sum,
)


def test_rrf_adds_reciprocal_ranks() -> None:
    scores = rrf_scores([["a", "b"], ["b", "c"]], k=60)
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})
    assert reciprocal_rank_fusion([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]


def test_rrf_ties_keep_first_met_order() -> None:
    assert reciprocal_rank_fusion([["x"], ["y"]]) == ["x", "y"]
    assert reciprocal_rank_fusion([]) == []


def test_the_seeds_formula_takes_raw_scores() -> None:
    assert seed_sum({"a": 0.9, "b": 0.5}, {"b": 2.0}) == pytest.approx({"a": 0.18, "b": 2.1})


def test_zscores_weigh_both_legs_alike_whatever_their_units() -> None:
    dense = {"a": 0.9, "b": 0.5, "c": 0.1}
    bm25 = {"a": 10.0, "b": 30.0, "c": 20.0}
    scores = zscore_sum(dense, bm25)
    scaled = zscore_sum(dense, {chunk_id: score * 100 for chunk_id, score in bm25.items()})
    assert scores == pytest.approx(scaled)
    assert best_first(scores) == ["b", "a", "c"]


def test_a_chunk_that_a_leg_missed_is_no_better_than_its_last() -> None:
    scores = zscore_sum({"both": 0.9, "last": 0.2}, {"both": 5.0, "text": 4.0})
    same = zscore_sum({"both": 0.9, "last": 0.2, "text": 0.2}, {"both": 5.0, "text": 4.0, "last": 0.0})
    assert scores == pytest.approx(same)


def test_the_floor_of_a_full_bm25_list_is_its_last_score() -> None:
    dense = {"a": 0.9, "b": 0.3, "c": 0.1}
    low = zscore_sum(dense, {"b": 9.0, "c": 8.0}, bm25_floor=0.0)
    high = zscore_sum(dense, {"b": 9.0, "c": 8.0}, bm25_floor=8.0)
    assert high["a"] - high["b"] > low["a"] - low["b"]


def test_a_leg_that_found_nothing_changes_no_order() -> None:
    dense = {"a": 0.9, "b": 0.5, "c": 0.1}
    assert best_first(zscore_sum(dense, {})) == ["a", "b", "c"]
    assert best_first(zscore_sum({}, dense)) == ["a", "b", "c"]
    assert zscore_sum({}, {}) == {}


def test_equal_scores_say_nothing() -> None:
    assert zscore_sum({"a": 0.5, "b": 0.5}, {}) == {"a": 0.0, "b": 0.0}


def ranked(*chunk_ids: str) -> dict[str, float]:
    return {chunk_id: 1.0 / rank for rank, chunk_id in enumerate(chunk_ids, start=1)}


@pytest.mark.parametrize(("shared", "trust"), [(0, 0.2), (2, 0.2), (5, 1.0), (10, 1.0)])
def test_a_dense_leg_that_ranks_none_of_bm25s_best_high_is_trusted_least(shared: int, trust: float) -> None:
    noise = ranked(*(f"noise{number}" for number in range(200)), *(f"late{number}" for number in range(10)))
    bm25 = ranked(*(f"noise{number}" for number in range(shared)), *(f"late{number}" for number in range(shared, 10)))
    assert dense_trust(noise, bm25, least=0.2) == pytest.approx(trust)


def test_without_words_to_go_by_the_dense_leg_is_trusted() -> None:
    assert dense_trust(ranked("a", "b"), {}, least=0.2) == 1.0
