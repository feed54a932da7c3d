from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from feedback.ranking.boosts import Votes
from feedback.ranking.question_groups import QuestionGroups
from feedback.ranking.rater_reliability import (
    MAX_WEIGHT,
    RaterWeights,
    rater_weights,
    votes_to_compare,
)

ONE_QUESTION = QuestionGroups()


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
    return QuestionGroups([(0, 1)])


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
    other = QuestionGroups()
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


# ------------------------------------------------------------------------------------------------ exact figures
def all_the_same(questions: np.ndarray) -> np.ndarray:
    return np.zeros(len(questions), dtype=np.int64)


def pair(*values: float) -> Votes:
    """One vote of each voter on one passage for one question."""
    return replace(crowd(error=0.0, passages=1, voters=len(values)), value=np.asarray(values))


@pytest.mark.parametrize(
    ("values", "site", "rater"),
    [
        ((1.0, 1.0), 1.0294, 1.0294),  # 28.2 of 41 pairs agree: reliability .6129
        ((1.0, -1.0), 0.9378, 0.7196),  # 27.2 of 41: .5717, and .4612 for both raters
        ((1.0, 0.0), 1.0, 1.0),  # nothing to compare: .6, as assumed
    ],
)
def test_weights_follow_from_the_share_of_pairs_that_agree(
    values: tuple[float, ...], site: float, rater: float
) -> None:
    found = rater_weights(pair(*values), all_the_same)
    assert found.site == pytest.approx(site, abs=1e-4)
    assert found.rater_weight.tolist() == pytest.approx([rater] * len(found.rater), abs=1e-4)


def test_little_reliability_takes_a_part_of_the_weight() -> None:
    votes = crowd(error=0.0, passages=40, voters=2)
    disagreeing = (votes.passage < 18) & (votes.voter == 1)
    found = rater_weights(replace(votes, value=np.where(disagreeing, -votes.value, votes.value)), all_the_same)
    assert found.site == pytest.approx(0.6922, abs=1e-4)  # reliability .4796: .7537, times .9183 of the way to .5
    assert found.rater_weight.tolist() == pytest.approx([0.4084, 0.4084], abs=1e-4)


def test_weights_are_factors_of_both_values_of_a_vote() -> None:
    weights = RaterWeights(site=0.5, rater=np.asarray([3, 7]), rater_weight=np.asarray([0.25, 0.0]))
    votes = replace(crowd(error=0.0, passages=1, voters=4), voter=np.asarray([3, 5, 7, 9]))
    votes = replace(votes, document_value=votes.value * 0.1)
    applied = weights.apply(votes)
    assert applied.value.tolist() == pytest.approx([0.25, 0.5, 0.0, 0.5])
    assert applied.document_value.tolist() == pytest.approx([0.025, 0.05, 0.0, 0.05])


def test_of_a_passage_the_forty_newest_votes_are_compared() -> None:
    found = votes_to_compare(crowd(error=0.0, passages=1, voters=50))
    assert sorted(found.voter.tolist()) == list(range(10, 50))


def test_about_five_thousand_votes_are_compared() -> None:
    assert len(votes_to_compare(crowd(error=0.0, passages=200, voters=40))) == 5000
