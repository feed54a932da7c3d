"""Putting ranked lists together."""

from __future__ import annotations

import math

import pytest

from retrieval.search.fusion import (
    best_first,
    lower_repeats,
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


def test_rrf_takes_k_60_unless_told_otherwise() -> None:
    assert rrf_scores([["a"]]) == {"a": 1 / 61}


@pytest.mark.parametrize(("k", "first"), [(0, "top"), (60, "often")])
def test_the_larger_k_the_more_counts_how_many_lists_hold_an_id(k: int, first: str) -> None:
    lists = [["top", "x", "often"], ["y", "z", "often"]]
    assert reciprocal_rank_fusion(lists, k=k)[0] == first
    assert reciprocal_rank_fusion(lists)[0] == "often"


def test_the_seeds_formula_takes_raw_scores() -> None:
    assert seed_sum({"a": 0.9, "b": 0.5}, {"b": 2.0}) == pytest.approx({"a": 0.18, "b": 2.1})


def test_zscores_are_deviations_from_the_mean_of_the_candidates_times_their_legs_weight() -> None:
    dense, bm25 = {"a": 0.9, "b": 0.5, "c": 0.1}, {"c": 6.0, "a": 3.0, "b": 0.0}
    outer = math.sqrt(1.5)
    assert zscore_sum(dense, bm25) == pytest.approx({"a": outer, "b": -outer, "c": 0.0})
    weighed = zscore_sum(dense, bm25, dense_weight=2.0)
    assert weighed == pytest.approx({"a": 2.0 * outer, "b": -outer, "c": -outer})


@pytest.mark.parametrize(
    ("floor", "expected"),
    [
        ({}, {"a": math.sqrt(1.5), "b": 0.0, "c": -math.sqrt(1.5)}),
        ({"bm25_floor": 2.0}, {"a": math.sqrt(2), "b": -math.sqrt(0.5), "c": -math.sqrt(0.5)}),
    ],
)
def test_what_bm25_did_not_find_scores_0_or_the_floor_given(
    floor: dict[str, float], expected: dict[str, float]
) -> None:
    assert zscore_sum({"a": 0.5, "b": 0.5, "c": 0.5}, {"a": 4.0, "b": 2.0}, **floor) == pytest.approx(expected)


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


def test_a_chunk_is_lowered_for_each_better_one_of_its_document() -> None:
    documents = {"a": "one", "b": "one", "c": "two", "d": "one"}
    lowered = lower_repeats({"a": 3.0, "b": 2.5, "c": 2.0, "d": 1.0}, documents, penalty=1.0)
    assert lowered == {"a": 3.0, "b": 1.5, "c": 2.0, "d": -1.0}
    assert best_first(lowered) == ["a", "c", "b", "d"]
