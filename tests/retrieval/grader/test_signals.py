from dataclasses import replace

import numpy as np
import pytest

from retrieval.answerability.signals import LIST_SIGNALS, PASSAGE_SIGNALS, list_signals, passage_signals, read_pool
from retrieval.values import Scores
from tests.retrieval.grader.lists import PASSAGES, scored


def signal(name: str, question: str, rows=PASSAGES, **options) -> list[float]:
    return passage_signals(read_pool(question, scored(rows), **options))[:, PASSAGE_SIGNALS.index(name)].tolist()


def test_coverage_is_whole_for_the_passage_that_holds_every_term() -> None:
    coverage = signal("coverage", "May undergraduates borrow books?")
    assert coverage[0] == 1.0
    assert max(coverage[1:]) < 0.5  # "booked" meets "books"


def test_a_number_of_the_question_that_is_absent_is_noticed() -> None:
    assert signal("numbers_missing", "What costs 60 euros?")[:3] == [1.0, 1.0, 0.0]


def test_a_question_for_a_date_does_not_fit_a_passage_without_one() -> None:
    rows = (("", "The bridge opened in 1931.", 0.5, 2.0), ("", "The bridge is long.", 0.5, 2.0))
    assert signal("unfit", "When did the bridge open?", rows) == [0.0, 1.0]


def test_neighbours_in_the_question_count_when_they_are_neighbours_in_a_sentence() -> None:
    rows = (
        ("", "The oil crisis began early.", 0.5, 2.0),
        ("", "Crisis came to many towns in the long winter before anybody had found oil.", 0.5, 2.0),
    )
    near = signal("near", "oil crisis", rows)
    assert near == [1.0, 0.0]


def test_both_legs_agree_on_the_first() -> None:
    assert signal("agreement", "borrow books") == pytest.approx([1, 1 / 4, 1 / 9, 1 / 16])


def test_lexical_vectors_are_left_out() -> None:
    pool = read_pool("borrow books", scored(PASSAGES), semantic=False)
    assert not pool.has_vectors
    assert not pool.dense.any()


def test_a_candidate_that_a_leg_did_not_find_scores_like_its_last() -> None:
    candidates = scored(PASSAGES)
    candidates[0] = replace(candidates[0], scores=Scores(dense=None, bm25=9.1))
    assert read_pool("borrow books", candidates).dense[0] == pytest.approx(0.08)


def test_every_signal_is_finite_for_a_single_empty_passage() -> None:
    pool = read_pool("borrow books", scored((("", "", None, 0.0),)))
    signals = passage_signals(pool)
    whole = list_signals(pool, signals, np.array([0.0]))
    assert signals.shape == (1, len(PASSAGE_SIGNALS))
    assert whole.shape == (len(LIST_SIGNALS),)
    assert np.isfinite(signals).all()
    assert np.isfinite(whole).all()
