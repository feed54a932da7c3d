"""Votes move the query: a question's vector is turned towards passages rated good for the same question. Pure.

Source: Rocchio, "Relevance feedback in information retrieval", 1971: q' = q + β·(mean of the relevant) − γ·(mean of the
others); on dense vectors: Li et al., "Pseudo relevance feedback with deep language models and dense retrievers" (TOIS
2023). Here the means are weighed by net votes, and the angle between q' and q is bounded: votes lead a search nearer to
what was found useful, and never away from the question.

A multiplier can only lift what the search found; a moved query finds what it did not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
MOVE_WEIGHT = 0.5  # β, for passages with FULL_VOTES
MOVE_AWAY_WEIGHT = 0.0  # γ; 0.2 closed nothing more, and cost where votes were wrong
MAX_ANGLE = 20.0  # degrees between the moved vector and the question's own
LEAST_ANGLE = 0.5  # degrees; a smaller move is none
MAX_PASSAGES = 5_000  # whose vectors a process keeps for a revision; those with the most net votes stay


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageVectors:
    """Rated passages in one embedding space. passages: ascending, shape (n,). vectors: float16 or float32, shape
    (n, dim), unit length. collections: of each the id of its collection."""

    passages: Ints
    vectors: NDArray[np.floating]
    collections: NDArray[np.str_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a revision moves queries by. weight, away_weight: Rocchio's β and γ; angle: degrees. A weight of 0 moves
    nothing, as do revisions of versions that did not know of moves."""

    weight: float = 0.0
    away_weight: float = 0.0
    angle: float = MAX_ANGLE


def moved(
    vector: Floats, passages: Floats, net_votes: NDArray[np.floating], *, full_votes: float, bounds: Bounds
) -> tuple[Floats, float] | None:
    """The vector turned towards passages with votes for them, and away from those with votes against.

    vector: shape (dim,), passages: (n, dim), both float32 of unit length. net_votes: (n,), for minus against, each
    times the similarity of its question; `full_votes` weigh in full. Returns float32 (dim,) of unit length and the
    angle in degrees, or None where there is nothing to turn to: votes against alone move nothing.
    """
    share = np.clip(net_votes / full_votes, -1.0, 1.0)
    towards, away = np.maximum(share, 0.0), np.maximum(-share, 0.0)
    if bounds.weight <= 0.0 or not towards.any():
        return None
    turned = vector + bounds.weight * _mean(passages, towards) - bounds.away_weight * _mean(passages, away)
    length = float(np.linalg.norm(turned))
    if length < 1e-6:
        return None
    turned = turned / length
    cosine = float(np.clip(np.dot(turned, vector), -1.0, 1.0))
    angle = math.degrees(math.acos(cosine))
    if angle < LEAST_ANGLE:
        return None
    if angle > bounds.angle:
        beside = turned - cosine * vector
        beside = beside / max(float(np.linalg.norm(beside)), 1e-12)
        angle = bounds.angle
        turned = math.cos(math.radians(angle)) * vector + math.sin(math.radians(angle)) * beside
    return np.asarray(turned, dtype=np.float32), angle


def _mean(passages: Floats, share: NDArray[np.floating]) -> NDArray[np.floating]:
    """Weighed by the votes; where they are few, shorter."""
    return np.asarray(share @ passages / max(1.0, float(share.sum())))


def strongest_passages(passages: Ints, net_votes: NDArray[np.floating], *, limit: int) -> Ints:
    """The passages that a process keeps vectors of: with votes for them (or against them, if γ is used),
    the most voted on first. passages, net_votes: one entry for each row of a revision. Ascending, distinct."""
    wanted = np.abs(net_votes) > 0.0 if MOVE_AWAY_WEIGHT > 0.0 else net_votes > 0.0
    order = np.argsort(-np.abs(net_votes[wanted]), kind="stable")
    distinct, first = np.unique(passages[wanted][order], return_index=True)
    return np.sort(distinct[np.argsort(first, kind="stable")[:limit]])
