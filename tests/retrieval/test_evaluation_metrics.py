"""Metrics against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from retrieval.evaluation.metrics import by_best_chunk, latency, measure, ndcg

DISCOUNT = [1 / math.log2(rank + 1) for rank in range(1, 12)]


def test_a_document_found_second_scores_its_discount() -> None:
    result = measure({"q": {"right": 1}}, {"q": ["wrong", "right"]}, k=10)
    assert result["ndcg@10"] == pytest.approx(DISCOUNT[1])
    assert result["mrr"] == pytest.approx(0.5)
    assert (result["recall@10"], result["recall@100"]) == (1.0, 1.0)


def test_grades_count_as_gains() -> None:
    result = measure({"q": {"good": 2, "fair": 1}}, {"q": ["fair", "good"]}, k=10)
    assert result["ndcg@10"] == pytest.approx((1 + 2 * DISCOUNT[1]) / (2 + DISCOUNT[1]))


def test_recall_is_cut_off_at_k_and_at_100() -> None:
    found = [f"wrong{number}" for number in range(10)] + ["right"]
    result = measure({"q": {"right": 1, "missed": 1}}, {"q": found}, k=10)
    assert (result["recall@10"], result["recall@100"], result["ndcg@10"]) == (0.0, 0.5, 0.0)


def test_a_query_that_found_nothing_counts_as_zero() -> None:
    result = measure({"a": {"d": 1}, "b": {"d": 1}}, {"a": ["d"], "b": []}, k=10)
    assert result["ndcg@10"] == pytest.approx(0.5)
    assert result["mrr"] == pytest.approx(0.5)


def test_ndcg_of_each_query_is_by_grade_and_place() -> None:
    qrels = {query: {"a": 1} for query in ("first", "second", "missed")}
    values = ndcg(qrels, {"first": ["a", "b"], "second": ["b", "a"], "missed": ["x"]}, k=10)
    assert values == {"first": 1.0, "second": pytest.approx(DISCOUNT[1]), "missed": 0.0}


def test_another_k_is_named_in_the_result() -> None:
    assert set(measure({"q": {"d": 1}}, {"q": ["d"]}, k=3)) == {"ndcg@3", "recall@3", "recall@100", "mrr"}


def test_a_document_stands_where_its_best_chunk_stands() -> None:
    assert by_best_chunk(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_percentiles() -> None:
    assert latency([float(ms) for ms in range(1, 102)]) == {"p50_ms": 51.0, "p95_ms": 96.0}
