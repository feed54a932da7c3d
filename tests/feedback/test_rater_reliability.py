from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from feedback.ranking.boosts import Votes
from feedback.ranking.rater_reliability import MAX_WEIGHT, QuestionGroups, rater_weights, votes_to_compare

ONE_QUESTION = QuestionGroups({})


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
        normalized_score=np.full(len(rows), np.nan),
    )  # fmt: skip


def weight(votes: Votes, groups: QuestionGroups = ONE_QUESTION) -> float:
    return rater_weights(votes_to_compare(votes), groups).site


def same() -> QuestionGroups:
    return QuestionGroups({0: frozenset({"loan", "period", "book"}), 1: frozenset({"loan", "book", "period", "ask"})})


def test_the_assumed_error_gives_full_weight() -> None:
    assert weight(crowd(error=0.2), same()) == pytest.approx(1.0, abs=0.1)


def test_people_who_agree_weigh_more_but_not_without_bound() -> None:
    assert weight(crowd(error=0.0), same()) == MAX_WEIGHT


def test_people_who_rate_at_random_weigh_next_to_nothing() -> None:
    assert weight(crowd(error=0.5), same()) < 0.25


def test_the_more_they_err_the_less_they_weigh() -> None:
    weights = [weight(crowd(error=error), same()) for error in (0.1, 0.2, 0.3, 0.4)]
    assert weights == sorted(weights, reverse=True)


def test_wordings_of_one_question_are_compared() -> None:
    assert weight(crowd(error=0.5, questions=2), same()) < 0.3


def test_verdicts_for_different_questions_do_not_contradict_each_other() -> None:
    other = QuestionGroups({0: frozenset({"loan", "period"}), 1: frozenset({"parking", "fee"})})
    assert weight(crowd(error=0.5, voters=2, questions=2), other) == pytest.approx(1.0)


def test_without_votes_the_assumption_stands() -> None:
    assert weight(crowd(error=0.0, passages=0)) == pytest.approx(1.0)


def test_one_persons_votes_are_not_compared_with_each_other() -> None:
    assert len(votes_to_compare(crowd(error=0.0, voters=1))) == 0


def with_a_contrarian(*, honest: int = 5, passages: int = 40) -> Votes:
    """As `crowd`, and one more, voter 99, who always says the opposite of the truth."""
    votes = crowd(error=0.2, passages=passages, voters=honest)
    passage = np.arange(passages)
    theirs = crowd(error=1.0, passages=passages, voters=1)
    columns = {
        name: np.concatenate((getattr(votes, name), getattr(theirs, name)))
        for name in ("question", "passage", "document", "value", "document_value", "day", "normalized_score")
    }
    voter = np.concatenate((votes.voter, np.full(len(passage), 99)))
    return Votes(key=np.arange(len(voter)), voter=voter, **columns)


def test_a_rater_who_disagrees_with_everybody_gets_weight_0() -> None:
    votes = with_a_contrarian()
    weighed = rater_weights(votes_to_compare(votes), same()).apply(votes)
    theirs = np.abs(weighed.value[votes.voter == 99])
    others = np.abs(weighed.value[votes.voter != 99])
    assert theirs.max() == 0.0
    assert others.min() > 0.3


def test_nobody_weighs_more_for_agreeing_by_chance() -> None:
    found = rater_weights(votes_to_compare(crowd(error=0.4)), same())
    assert found.rater_weight.max() <= found.site


def test_a_rater_of_whom_nothing_is_known_gets_the_weight_of_the_site() -> None:
    stranger = crowd(error=0.0, passages=1, voters=1)
    found = rater_weights(votes_to_compare(with_a_contrarian()), same())
    moved = found.apply(replace(stranger, voter=np.array([1234])))
    assert moved.value.tolist() == [found.site]
