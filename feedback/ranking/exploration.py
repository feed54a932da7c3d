"""Thompson sampling among near-equals: for some questions the order of passages that score alike is drawn. Pure.

What is shown first is rated first, so a passage that starts a little lower may never be rated (Oosterhuis, "Safe
counterfactual learning to rank", 2023, on what is never shown). For a share of the questions each passage gets a draw
from what is known of it: normal, around its score, as wide as its votes leave open (Thompson, Biometrika 25, 1933).
With u votes for and d against, the log-odds that it helps have the variance ψ₁(1 + u) + ψ₁(1 + d), of a Beta
distribution.

Nothing leaves its group of near-equals: within a group scores change places, so that the rest keeps its order, and no
score changes by more than NEAR. Draws are seeded by the question and the revision: asked again, the order is the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import QUERY_BOUND
from ragsite.core.wording import joined
from retrieval.search.boosting import Ranked
from retrieval.values import DRAWN, Boost, Boosts

Floats = NDArray[np.float64]
NEAR = 0.03  # a group's lowest score is so much below its highest at most
MOST_IN_GROUP = 12
UNIT = math.log(4.0)  # log-odds of one vote
SAMPLES = 200  # draws that the probability of a place is counted in


@dataclass(frozen=True, slots=True)
class Votes:
    """For and against a passage, each >= 0."""

    up: float = 0.0
    down: float = 0.0


NO_VOTES = Votes()


def is_explored(question: str, revision: str, share: float) -> bool:
    """Whether the question is one of the share (0..1) whose order is drawn: always the same ones."""
    return _seed(question, revision, "share") / 2.0**64 < share


def explored(
    boosts: Boosts, ranked: Sequence[Ranked], votes: Mapping[str, Votes], *, question: str, full_votes: float,
    share: float,
) -> Boosts:  # fmt: skip
    """The boosts with which near-equals come in an order that is drawn.

    ranked: with `boosts`, best first. votes: by chunk, none where it is left out. share: 0..1, of the questions that
    are explored. `Boost.shown` is the probability, over all questions, that the chunk stands at the place it gets.
    """
    draw = np.random.default_rng(_seed(question, boosts.revision, "order"))
    by_chunk = dict(boosts.by_chunk)
    for group, lowest in _groups(ranked):
        known = [votes.get(place.chunk_id, NO_VOTES) for place in group]
        width = QUERY_BOUND / full_votes * np.asarray([_deviation(one) for one in known])
        score = np.log([place.final for place in group])
        order = np.argsort(-(score + width * draw.standard_normal(len(group))), kind="stable")
        samples = np.argsort(-(score + width * draw.standard_normal((SAMPLES, len(group)))), axis=1, kind="stable")
        finals = np.linspace(group[0].final, lowest, len(group))
        for at, member in enumerate(order.tolist()):
            place = group[member]
            # The order that was drawn is one of the draws.
            probability = (float((samples[:, at] == member).sum()) + 1.0) / (SAMPLES + 1.0)
            boost = by_chunk.get(place.chunk_id, Boost())
            by_chunk[place.chunk_id] = replace(
                boost,
                draw=boost.draw * float(finals[at]) / place.final,
                origin=joined("; ", filter(None, (boost.origin, DRAWN))),
                shown=share * probability + (1.0 - share) * (at == member),
            )
    return replace(boosts, by_chunk=by_chunk)


def _groups(ranked: Sequence[Ranked]) -> list[tuple[Sequence[Ranked], float]]:
    """Runs of near-equals, two or more, each with the score that its last place gets: above what follows the run."""
    groups = []
    begin = 0
    while begin < len(ranked):
        first = ranked[begin].final
        end = begin + 1
        while end < min(len(ranked), begin + MOST_IN_GROUP) and ranked[end].final >= first * (1.0 - NEAR):
            end += 1
        if end - begin > 1 and first > 0.0:
            last = ranked[end - 1].final
            below = ranked[end].final if end < len(ranked) else 0.0
            # Where all have one score, they are spread, so that their order is told apart.
            lowest = last if last < first else max(first * (1.0 - NEAR), (first + below) / 2.0)
            if lowest < first:
                groups.append((ranked[begin:end], lowest))
        begin = end
    return groups


def _deviation(votes: Votes) -> float:
    """Of the log-odds that a passage helps, in votes."""
    return math.sqrt(_trigamma(1.0 + votes.up) + _trigamma(1.0 + votes.down)) / UNIT


def _trigamma(x: float) -> float:
    """ψ₁(x), x >= 1: by its recurrence up to 6, then its asymptotic series; exact to 1e-6."""
    total = 0.0
    while x < 6.0:
        total += 1.0 / (x * x)
        x += 1.0
    return total + 1.0 / x + 1.0 / (2.0 * x**2) + 1.0 / (6.0 * x**3) - 1.0 / (30.0 * x**5) + 1.0 / (42.0 * x**7)


def _seed(question: str, revision: str, use: str) -> int:
    text = f"{use}\0{revision}\0{question}".encode(errors="replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
