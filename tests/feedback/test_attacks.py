"""Accounts that vote together against people who were right before: what is left of the honest boosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from feedback.ranking.boosts import QueryTallies, Votes, query_tallies
from feedback.ranking.drafting import votes_weighed
from feedback.ranking.rater_reliability import QuestionGroups
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
        votes, weights = votes_weighed(self.votes(), lambda _: QuestionGroups({}), self.voters())
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
