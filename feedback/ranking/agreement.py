"""How far votes can be believed: people who judged the same passage for the same question either agree or they don't.

If each verdict is wrong with probability e, two agree with probability (1 − e)² + e², whatever the truth is; so
1 − 2e is known from agreement alone, without labels (the idea behind Dawid and Skene, Applied Statistics 28, 1979). A
vote counts by its log-likelihood ratio ln((1 − e) / e), against that of an assumed e: where people contradict each
other, ratings move little, and nothing at all where they nearly throw dice. The same for each voter against the others:
who votes against everybody, from malice or by mistake, is not believed. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import Votes

Ints = NDArray[np.int64]
SAME_QUESTION = 0.6  # shared part of two questions' terms from which they ask the same
ASSUMED_ERROR = 0.2  # share of wrong verdicts that full weight stands for
PAIRS_ASSUMED = 40  # with that error, before anything is known of a site
PAIRS_OF_A_VOTER = 20  # with the others' agreement, before anything is known of a voter
MOST_WEIGHT, MOST_RELIABLE = 1.5, 0.99
USELESS, USEFUL = 0.25, 0.5  # reliability up to which votes do nothing, and from which they do all they can
COMPARED = 5_000  # votes that are looked at; agreement is a matter of hundreds
OF_ONE_PASSAGE = 40


@dataclass(frozen=True, slots=True)
class SameQuestion:
    """Groups questions that are the same in other words. terms: the distinct terms of each question."""

    terms: Mapping[int, frozenset[str]]

    def __call__(self, questions: Ints) -> Ints:
        """The group of each, named by the place of its first question."""
        none: frozenset[str] = frozenset()
        terms = [self.terms.get(int(question), none) for question in questions]
        groups: list[int] = []
        for at, mine in enumerate(terms):
            same = (first for first in dict.fromkeys(groups) if _alike(mine, terms[first]))
            groups.append(next(same, at))
        return np.asarray(groups, dtype=np.int64)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return bool(shared) and shared / (len(one) + len(other) - shared) >= SAME_QUESTION


def to_compare(votes: Votes) -> Votes:
    """Votes on passages that several people have rated: at most COMPARED of them, the newest of a passage."""
    if not len(votes):
        return votes
    order = np.lexsort((-votes.key, votes.passage))
    passage = votes.passage[order]
    starts = np.flatnonzero(np.append(True, passage[1:] != passage[:-1]))
    kept: list[Ints] = []
    total = 0
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = order[start : min(end, start + OF_ONE_PASSAGE)]
        if len(rows) > 1 and len(np.unique(votes.voter[rows])) > 1:
            kept.append(rows)
            total += len(rows)
            if total >= COMPARED:
                break
    return votes.where(np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How much votes weigh: everybody's 0 … MOST_WEIGHT, 1 at the assumed error; and that of those who weigh less.

    voter: sorted; voter_weight: of each, at most everybody's.
    """

    everybody: float
    voter: Ints
    voter_weight: NDArray[np.float64]

    def weigh(self, votes: Votes) -> Votes:
        weight = np.full(len(votes), self.everybody)
        if len(self.voter):
            at = np.minimum(np.searchsorted(self.voter, votes.voter), len(self.voter) - 1)
            weight = np.where(self.voter[at] == votes.voter, self.voter_weight[at], weight)
        return replace(votes, value=votes.value * weight, document_value=votes.document_value * weight)


def trust(votes: Votes, same_question: Callable[[Ints], Ints]) -> Trust:
    """votes: one voice each, of those that `to_compare` gives; who repeats a vote would outvote the others' honesty.

    Whoever contradicts the others more than people do among themselves is believed less, down to nothing. The other way
    round it does not go: agreeing by chance would make a vote count more because it agreed. How reliable people are is
    then judged once more without those who are not.
    """
    votes = votes.where(votes.value != 0.0)
    agreed, others = _agreement(votes, same_question)
    common, reliability = _reliability(agreed, others)
    voter, place = np.unique(votes.voter, return_inverse=True)
    own = (np.bincount(place, agreed, len(voter)) + PAIRS_OF_A_VOTER * common) / (
        np.bincount(place, others, len(voter)) + PAIRS_OF_A_VOTER
    )
    # A voter agrees with the others with probability (1 + own reliability × theirs) / 2.
    theirs = np.clip((2.0 * own - 1.0) / max(reliability, 1e-9), 0.0, reliability)
    among_trusted = votes.where(theirs[place] >= reliability / 2.0)
    _, reliability = _reliability(*_agreement(among_trusted, same_question))
    weight = _weight(np.minimum(theirs, reliability)) * _share_believed(reliability)
    return Trust(everybody=float(_weight(reliability) * _share_believed(reliability)), voter=voter, voter_weight=weight)


def _reliability(agreed: Ints, others: Ints) -> tuple[float, float]:
    """The share of pairs that agree, and 1 − 2e."""
    assumed = (1.0 - ASSUMED_ERROR) ** 2 + ASSUMED_ERROR**2
    common = float((agreed.sum() / 2 + PAIRS_ASSUMED * assumed) / (others.sum() / 2 + PAIRS_ASSUMED))
    return common, min(math.sqrt(max(0.0, 2.0 * common - 1.0)), MOST_RELIABLE)


def _share_believed(reliability: float) -> float:
    """0..1. Where nearly half of the verdicts are wrong, what they say is less than what their weighing gets wrong."""
    return min(1.0, max(0.0, (reliability - USELESS) / (USEFUL - USELESS)))


def _weight(reliability: NDArray[np.float64] | float) -> NDArray[np.float64]:
    ratio = np.log((1.0 + np.asarray(reliability)) / (1.0 - np.asarray(reliability)))
    return np.asarray(np.minimum(MOST_WEIGHT, ratio / math.log((1.0 - ASSUMED_ERROR) / ASSUMED_ERROR)))


def _agreement(votes: Votes, same_question: Callable[[Ints], Ints]) -> tuple[Ints, Ints]:
    """For each vote: other people's votes on its passage for its question that agree with it, and all of them."""
    agreed, others = np.zeros(len(votes), dtype=np.int64), np.zeros(len(votes), dtype=np.int64)
    order = np.argsort(votes.passage, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(votes.passage[order])) + 1) if len(order) else []:
        groups = same_question(votes.question[rows])
        together = (groups[:, None] == groups) & (votes.voter[rows][:, None] != votes.voter[rows])
        alike = (votes.value[rows] > 0)[:, None] == (votes.value[rows] > 0)
        others[rows], agreed[rows] = together.sum(axis=1), (together & alike).sum(axis=1)
    return agreed, others
