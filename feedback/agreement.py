"""How far votes can be believed: people who judged the same passage for the same question either agree or they don't.

If each verdict is wrong with probability e, two agree with probability (1 − e)² + e², whatever the truth is; so
1 − 2e is known from agreement alone, without labels (the idea behind Dawid and Skene, Applied Statistics 28, 1979). A
vote counts by its log-likelihood ratio ln((1 − e) / e), against that of an assumed e: where people contradict each
other, ratings move little, and nothing at all where they throw dice. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedback.boosts import Votes

Ints = NDArray[np.int64]
SAME_QUESTION = 0.6  # shared part of two questions' terms from which they ask the same
ASSUMED_ERROR = 0.2  # share of wrong verdicts that full weight stands for
PAIRS_ASSUMED = 40  # with that error, before anything is known of a site
MOST_WEIGHT = 1.5
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


def weight_of_votes(votes: Votes, same_question: Callable[[Ints], Ints]) -> float:
    """0 … MOST_WEIGHT, 1 at the assumed error. votes: one voice each, as `to_compare` gives them."""
    agreed, pairs = _pairs(votes, same_question)
    assumed = (1.0 - ASSUMED_ERROR) ** 2 + ASSUMED_ERROR**2
    agreement = (agreed + PAIRS_ASSUMED * assumed) / (pairs + PAIRS_ASSUMED)
    reliability = min(math.sqrt(max(0.0, 2.0 * agreement - 1.0)), 0.99)  # 1 − 2e
    ratio = math.log((1.0 + reliability) / (1.0 - reliability))
    return min(MOST_WEIGHT, ratio / math.log((1.0 - ASSUMED_ERROR) / ASSUMED_ERROR))


def weighed(votes: Votes, weight: float) -> Votes:
    return replace(votes, value=votes.value * weight, document_value=votes.document_value * weight)


def _pairs(votes: Votes, same_question: Callable[[Ints], Ints]) -> tuple[int, int]:
    """Pairs of votes of two people on one passage for one question: those that agree, and all."""
    agreed = pairs = 0
    for passage in np.unique(votes.passage):
        rows = np.flatnonzero((votes.passage == passage) & (votes.value != 0.0))
        groups = same_question(votes.question[rows])
        for group in np.unique(groups):
            inside = rows[groups == group]
            same_way, all_pairs = _of_one_question(votes.voter[inside].tolist(), (votes.value[inside] > 0).tolist())
            agreed, pairs = agreed + same_way, pairs + all_pairs
    return agreed, pairs


def _of_one_question(voters: Sequence[int], ups: Sequence[bool]) -> tuple[int, int]:
    agreed = pairs = 0
    for at, (voter, up) in enumerate(zip(voters, ups, strict=True)):
        for other, other_up in zip(voters[:at], ups[:at], strict=True):
            if voter != other:
                agreed, pairs = agreed + (up == other_up), pairs + 1
    return agreed, pairs
