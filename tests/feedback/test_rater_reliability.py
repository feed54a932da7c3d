"""Generated voters, and what their votes are found to weigh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from feedback.ranking.boosts import Votes
from feedback.ranking.rater_reliability import (
    FLOOR,
    Verdicts,
    fit_site,
    fit_voters,
    vote_weights,
    votes_to_compare,
)

VOTERS = 60
Chances = Callable[[int], tuple[float, float]]  # of a voter: of an up-vote on a good item, and on a bad one


def crowd(
    chances: Chances, *, votes_an_item: int, items: int = 300, good: float = 0.5, difficult: float = 0.0,
    shared: float = 0.0, seed: int = 0,
) -> Verdicts:  # fmt: skip
    """difficult: share of items on which everybody guesses; shared: on which everybody takes bad for good."""
    draw = np.random.default_rng(seed)
    truth = draw.random(items) < good
    taken_for = np.where(draw.random(items) < shared, ~truth, truth)
    guessed = draw.random(items) < difficult
    item = np.repeat(np.arange(items), votes_an_item)
    voter = np.concatenate([draw.choice(VOTERS, votes_an_item, replace=False) for _ in range(items)] or [item])
    table = np.asarray([chances(one) for one in range(VOTERS)])
    chance = np.where(taken_for[item], table[voter, 0], table[voter, 1])
    up = (draw.random(len(item)) < np.where(guessed[item], 0.5, chance)).astype(np.float64)
    return Verdicts(
        item=item, voter=voter, up=up, cohort=voter, share=np.ones(len(item)),
        normalized_score=np.full(len(item), np.nan),
    )  # fmt: skip


def weights(verdicts: Verdicts) -> tuple[np.ndarray, np.ndarray]:
    """Of each voter's up-votes and down-votes."""
    site = fit_site(verdicts)
    return fit_voters(verdicts, site, voters=VOTERS).weights(site)


def mean_weights(chances: Chances, votes_an_item: int) -> tuple[float, float]:
    """Over all voters of four sites: on one of six, votes that say nothing agree by chance."""
    found = [weights(crowd(chances, votes_an_item=votes_an_item, seed=seed)) for seed in range(4)]
    up, down = np.mean(found, axis=(0, 2)).tolist()
    return up, down


def wrong(error: float) -> Chances:
    return lambda _: (1.0 - error, error)


def always(share: float) -> Chances:
    """Up with that chance whatever the item is."""
    return lambda _: (share, share)


# ------------------------------------------------------------------------------------------------ all alike
@pytest.mark.parametrize("votes_an_item", [2, 4, 8, 16])
@pytest.mark.parametrize(("error", "least", "most"), [(0.1, 0.9, 1.0), (0.2, 0.7, 1.0), (0.3, 0.25, 0.75)])
def test_votes_weigh_by_the_share_of_wrong_verdicts(
    votes_an_item: int, error: float, least: float, most: float
) -> None:
    up, down = mean_weights(wrong(error), votes_an_item)
    assert least <= up <= most
    assert least <= down <= most


