"""Cohorts: accounts that may be one person. Their votes on one passage for one question count as one. Pure.

Two kinds, neither with staff:

- made together: young accounts of one day of sign-up, or of one block of addresses;
- vote alike: in one fortnight they rate mostly the same passages for the same questions, in the same direction. This is
  found of votes, not of accounts, so it also holds for accounts that were honest before. Where the whole site rates
  the same few passages that says nothing.

Two people who vote alike are no cohort.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import Votes
from feedback.ranking.groups import Groups
from feedback.ranking.voters import UNKNOWN, YOUNG_ACCOUNT_DAYS, Voters, account_age

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
PERIOD_DAYS = 14  # within which votes are compared; periods overlap by half
SHARED_QUESTIONS = 3  # with votes of both on the same passage, at least
SHARED_VOTES = 0.3  # Jaccard overlap of two accounts' votes in a period, by question, passage and direction
BEYOND_CHANCE = 1.5  # times the passages that both would rate had each chosen theirs at random among all rated ones
SAME_DIRECTION = 0.9  # share of the votes on the same passages that agree
LEAST_ACCOUNTS = 3  # of a cohort
NEIGHBOURS = 12  # accounts that each is compared with on one passage: a cohort is found as a chain
MOST_OF_SITE = 0.5  # a block with more of the site's voters is the site's own network, and says nothing


def made_together(votes: Votes, voters: Voters, place: Ints, *, exempt: Mask) -> tuple[Ints, Ints]:
    """Of each vote the cohort by day of sign-up and the one by block of addresses, UNKNOWN: none. Shape (votes,).

    place: of each vote's voter in `voters`. exempt: shape (voters,), staff and the core.
    """
    joined, block = voters.joined[place], voters.block[place]
    young = (account_age(joined, votes.day) < YOUNG_ACCOUNT_DAYS) & ~exempt[place]
    blocks, sizes = np.unique(voters.block[voters.block != UNKNOWN], return_counts=True)
    own_network = np.isin(block, blocks[sizes > max(LEAST_ACCOUNTS, MOST_OF_SITE * len(voters))])
    by_day = _large_enough(np.where(young, joined, UNKNOWN), votes.voter)
    by_block = _large_enough(np.where(young & (block != UNKNOWN) & ~own_network, block, UNKNOWN), votes.voter)
    return by_day, by_block


def vote_alike(votes: Votes, item: Ints, question: Ints, *, exempt: Mask) -> Ints:
    """Of each vote the cohort that votes alike, UNKNOWN: none. Shape (votes,).

    item: of each vote, its question (or one that asks the same) and passage; question: of each vote, that question.
    exempt: shape (votes,). Linear in the votes: each is compared with NEIGHBOURS others on its item.
    """
    cohort = np.full(len(votes), UNKNOWN, dtype=np.int64)
    rows = np.flatnonzero(~exempt & (votes.value != 0.0))
    next_number = 0
    for offset in (0, PERIOD_DAYS // 2):
        period = (votes.day[rows] + offset) // PERIOD_DAYS
        units = Groups.by(votes.voter[rows], period)
        unit = np.empty(len(rows), dtype=np.int64)
        unit[units.order] = np.repeat(np.arange(len(units.starts)), units.sizes)
        pairs = _alike(unit, item[rows], question[rows], votes.value[rows] > 0.0)
        number = _connected(pairs, len(units.starts))[unit]
        found = (number != UNKNOWN) & (cohort[rows] == UNKNOWN)
        cohort[rows[found]] = number[found] + next_number
        next_number += int(number.max(initial=-1)) + 1
    return _large_enough(cohort, votes.voter)


def _alike(unit: Ints, item: Ints, question: Ints, up: Mask) -> Ints:
    """Pairs of units (one account's votes of one period) that vote alike. Returns shape (pairs, 2)."""
    order = np.lexsort((unit, item))
    unit, item, question, up = unit[order], item[order], question[order], up[order]
    often = _often_beside(unit, item)
    first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for rows, step in _beside(unit, item):
        rows = rows[np.isin(_pair_keys(unit, rows, step), often)]
        first.append(rows)
        second.append(rows + step)
    a, b = np.concatenate(first), np.concatenate(second)
    pairs = Groups.by(unit[a], unit[b])
    same = (up[a] == up[b]).astype(np.int64)
    both, agreeing = pairs.sizes, pairs.sum(same)
    votes = np.bincount(unit, minlength=int(unit.max(initial=-1)) + 1)
    left, right = unit[a[pairs.first]], unit[b[pairs.first]]
    questions = Groups.by(unit[a], unit[b], question[a])
    asked = Groups.by(unit[a[questions.first]], unit[b[questions.first]]).sizes
    overlap = agreeing / np.maximum(votes[left] + votes[right] - agreeing, 1)
    by_chance = votes[left] * votes[right] / max(1, len(np.unique(item)))
    alike = (
        (both >= BEYOND_CHANCE * by_chance)
        & (asked >= SHARED_QUESTIONS)
        & (overlap >= SHARED_VOTES)
        & (agreeing >= SAME_DIRECTION * both)
    )
    return np.column_stack((left[alike], right[alike]))


def _beside(unit: Ints, item: Ints) -> Iterator[tuple[Ints, int]]:
    """Rows of two units on one item, as the first row and the step to the second, up to NEIGHBOURS. Ascending items."""
    for step in range(1, NEIGHBOURS + 1):
        yield np.flatnonzero((item[step:] == item[:-step]) & (unit[step:] != unit[:-step])), step


def _pair_keys(unit: Ints, rows: Ints, step: int) -> Ints:
    """A number for each two units."""
    return unit[rows] * (int(unit.max(initial=0)) + 1) + unit[rows + step]


def _often_beside(unit: Ints, item: Ints) -> Ints:
    """The keys of those that stand beside each other at least SHARED_QUESTIONS times, as all that vote alike do. Few
    do, so all that is computed of pairs is computed of these alone."""
    keys = np.concatenate([_pair_keys(unit, rows, step) for rows, step in _beside(unit, item)])
    keys.sort()
    last = SHARED_QUESTIONS - 1
    return np.unique(keys[last:][keys[last:] == keys[: len(keys) - last]])


def _connected(pairs: Ints, units: int) -> Ints:
    """Of each unit the number of its connected component, UNKNOWN: it is in no pair."""
    parent: dict[int, int] = {}

    def root(one: int) -> int:
        while parent.setdefault(one, one) != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for left, right in pairs.tolist():
        parent[root(left)] = root(right)
    number = np.full(units, UNKNOWN, dtype=np.int64)
    numbers: defaultdict[int, int] = defaultdict(lambda: len(numbers))
    for one in sorted(parent):
        number[one] = numbers[root(one)]
    return number


def _large_enough(cohort: Ints, voter: Ints) -> Ints:
    """Without those of fewer than LEAST_ACCOUNTS accounts. cohort, voter: of each vote."""
    rows = np.flatnonzero(cohort != UNKNOWN)
    accounts = Groups.by(cohort[rows], voter[rows]).first
    numbers, sizes = np.unique(cohort[rows][accounts], return_counts=True)
    return np.where(np.isin(cohort, numbers[sizes >= LEAST_ACCOUNTS]), cohort, UNKNOWN)
