"""Rankings of one and the same search: without feedback, by a revision of ours, and by others' formulas on the same
votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.feedback.corpus import TOP, Asked, Corpus, Vector
from feedback.ranking.snapshot import Snapshot
from feedback.ranking.votes import Vote
from retrieval.engine.search.boosting import rank_with_boosts
from retrieval.engine.values import Boosts, ChunkBoost, TailHit

Ranker = Callable[[Asked], list[int]]  # slots, best first
# from which two questions are somewhat alike, and from which the same
COSINE_FROM = 0.75
COSINE_FULL = 0.9
# Manning, Raghavan and Schütze, 2008, section 9.1
ROCCHIO_GOOD = 0.75
ROCCHIO_BAD = 0.15


def slots(found: tuple[TailHit, ...]) -> list[int]:
    return [int(one.chunk_id) for one in found[:TOP]]


def remembered(rank: Ranker) -> Ranker:
    """For as long as nothing changes: the same words are ranked once."""
    known: dict[str, list[int]] = {}

    def look_up(asked: Asked) -> list[int]:
        if asked.text not in known:
            known[asked.text] = rank(asked)
        return known[asked.text]

    return look_up


def plain(corpus: Corpus) -> Ranker:
    return lambda asked: slots(corpus.search(asked))


def boosted(multipliers: Mapping[str, ChunkBoost], found: tuple[TailHit, ...]) -> list[int]:
    return [
        int(one.chunk_id) for one in rank_with_boosts(found, Boosts(by_chunk=multipliers))[:TOP]
    ]


def ours(corpus: Corpus, snapshot: Snapshot) -> Ranker:
    def rank(asked: Asked) -> list[int]:
        found = corpus.search(asked)
        return boosted(snapshot.boosts(corpus.question(asked), found, now=0.0).by_chunk, found)

    return rank


# ------------------------------------------------------------------------------------------------ others
def onyx(corpus: Corpus, votes: Sequence[Vote]) -> Ranker:
    """Document boost of its Vespa profile: 0.5..2 by a sigmoid that is stretched by three."""
    net = net_votes(votes)

    def rank(asked: Asked) -> list[int]:
        found = corpus.search(asked)
        factors = {}
        for one in found:
            own = net.get(corpus.passage(int(one.chunk_id)), 0.0)
            sigmoid = 1.0 / (1.0 + math.exp(-own / 3.0))
            factors[one.chunk_id] = ChunkBoost(
                multiplier=0.5 + sigmoid if own < 0 else 2.0 * sigmoid
            )
        return boosted(factors, found)

    return rank


def ragflow(corpus: Corpus, votes: Sequence[Vote]) -> Ranker:
    """The chunk's net votes, 0..100, added to a score of 0..1."""
    net = net_votes(votes)

    def rank(asked: Asked) -> list[int]:
        found = corpus.search(asked)
        fused = [one.scores.fused or 0.0 for one in found]
        low = min(fused, default=0.0)
        width = (max(fused, default=0.0) - min(fused, default=0.0)) or 1.0
        scores = [
            (score - low) / width
            + min(max(net.get(corpus.passage(int(one.chunk_id)), 0.0), 0.0), 100.0)
            for one, score in zip(found, fused, strict=True)
        ]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return [int(found[at].chunk_id) for at in order[:TOP]]

    return rank


def rocchio(corpus: Corpus, votes: Sequence[Vote], questions: Vector) -> Ranker:
    """The query's vector, moved to the passages with more votes for than against in rated questions whose cosine to it
    says that they ask the same, and away from the others. Votes count as they are.

    questions: of the rated ones, shape (questions, dim). Source: Rocchio, 1971.
    """
    net: dict[tuple[int, int], float] = {}
    for vote in votes:
        net[vote.question, vote.passage] = net.get((vote.question, vote.passage), 0.0) + vote.weight
    held = corpus.chunk_of({vote.passage for vote in votes})
    rows = [
        (question, int(held[passage]), value)
        for (question, passage), value in net.items()
        if passage in held
    ]
    owner = np.asarray([row[0] for row in rows], dtype=np.int64)
    passages = corpus.vectors[[row[1] for row in rows]]
    values = np.asarray([row[2] for row in rows])

    def rank(asked: Asked) -> list[int]:
        near = np.clip(
            (questions @ asked.vector - COSINE_FROM) / (COSINE_FULL - COSINE_FROM), 0.0, 1.0
        )
        same = near * near * (3.0 - 2.0 * near)
        weight = same[owner] * values
        vector = asked.vector.astype(np.float64)
        for share, part in (
            (ROCCHIO_GOOD, np.maximum(weight, 0.0)),
            (-ROCCHIO_BAD, np.maximum(-weight, 0.0)),
        ):
            if part.sum() > 0.0:
                vector = (
                    vector + share * min(1.0, float(part.sum())) * (part @ passages) / part.sum()
                )
        moved = (vector / np.linalg.norm(vector)).astype(np.float32)
        return slots(corpus.search(asked, moved if np.any(weight) else None))

    return rank


def net_votes(votes: Sequence[Vote]) -> dict[int, float]:
    """Up minus down for each passage, from everybody, for whatever question."""
    net: dict[int, float] = {}
    for vote in votes:
        net[vote.passage] = net.get(vote.passage, 0.0) + math.copysign(1.0, vote.weight)
    return net
