"""Putting ranked lists together."""

from __future__ import annotations

import math

import pytest

from retrieval.search.fusion import best_first, lower_repeats, reciprocal_rank_fusion, rrf_scores, seed_sum, zscore_sum


def test_rrf_adds_reciprocal_ranks() -> None:
    scores = rrf_scores([["a", "b"], ["b", "c"]], k=60)
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})
    assert reciprocal_rank_fusion([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]


def test_the_seeds_formula_takes_raw_scores() -> None:
    assert seed_sum({"a": 0.9, "b": 0.5}, {"b": 2.0}) == pytest.approx({"a": 0.18, "b": 2.1})


def test_zscores_are_deviations_from_the_mean_of_the_candidates_times_their_legs_weight() -> None:
    dense, bm25 = {"a": 0.9, "b": 0.5, "c": 0.1}, {"c": 6.0, "a": 3.0, "b": 0.0}
    outer = math.sqrt(1.5)
    assert zscore_sum(dense, bm25) == pytest.approx({"a": outer, "b": -outer, "c": 0.0})
    weighed = zscore_sum(dense, bm25, dense_weight=2.0)
    assert weighed == pytest.approx({"a": 2.0 * outer, "b": -outer, "c": -outer})


def test_zscores_weigh_both_legs_alike_whatever_their_units() -> None:
    dense = {"a": 0.9, "b": 0.5, "c": 0.1}
    bm25 = {"a": 10.0, "b": 30.0, "c": 20.0}
    scores = zscore_sum(dense, bm25)
    scaled = zscore_sum(dense, {chunk_id: score * 100 for chunk_id, score in bm25.items()})
    assert scores == pytest.approx(scaled)
    assert best_first(scores) == ["b", "a", "c"]


def test_a_leg_that_found_nothing_changes_no_order() -> None:
    dense = {"a": 0.9, "b": 0.5, "c": 0.1}
    assert best_first(zscore_sum(dense, {})) == ["a", "b", "c"]
    assert best_first(zscore_sum({}, dense)) == ["a", "b", "c"]
    assert zscore_sum({}, {}) == {}


def test_a_chunk_is_lowered_for_each_better_one_of_its_document() -> None:
    documents = {"a": "one", "b": "one", "c": "two", "d": "one"}
    lowered = lower_repeats({"a": 3.0, "b": 2.5, "c": 2.0, "d": 1.0}, documents, penalty=1.0)
    assert lowered == {"a": 3.0, "b": 1.5, "c": 2.0, "d": -1.0}
    assert best_first(lowered) == ["a", "c", "b", "d"]
