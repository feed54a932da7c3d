"""How reliable ratings are, estimated from agreement: people who rated the same passage for the same question.

If each verdict is wrong with probability e, two people agree with probability (1 − e)² + e². So the share of pairs that
agree gives the reliability 1 − 2e, without labels (the idea of Dawid and Skene, Applied Statistics 28, 1979). A vote
is weighed by its log-likelihood ratio ln((1 − e) / e), divided by that of ASSUMED_ERROR. Where people disagree often,
votes count little; near chance they count nothing. The same is done for each rater: who disagrees with the majority
weighs less. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import Votes
from feedback.ranking.groups import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ASSUMED_ERROR = 0.2  # share of wrong verdicts at which a vote has weight 1
SITE_PRIOR_PAIRS = 40  # pairs with that error, added to what is known of the site
RATER_PRIOR_PAIRS = 20  # pairs with the site's share of agreement, added to what is known of a rater
MAX_WEIGHT, MAX_RELIABILITY = 1.5, 0.99
USELESS, USEFUL = 0.25, 0.5  # reliability up to which votes have weight 0, and from which they have their full weight
MAX_COMPARED = 5_000  # votes; some hundreds are enough to know the agreement
MAX_COMPARED_OF_PASSAGE = 40


def votes_to_compare(votes: Votes) -> Votes:
    """Votes on passages that several people rated: the newest of each passage, about MAX_COMPARED in all."""
    chosen: list[Ints] = [np.zeros(0, dtype=np.int64)]
    count = 0
    for group in Groups.by(votes.passage, then_by=(-votes.key,)).of_size(2):
        rows = group[:MAX_COMPARED_OF_PASSAGE]
        if len(np.unique(votes.voter[rows])) > 1:
            chosen.append(rows)
            count += len(rows)
            if count >= MAX_COMPARED:
                break
    return votes.where(np.concatenate(chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterWeights:
    """Factors for votes. site: 0 … MAX_WEIGHT, for raters of whom nothing is known; 1 at ASSUMED_ERROR.

    rater: shape (raters,), ascending ids. rater_weight: of each, 0 … `site`.
    """

    site: float
    rater: Ints
    rater_weight: Floats

    def apply(self, votes: Votes) -> Votes:
        weight = np.full(len(votes), self.site)
        if len(self.rater):
            place = np.minimum(np.searchsorted(self.rater, votes.voter), len(self.rater) - 1)
            weight = np.where(self.rater[place] == votes.voter, self.rater_weight[place], weight)
        return replace(votes, value=votes.value * weight, document_value=votes.document_value * weight)


def rater_weights(votes: Votes, group_questions: Callable[[Ints], Ints]) -> RaterWeights:
    """votes: deduplicated, of those that `votes_to_compare` gives; repeated votes would count a rater several times.

    A rater who agrees more than others gets no higher weight than the site's: a vote must not count more because it
    happened to agree. The site's reliability is computed twice, the second time without unreliable raters.
    """
    votes = votes.where(votes.value != 0.0)
    agreeing, comparable = _agreement(votes, group_questions)
    agreement, reliability = _reliability(agreeing, comparable)
    rater, place = np.unique(votes.voter, return_inverse=True)
    own_agreement = (np.bincount(place, agreeing, len(rater)) + RATER_PRIOR_PAIRS * agreement) / (
        np.bincount(place, comparable, len(rater)) + RATER_PRIOR_PAIRS
    )
    # A rater agrees with the others with probability (1 + own reliability × theirs) / 2.
    own = np.clip((2.0 * own_agreement - 1.0) / max(reliability, 1e-9), 0.0, reliability)
    reliable = votes.where(own[place] >= reliability / 2.0)
    _, reliability = _reliability(*_agreement(reliable, group_questions))
    useful = min(1.0, max(0.0, (reliability - USELESS) / (USEFUL - USELESS)))
    return RaterWeights(
        site=float(_weight(reliability) * useful),
        rater=rater,
        rater_weight=_weight(np.minimum(own, reliability)) * useful,
    )


def _agreement(votes: Votes, group_questions: Callable[[Ints], Ints]) -> tuple[Ints, Ints]:
    """Of each vote: how many votes by other people on its passage for its question agree with it, and how many there
    are. Both have shape (votes,)."""
    agreeing, comparable = np.zeros(len(votes), dtype=np.int64), np.zeros(len(votes), dtype=np.int64)
    for rows in Groups.by(votes.passage).of_size(2):
        group, voter, good = group_questions(votes.question[rows]), votes.voter[rows], votes.value[rows] > 0
        pairs = (group[:, None] == group) & (voter[:, None] != voter)
        comparable[rows], agreeing[rows] = pairs.sum(axis=1), (pairs & (good[:, None] == good)).sum(axis=1)
    return agreeing, comparable


def _reliability(agreeing: Ints, comparable: Ints) -> tuple[float, float]:
    """The share of pairs that agree, 0..1, and the reliability 1 − 2e, 0 … MAX_RELIABILITY."""
    assumed = (1.0 - ASSUMED_ERROR) ** 2 + ASSUMED_ERROR**2
    share = float((agreeing.sum() / 2 + SITE_PRIOR_PAIRS * assumed) / (comparable.sum() / 2 + SITE_PRIOR_PAIRS))
    return share, min(math.sqrt(max(0.0, 2.0 * share - 1.0)), MAX_RELIABILITY)


def _weight(reliability: Floats | float) -> Floats:
    """0 … MAX_WEIGHT."""
    ratio = np.log((1.0 + np.asarray(reliability)) / (1.0 - np.asarray(reliability)))
    return np.asarray(np.minimum(MAX_WEIGHT, ratio / math.log((1.0 - ASSUMED_ERROR) / ASSUMED_ERROR)))
