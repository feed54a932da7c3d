"""A model's word on whether two questions want the same answer counts for what it was measured to be worth."""

from __future__ import annotations

import random

import pytest

from feedback.ranking.question_witness import LabelledPair, Witness, is_open, labelled_pairs, witness_of
from feedback.ranking.same_question import FORBIDDEN

PAIRS = [LabelledPair(first=f"a{at}", second=f"b{at}", same=at % 2 == 0) for at in range(24)]


def good() -> Witness:
    witness = witness_of(PAIRS, [0.8 + at / 200 if pair.same else 0.3 - at / 200 for at, pair in enumerate(PAIRS)])
    assert witness is not None
    return witness


def test_a_yes_lifts_and_a_no_lowers_as_far_as_the_model_is_worth() -> None:
    assert good().together(0.4, 0.95) > 0.7
    assert good().together(0.7, 0.05) < 0.4


def test_one_word_never_settles_a_pair_by_itself() -> None:
    assert good().together(0.06, 0.9999) < 0.9
    assert good().together(0.9, 0.0001) > 0.2


def test_a_word_in_the_middle_says_nothing_of_its_own() -> None:
    low, high = (Witness(slope=slope, middle=0.5).together(0.5, 0.6225) for slope in (0.5, 3.0))
    assert low == pytest.approx(high, abs=0.01)  # the log-odds of .6225 are .5


def test_a_model_whose_yes_comes_easily_is_measured_by_how_sure_it_is() -> None:
    eager = witness_of(PAIRS, [0.99 if pair.same else 0.8 + at / 400 for at, pair in enumerate(PAIRS)])
    assert eager is not None
    assert eager.together(0.5, 0.82) < 0.5 < eager.together(0.5, 0.99)


@pytest.mark.parametrize(
    "yes",
    [
        [0.9] * 24,
        [0.1] * 24,
        [0.5 + at % 3 / 10 for at in range(24)],
        [0.2 if pair.same else 0.8 for pair in PAIRS],
    ],
    ids=["always yes", "always no", "by another rule", "the other way round"],
)
def test_a_model_that_does_not_tell_like_from_unlike_is_no_witness(yes: list[float]) -> None:
    assert witness_of(PAIRS, yes) is None


def test_a_model_that_guesses_is_hardly_ever_taken_for_a_witness() -> None:
    draw = random.Random(0)
    taken = sum(witness_of(PAIRS, [draw.random() for _ in PAIRS]) is not None for _ in range(500))
    assert taken <= 15


def test_too_few_pairs_tell_nothing() -> None:
    assert witness_of(PAIRS[:10], [0.9 if pair.same else 0.1 for pair in PAIRS[:10]]) is None


def test_questions_that_a_difference_sets_apart_are_not_asked_about() -> None:
    assert not is_open(FORBIDDEN)
    assert not is_open(0.95)
    assert is_open(0.5)


def test_the_measured_pairs_are_of_both_sorts_and_all_three_scripts() -> None:
    pairs = labelled_pairs()
    assert sum(pair.same for pair in pairs) * 2 == len(pairs) == 24
    text = "".join(pair.first for pair in pairs)
    assert all(any(sign in text for sign in signs) for signs in ("abc", "这书", "這藥"))
