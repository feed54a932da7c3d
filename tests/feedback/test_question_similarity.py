"""How similar two questions are: exact values of the steps, the thresholds and the index of terms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from feedback.ranking.question_similarity import QuestionSimilarity, TermIndex, smooth_step

SIMILARITY = QuestionSimilarity(cosine_from=0.7, cosine_full=0.9, overlap_from=0.4, overlap_full=0.8)


def floats(*values: float) -> np.ndarray:
    return np.asarray(values, dtype=np.float32)


def with_cosine(cosine: float, count: int = 60) -> np.ndarray:
    """Unit vectors, each pair of which has this cosine."""
    own = np.sqrt(1.0 - cosine) * np.eye(count)
    return np.column_stack((np.full(count, np.sqrt(cosine)), own)).astype(np.float32)


def test_similarity_rises_smoothly_between_its_thresholds() -> None:
    steps = smooth_step(floats(-1.0, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0), 0.4, 0.8)
    assert steps.tolist() == pytest.approx([0.0, 0.0, 0.15625, 0.5, 0.84375, 1.0, 1.0], abs=1e-6)


def test_a_question_without_a_vector_is_similar_to_none() -> None:
    assert SIMILARITY.by_vectors(floats(0.8, np.nan, 0.95)).tolist() == pytest.approx([0.5, 0.0, 1.0], abs=1e-6)


def test_the_higher_of_both_similarities_counts_where_numbers_are_the_same() -> None:
    by_vectors, overlap, same = floats(0.2, 0.9, 0.9), floats(0.6, 0.6, 0.6), np.asarray([True, True, False])
    assert SIMILARITY.combined(by_vectors, overlap, same).tolist() == pytest.approx([0.5, 0.9, 0.0], abs=1e-6)
    assert SIMILARITY.combined(None, overlap, same).tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-6)


# ------------------------------------------------------------------------------------------------ calibration
@pytest.mark.parametrize(
    ("cosine", "begin", "full"), [(0.0, 0.7, 0.9), (0.6, 0.72, 0.72 + 0.28 * 2 / 3), (0.8, 0.86, 0.86 + 0.14 * 2 / 3)]
)
def test_thresholds_are_raised_by_what_unrelated_questions_have_in_common(
    cosine: float, begin: float, full: float
) -> None:
    found = SIMILARITY.calibrated(with_cosine(cosine))
    assert (found.cosine_from, found.cosine_full) == pytest.approx((begin, full), abs=1e-5)
    assert (found.overlap_from, found.overlap_full) == (0.4, 0.8)


def test_thresholds_stay_below_1_for_a_model_that_tells_nothing_apart() -> None:
    found = SIMILARITY.calibrated(with_cosine(1.0))
    assert (found.cosine_from, found.cosine_full) == (0.998, 0.999)


@pytest.mark.parametrize(("known", "raised"), [(49, False), (50, True)])
def test_thresholds_are_raised_by_at_least_fifty_questions_with_a_vector(known: int, raised: bool) -> None:
    vectors = with_cosine(0.8)
    vectors[known:] = np.nan
    assert (SIMILARITY.calibrated(vectors) != SIMILARITY) is raised


# ------------------------------------------------------------------------------------------------ terms
INDEX = TermIndex([["a", "b", "a"], ["a", "2024"], []])
A, B, UNSEEN = math.log1p(4 / 3), math.log1p(4 / 2), math.log1p(4)


def test_a_rare_term_weighs_more() -> None:
    assert [INDEX.rarity(term) for term in ("a", "b", "never")] == pytest.approx([A, B, UNSEEN])
    assert len(INDEX) == 3


def test_overlap_is_the_shared_weight_of_all_weight() -> None:
    overlap, _ = INDEX.compare(["a", "never", "a"])
    assert overlap.tolist() == pytest.approx([A / (A + B + UNSEEN), A / (A + B + UNSEEN), 0.0])


def test_a_question_without_terms_overlaps_with_none() -> None:
    overlap, same = INDEX.compare([])
    assert (overlap.tolist(), same.tolist()) == ([0.0, 0.0, 0.0], [True, False, True])


@pytest.mark.parametrize(
    ("terms", "same"),
    [
        (["a"], [True, False, True]),
        (["a", "2024"], [False, True, False]),
        (["a", "2024", "7"], [False, False, False]),
        (["a", "2025"], [False, False, False]),
    ],
)
def test_questions_have_the_same_numbers_or_not(terms: list[str], same: list[bool]) -> None:
    assert INDEX.compare(terms)[1].tolist() == same


def test_of_several_numbers_all_have_to_be_there() -> None:
    index = TermIndex([["fee", "2024", "2025"]])
    assert index.compare(["fee", "2024"])[1].tolist() == [False]
    assert index.compare(["fee", "2025", "2024"])[1].tolist() == [True]
