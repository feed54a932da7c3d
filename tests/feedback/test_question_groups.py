"""Which pairs of questions are looked at, and how decided ones make groups."""

from __future__ import annotations

import numpy as np
import pytest

from feedback.ranking.question_groups import (
    DecidedPairs,
    QuestionGroups,
    decide_among,
    nearest_by_terms,
    nearest_by_vectors,
)
from feedback.ranking.same_question import shipped_model
from retrieval.text.analysis import query_terms


def ints(*values: int) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


def test_questions_decided_the_same_are_a_group() -> None:
    assert QuestionGroups([(2, 5)])(ints(2, 3, 5, 2)).tolist() == [0, 1, 0, 0]


def test_no_chain_of_pairs_joins_two_questions() -> None:
    assert QuestionGroups([(1, 2), (2, 3)])(ints(1, 2, 3)).tolist() == [0, 0, 2]


def test_pairs_below_one_half_are_no_group() -> None:
    decided = DecidedPairs(np.asarray([[1, 2], [3, 4]]), np.asarray([0.49, 0.5], dtype=np.float32))
    assert QuestionGroups.of(decided)(ints(1, 2, 3, 4)).tolist() == [0, 1, 2, 2]


def test_pairs_among_some_questions_have_both_among_them() -> None:
    decided = DecidedPairs(np.asarray([[1, 2], [1, 3]]), np.asarray([0.9, 0.9], dtype=np.float32))
    assert decided.among(ints(1, 3)).question.tolist() == [[1, 3]]


def test_the_nearest_by_vectors_are_found_over_all_blocks() -> None:
    vectors = np.asarray([[1, 0], [0, 1], [0.98, 0.199], [0.9, 0.436]], dtype=np.float32)
    blocks = [(ints(10, 11), vectors[:2]), (ints(12, 13), vectors[2:])]
    found = nearest_by_vectors(ints(10), vectors[:1], blocks, background=0.5)
    assert found == {(10, 12): pytest.approx(0.96, abs=1e-3), (10, 13): pytest.approx(0.8, abs=1e-3)}


def test_the_nearest_by_terms_share_enough_of_them() -> None:
    terms = [["loan", "period"], ["parking", "fee"], ["loan", "period", "book"]]
    assert list(nearest_by_terms(ints(1), ints(1, 2, 3), terms)) == [(1, 3)]


def test_all_pairs_of_a_simulation_are_decided_at_once() -> None:
    texts = ["When does the semester begin?", "When does the semester start?", "Where is the parking fee paid?"]
    terms = [query_terms(text) for text in texts]
    found = decide_among(ints(0, 1, 2), texts, terms, None, background=0.2, model=shipped_model())
    assert found.question.tolist() == [[0, 1]]
    assert found.same[0] >= 0.5
