from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from feedback.ranking.agreement import MOST_WEIGHT, SameQuestion, to_compare, trust
from feedback.ranking.boosts import Votes

ONE_QUESTION = SameQuestion({})


def crowd(*, error: float, passages: int = 200, voters: int = 5, questions: int = 1, seed: int = 0) -> Votes:
    """Each voter judges each passage, half of which are right, and errs by chance."""
    draw = np.random.default_rng(seed)
    passage, voter = (part.ravel() for part in np.meshgrid(np.arange(passages), np.arange(voters), indexing="ij"))
    truth = np.where(passage % 2 == 0, 1.0, -1.0)
    value = np.where(draw.random(len(passage)) < error, -truth, truth)
    rows = np.arange(len(passage))
    return Votes(
        key=rows, question=voter % questions, passage=passage, document=passage, voter=voter, value=value,
        document_value=value, day=np.zeros(len(rows), dtype=np.int64),
        standing=np.full(len(rows), np.nan),
    )  # fmt: skip


def weight(votes: Votes, same_question: SameQuestion = ONE_QUESTION) -> float:
    return trust(to_compare(votes), same_question).everybody


def same() -> SameQuestion:
    return SameQuestion({0: frozenset({"loan", "period", "book"}), 1: frozenset({"loan", "book", "period", "ask"})})


def test_the_assumed_error_gives_full_weight() -> None:
    assert weight(crowd(error=0.2), same()) == pytest.approx(1.0, abs=0.1)


def test_people_who_agree_weigh_more_but_not_without_bound() -> None:
    assert weight(crowd(error=0.0), same()) == MOST_WEIGHT


def test_people_who_throw_dice_weigh_next_to_nothing() -> None:
    assert weight(crowd(error=0.5), same()) < 0.25


def test_the_more_they_err_the_less_they_weigh() -> None:
    weights = [weight(crowd(error=error), same()) for error in (0.1, 0.2, 0.3, 0.4)]
    assert weights == sorted(weights, reverse=True)


def test_wordings_of_one_question_are_compared() -> None:
    assert weight(crowd(error=0.5, questions=2), same()) < 0.3


def test_verdicts_for_different_questions_do_not_contradict_each_other() -> None:
    other = SameQuestion({0: frozenset({"loan", "period"}), 1: frozenset({"parking", "fee"})})
    assert weight(crowd(error=0.5, voters=2, questions=2), other) == pytest.approx(1.0)


def test_without_votes_the_assumption_stands() -> None:
    assert weight(crowd(error=0.0, passages=0)) == pytest.approx(1.0)


def test_one_persons_votes_are_not_compared_with_each_other() -> None:
    assert len(to_compare(crowd(error=0.0, voters=1))) == 0


def against_everybody(*, honest: int = 5, passages: int = 40) -> Votes:
    """As `crowd`, and one more, voter 99, who always says the opposite of the truth."""
    votes = crowd(error=0.2, passages=passages, voters=honest)
    passage = np.arange(passages)
    theirs = crowd(error=1.0, passages=passages, voters=1)
    columns = {
        name: np.concatenate((getattr(votes, name), getattr(theirs, name)))
        for name in ("question", "passage", "document", "value", "document_value", "day", "standing")
    }
    voter = np.concatenate((votes.voter, np.full(len(passage), 99)))
    return Votes(key=np.arange(len(voter)), voter=voter, **columns)


def test_who_votes_against_everybody_is_not_believed() -> None:
    votes = against_everybody()
    weighed = trust(to_compare(votes), same()).weigh(votes)
    theirs = np.abs(weighed.value[votes.voter == 99])
    others = np.abs(weighed.value[votes.voter != 99])
    assert theirs.max() == 0.0
    assert others.min() > 0.3


def test_nobody_weighs_more_for_agreeing_by_chance() -> None:
    found = trust(to_compare(crowd(error=0.4)), same())
    assert found.voter_weight.max() <= found.everybody


def test_of_whom_nothing_is_known_counts_as_everybody_does() -> None:
    stranger = crowd(error=0.0, passages=1, voters=1)
    found = trust(to_compare(against_everybody()), same())
    moved = found.weigh(replace(stranger, voter=np.array([1234])))
    assert moved.value.tolist() == [found.everybody]
