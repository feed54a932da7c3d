"""Accounts that vote together against people who were right before: what is left of the honest boosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from feedback.ranking.boosts import QueryTallies, Votes, query_tallies
from feedback.ranking.drafting import votes_weighed
from feedback.ranking.question_groups import QuestionGroups
from feedback.ranking.voters import UNKNOWN, Voters
from feedback.ranking.weighing import RaterWeights

TODAY = 400
HONEST = (1, 2, 3)
TARGETS = range(500, 518)  # questions; the good passage of each has its number × 10, the bad one that + 1


@dataclass
class Site:
    """Votes by people whose accounts are known."""

    seed: int = 0
    rows: list[tuple[int, int, int, float, int]] = field(default_factory=list)  # question, passage, voter, value, day
    accounts: dict[int, tuple[int, int]] = field(default_factory=dict)  # joined, block

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def join(self, voters: Iterable[int], *, joined: int = 0, block: int = UNKNOWN) -> None:
        self.accounts |= dict.fromkeys(voters, (joined, block))

    def judge(self, voter: int, questions: Iterable[int], *, days: Sequence[int], error: float = 0.2) -> None:
        """The good and the bad passage of each question, each verdict wrong with that chance."""
        for question in questions:
            day = int(self.draw.choice(days))
            for passage, good in ((question * 10, True), (question * 10 + 1, False)):
                up = good != (self.draw.random() < error)
                self.rows.append((question, passage, voter, 1.0 if up else -1.0, day))

    def attack(self, voter: int, questions: Iterable[int] = TARGETS, *, day: int = TODAY) -> None:
        self.judge(voter, questions, days=[day], error=1.0)

    def votes(self) -> Votes:
        rows = sorted(self.rows, key=lambda row: row[-1])
        table = np.asarray(rows, dtype=np.float64).reshape(-1, 5)
        whole = table.astype(np.int64)
        return Votes(
            key=np.arange(len(table)), question=whole[:, 0], passage=whole[:, 1], document=whole[:, 1],
            voter=whole[:, 2], value=table[:, 3], document_value=table[:, 3], day=whole[:, 4],
            normalized_score=np.full(len(table), np.nan),
        )  # fmt: skip

    def voters(self, *, staff: Sequence[int] = ()) -> Voters:
        ids = np.asarray(sorted(self.accounts), dtype=np.int64)
        joined, block = (np.asarray([self.accounts[one][at] for one in ids.tolist()]) for at in (0, 1))
        return Voters.of(ids, joined=joined, block=block, staff=np.isin(ids, staff))

    def weighed(self) -> tuple[QueryTallies, RaterWeights]:
        votes, weights = votes_weighed(self.votes(), lambda _: QuestionGroups(), self.voters())
        return query_tallies(weights.apply(votes)), weights


def established(seed: int) -> Site:
    """Three people with a record on 40 questions, who then judge the targets without error; 20 rate a little."""
    site = Site(seed)
    site.join(range(1, 30))
    for voter in HONEST:
        site.judge(voter, range(100, 140), days=range(100, 300), error=0.15)
        site.judge(voter, TARGETS, days=range(300, 390), error=0.0)
    for voter in range(10, 30):
        site.judge(voter, site.draw.choice(np.arange(100, 140), 4, replace=False), days=range(200, 390))
    return site


def net(site: Site) -> tuple[np.ndarray, np.ndarray]:
    """Votes for minus votes against, on the good passages of the targets and on the bad ones."""
    tallies, _ = site.weighed()
    known = dict(zip(tallies.passage.tolist(), (tallies.up - tallies.down).tolist(), strict=True))
    good = [known.get(question * 10, 0.0) for question in TARGETS]
    bad = [known.get(question * 10 + 1, 0.0) for question in TARGETS]
    return np.asarray(good), np.asarray(bad)


def ten_new(site: Site) -> None:
    site.join(range(50, 60), joined=TODAY - 2)
    for voter in range(50, 60):
        site.attack(voter)


def ten_new_on_one_passage(site: Site) -> None:
    site.join(range(50, 60), joined=TODAY - 2)
    for voter in range(50, 60):
        site.attack(voter, [TARGETS[0]])


def twenty_new(site: Site) -> None:
    for voter in range(50, 70):
        site.join([voter], joined=TODAY - voter % 7)
        site.attack(voter, day=TODAY - voter % 3)


def ten_old_without_record(site: Site) -> None:
    site.join(range(50, 60))
    for voter in range(50, 60):
        site.attack(voter)


def ten_old_with_decoys(site: Site) -> None:
    """They also vote honestly on easy questions meanwhile."""
    ten_old_without_record(site)
    for voter in range(50, 60):
        site.judge(voter, site.draw.choice(np.arange(100, 140), 10, replace=False), days=[TODAY - 1], error=0.0)


def slow_infiltrators(site: Site) -> None:
    """Honest on 20 questions for months, then all together on 18."""
    site.join(range(50, 60))
    for voter in range(50, 60):
        own = site.draw.choice(np.arange(100, 140), 20, replace=False)
        site.judge(voter, own, days=range(100, 380), error=0.1)
        site.attack(voter, day=TODAY - voter % 3)


def infiltrators_with_decoys(site: Site) -> None:
    slow_infiltrators(site)
    for voter in range(50, 60):
        site.judge(voter, site.draw.choice(np.arange(140, 180), 10, replace=False), days=[TODAY - 2], error=0.0)


ATTACKS = [
    ten_new, ten_new_on_one_passage, twenty_new, ten_old_without_record, ten_old_with_decoys, slow_infiltrators,
    infiltrators_with_decoys,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attack", ATTACKS)
def test_honest_boosts_keep_their_sign_and_seven_tenths_of_their_strength(
    attack: Callable[[Site], None], seed: int
) -> None:
    before = net(established(seed))
    site = established(seed)
    attack(site)
    after = net(site)
    assert before[0].min() > 2.0
    assert (after[0] / before[0]).min() >= 0.7
    assert (after[1] / before[1]).min() >= 0.7


# ------------------------------------------------------------------------------------------------ nobody voted before
def strength(attack: Callable[[Site], None]) -> float:
    """Votes for the bad passage of the first target, where nobody else has voted on it."""
    site = Site()
    site.join(range(1, 30))
    for voter in range(1, 30):
        site.judge(voter, site.draw.choice(np.arange(100, 140), 4, replace=False), days=range(200, 390))
    attack(site)
    tallies, _ = site.weighed()
    (row,) = np.flatnonzero(tallies.passage == TARGETS[0] * 10 + 1).tolist()
    return float(tallies.up[row] - tallies.down[row])


@pytest.mark.parametrize(
    ("attack", "most"),
    [(ten_new, 0.3), (twenty_new, 0.3), (ten_new_on_one_passage, 0.3), (ten_old_without_record, 0.1)],
)
def test_where_nobody_else_has_voted_accounts_that_vote_together_count_as_one_or_less(
    attack: Callable[[Site], None], most: float
) -> None:
    assert strength(attack) <= most + 1e-9


def test_accounts_made_from_one_network_count_as_one_on_whatever_days_they_were_made() -> None:
    def attack(site: Site, block: int) -> None:
        for voter in range(50, 60):
            site.join([voter], joined=TODAY - voter % 10 - 10, block=block)
            site.attack(voter, [TARGETS[0]])

    assert strength(lambda site: attack(site, 7)) <= 1.0
    assert strength(lambda site: attack(site, UNKNOWN)) > 3.0


def test_a_network_of_most_of_the_site_says_nothing() -> None:
    def campus(site: Site) -> None:
        site.join(range(1, 60), block=7)
        for voter in range(50, 60):
            site.join([voter], joined=TODAY - voter % 10 - 10, block=7)
            site.attack(voter, [TARGETS[0]])

    assert strength(campus) > 3.0


def test_a_small_site_whose_people_all_rate_the_same_is_no_cohort() -> None:
    site = Site()
    site.join(range(1, 7))
    for voter in range(1, 7):
        site.judge(voter, range(100, 110), days=range(380, 390), error=0.0)
    _, weights = site.weighed()
    assert weights.up.min() > 0.8


# ------------------------------------------------------------------------------------------------ the core
def test_what_the_core_weighs_does_not_change_with_the_votes_of_others() -> None:
    site = established(0)
    _, before = site.weighed()
    ten_old_with_decoys(site)
    _, after = site.weighed()
    assert set(HONEST) <= set(before.rater[before.core].tolist())
    core = np.isin(after.rater, HONEST)
    assert after.up[core].tolist() == pytest.approx(before.up[: len(HONEST)].tolist())
    assert after.down[core].tolist() == pytest.approx(before.down[: len(HONEST)].tolist())


def test_age_alone_makes_nobody_established() -> None:
    site = established(0)
    ten_old_without_record(site)
    _, weights = site.weighed()
    assert not weights.core[np.isin(weights.rater, range(50, 60))].any()


def test_nobody_of_whom_the_account_is_unknown_is_established() -> None:
    site = established(0)
    _, weights = votes_weighed(site.votes(), lambda _: QuestionGroups())
    assert not weights.core.any()


def test_staff_are_established_and_in_no_cohort() -> None:
    site = Site()
    site.join(range(1, 30))
    for voter in (1, 2, 3):
        site.judge(voter, TARGETS, days=[TODAY], error=0.0)
    for voter in range(4, 30):
        site.judge(voter, site.draw.choice(np.arange(100, 140), 4, replace=False), days=range(200, 390))
    votes, weights = votes_weighed(site.votes(), lambda _: QuestionGroups(), site.voters(staff=[1, 2, 3]))
    tallies = query_tallies(weights.apply(votes))
    assert weights.core[:3].all()
    assert tallies.up[tallies.passage == TARGETS[0] * 10].item() > 3.0


def test_a_voter_of_whom_nothing_is_known_weighs_what_the_site_does() -> None:
    _, weights = established(0).weighed()
    vote = established(0).votes().where(np.asarray([0]))
    moved = weights.apply(replace(vote, voter=np.asarray([999]), key=np.asarray([10**9])))
    assert abs(moved.value.item()) == pytest.approx(weights.site)


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        (ten_new_on_one_passage, "one of 10 new accounts made on one day: together they count as one"),
        (ten_old_without_record, "agrees with others no more than by chance"),
        (slow_infiltrators, "in a group of 10 accounts that vote alike: together they count as one"),
    ],
)
def test_it_says_in_words_why_a_voter_counts_less(attack: Callable[[Site], None], reason: str) -> None:
    site = established(1)
    attack(site)
    _, weights = site.weighed()
    told = dict(zip(weights.rater.tolist(), weights.reasons, strict=True))
    assert {told[voter] for voter in range(50, 60)} == {reason}