def test_the_more_they_err_the_less_they_weigh() -> None:
    found = [weights(crowd(wrong(error), votes_an_item=8))[0].mean() for error in (0.2, 0.3, 0.4, 0.45)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.1


@pytest.mark.parametrize(
    ("share", "votes_an_item", "most"),
    [
        *((0.6, votes_an_item, 0.16) for votes_an_item in (2, 4, 8, 16)),
        *((0.8, votes_an_item, most) for votes_an_item, most in ((2, 0.4), (4, 0.25), (8, 0.15), (16, 0.1))),
        *((0.9, votes_an_item, most) for votes_an_item, most in ((2, 0.5), (4, 0.4), (8, 0.25), (16, 0.1))),
    ],
)
def test_votes_that_say_nothing_come_to_weigh_nothing_and_the_later_the_more_positive_they_are(
    share: float, votes_an_item: int, most: float
) -> None:
    up, down = mean_weights(always(share), votes_an_item)
    assert max(up, down) < most
    assert up <= FLOOR


# ------------------------------------------------------------------------------------------------ up out of habit
def habit(_: int) -> tuple[float, float]:
    """As measured of simulated people who rate whole answers."""
    return 0.967, 0.835


@pytest.mark.parametrize("items", [50, 100, 160, 400])
@pytest.mark.parametrize("seed", range(4))
def test_votes_that_go_up_out_of_habit_keep_a_weight_while_chance_is_not_proven(items: int, seed: int) -> None:
    up, down = weights(crowd(habit, votes_an_item=2, items=items, good=0.75, seed=seed))
    assert up.mean() > 0.8 * FLOOR
    assert down.mean() > 0.8 * FLOOR


def test_where_votes_go_up_out_of_habit_a_down_vote_says_most() -> None:
    found = [weights(crowd(habit, votes_an_item=8, items=600, good=0.75, seed=seed)) for seed in range(4)]
    up, down = np.mean(found, axis=(0, 2)).tolist()
    assert down > 1.5 * up


def test_on_a_site_of_habit_who_contradicts_weighs_less_than_the_floor() -> None:
    verdicts = crowd(lambda voter: (0.6, 0.98) if voter < 5 else (0.97, 0.7), votes_an_item=8, items=600, good=0.75)
    up, down = weights(verdicts)
    assert max(up[:5].max(), down[:5].max()) < FLOOR / 2.0
    assert min(up[5:].mean(), down[5:].mean()) > 0.8 * FLOOR


def test_the_floor_is_gone_where_it_is_proven_that_votes_say_too_little() -> None:
    assert fit_site(crowd(always(0.6), votes_an_item=16)).floor == 0.0


def test_of_voters_who_miss_bad_passages_a_down_vote_says_more_than_an_up_vote() -> None:
    up, down = weights(crowd(lambda _: (0.95, 0.6), votes_an_item=8))
    assert 0.2 < up.mean() < 0.5
    assert down.mean() > 0.6


def test_an_up_vote_says_little_where_nearly_all_votes_are_up_and_few_overlap() -> None:
    up, down = weights(crowd(always(0.9), votes_an_item=1, items=400))
    assert up.mean() < 0.8
    assert up.mean() < down.mean()


def test_errors_that_all_share_raise_nobody_above_one() -> None:
    up, down = weights(crowd(wrong(0.05), votes_an_item=8, shared=0.3))
    assert max(up.max(), down.max()) <= 1.0


def test_difficult_passages_do_not_make_voters_useless() -> None:
    up, _ = weights(crowd(wrong(0.1), votes_an_item=8, difficult=0.3))
    assert up.mean() > 0.6


def test_without_votes_a_vote_weighs_one() -> None:
    site = fit_site(crowd(wrong(0.2), votes_an_item=1, items=0))
    up, down = vote_weights(np.asarray(site.up_if_good), np.asarray(site.up_if_bad))
    assert (float(up), float(down)) == (pytest.approx(1.0), pytest.approx(1.0))


# ------------------------------------------------------------------------------------------------ a mixed site
def mixed(voter: int) -> tuple[float, float]:
    """40 of 60 are wrong one time in five; 5 always say up, 5 always down, 5 the contrary, 5 guess."""
    if voter < 40:
        return 0.8, 0.2
    return {8: (1.0, 1.0), 9: (0.0, 0.0), 10: (0.1, 0.9), 11: (0.5, 0.5)}[voter // 5]


@pytest.mark.parametrize("of", [range(40, 45), range(45, 50), range(50, 55), range(55, 60)])
def test_who_always_says_the_same_guesses_or_contradicts_weighs_nothing(of: range) -> None:
    up, down = weights(crowd(mixed, votes_an_item=16))
    assert max(up[list(of)].mean(), down[list(of)].mean()) < 0.15


def test_others_weigh_their_own_beside_them() -> None:
    up, down = weights(crowd(mixed, votes_an_item=16))
    assert min(up[:40].mean(), down[:40].mean()) > 0.85


def test_accounts_of_one_cohort_do_not_make_each_other_reliable() -> None:
    """Ten that always agree with each other and otherwise guess."""
    verdicts = crowd(wrong(0.2), votes_an_item=8)
    draw = np.random.default_rng(5)
    guess = draw.integers(0, 2, 300).astype(np.float64)
    theirs = verdicts.voter < 10
    together = np.where(theirs, 100, verdicts.voter)
    size = np.bincount(verdicts.item[theirs], minlength=300)[verdicts.item]
    verdicts = replace(
        verdicts, up=np.where(theirs, guess[verdicts.item], verdicts.up), cohort=together,
        share=np.where(theirs, 1.0 / np.maximum(size, 1), 1.0),
    )  # fmt: skip
    up, down = weights(verdicts)
    assert max(up[:10].mean(), down[:10].mean()) < 0.25
    assert min(up[10:].mean(), down[10:].mean()) > 0.7


def test_votes_that_go_with_the_search_give_its_scores_a_say() -> None:
    verdicts = crowd(wrong(0.2), votes_an_item=4)
    draw = np.random.default_rng(1)
    unrelated = replace(verdicts, normalized_score=draw.random(300)[verdicts.item])
    with_votes = replace(verdicts, normalized_score=np.bincount(verdicts.item, verdicts.up)[verdicts.item] / 4.0)
    assert fit_site(with_votes).score_slope > 1.0
    assert fit_site(unrelated).score_slope < 0.5


# ------------------------------------------------------------------------------------------------ what is compared
def votes(passages: int, voters: int) -> Votes:
    passage, voter = (part.ravel() for part in np.meshgrid(np.arange(passages), np.arange(voters), indexing="ij"))
    value, rows = np.ones(len(passage)), np.arange(len(passage))
    return Votes(
        key=rows, question=rows, passage=passage, document=passage, voter=voter, value=value, document_value=value,
        day=np.zeros(len(rows), dtype=np.int64), normalized_score=np.full(len(rows), np.nan),
    )  # fmt: skip


def test_one_persons_votes_are_not_compared_with_each_other() -> None:
    assert len(votes_to_compare(votes(20, 1))) == 0


def test_of_a_passage_the_forty_newest_votes_are_compared() -> None:
    assert sorted(votes_to_compare(votes(1, 50)).voter.tolist()) == list(range(10, 50))
