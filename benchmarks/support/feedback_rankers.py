"""Rankings of one and the same search: without feedback, by our boosts, and by two known formulas on the same votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.grader_data import LabelledSet
from feedback.ranking.boosts import Votes
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Snapshot
from retrieval.search import hybrid, space_fusion
from retrieval.search.boosting import rank_with_boosts
from retrieval.search.fusion import best_first, dense_trust, zscore_sum
from retrieval.text.analysis import query_terms
from retrieval.values import Boost, Boosts, EmbeddingSpace, Scores, TailHit

SPACE = EmbeddingSpace("benchmark", 0)
WINDOW, TOP = 150, 10
Vector = NDArray[np.float32]
Ranker = Callable[["Asked"], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question in some wording, with what the search finds for it: best first, by fused score."""

    text: str
    vector: Vector
    relevant: frozenset[int]
    found: tuple[TailHit, ...]


@cache
def document_id(place: int) -> UUID:
    return uuid5(NAMESPACE_URL, str(place))


def search(data: LabelledSet, text: str, vector: Vector) -> tuple[TailHit, ...]:
    """The engine's default formula over the first WINDOW of both legs."""
    assert data.document_vectors is not None
    bm25, cosine = data.bm25.score(query_terms(text)), data.document_vectors @ vector
    text_leg = {str(at): float(bm25[at]) for at in np.argsort(-bm25, kind="stable")[:WINDOW] if bm25[at] > 0}
    dense_leg = {str(at): float(cosine[at]) for at in np.argsort(-cosine, kind="stable")[:WINDOW]}
    trust = dense_trust(dense_leg, text_leg, least=space_fusion.LEAST_DENSE_TRUST)
    fused = zscore_sum(dense_leg, text_leg, dense_weight=trust)
    return tuple(
        TailHit(chunk_id=key, document_id=str(document_id(int(key))), scores=Scores(fused=fused[key]))
        for key in best_first(fused)[: hybrid.BOOST_WINDOW]
    )


def plain(asked: Asked) -> list[int]:
    return [int(one.chunk_id) for one in asked.found[:TOP]]


def normalized_scores(asked: Asked) -> dict[int, float]:
    """Of each passage found, as the site keeps it with an answer's sources."""
    return {int(one.chunk_id): one.normalized_score for one in rank_with_boosts(asked.found, Boosts())}


def boosted(multipliers: Mapping[str, Boost], asked: Asked) -> list[int]:
    ranked = rank_with_boosts(asked.found, Boosts(by_chunk=multipliers))
    return [int(one.chunk_id) for one in ranked[:TOP]]


def onyx(net: Mapping[int, float]) -> Ranker:
    """Document boost of its Vespa profile: 0.5..2 by a sigmoid that is stretched by three."""

    def rank(asked: Asked) -> list[int]:
        factors = {}
        for one in asked.found:
            votes = net.get(int(one.chunk_id), 0.0)
            sigmoid = 1.0 / (1.0 + math.exp(-votes / 3.0))
            factors[one.chunk_id] = Boost(multiplier=0.5 + sigmoid if votes < 0 else 2.0 * sigmoid)
        return boosted(factors, asked)

    return rank


def ragflow(net: Mapping[int, float]) -> Ranker:
    """The chunk's net votes, 0..100, added to a score of 0..1."""

    def rank(asked: Asked) -> list[int]:
        fused = [one.scores.fused or 0.0 for one in asked.found]
        low, width = min(fused, default=0.0), (max(fused, default=0.0) - min(fused, default=0.0)) or 1.0
        scores = [
            (score - low) / width + min(max(net.get(int(one.chunk_id), 0.0), 0.0), 100.0)
            for one, score in zip(asked.found, fused, strict=True)
        ]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return [int(asked.found[at].chunk_id) for at in order[:TOP]]

    return rank


def ours(snapshot: Snapshot) -> Ranker:
    def rank(asked: Asked) -> list[int]:
        found = snapshot.boosts(
            AskedQuestion(text=asked.text, terms=query_terms(asked.text), vectors={SPACE: asked.vector}), asked.found
        )
        return boosted(found.by_chunk, asked)

    return rank


def net_votes(votes: Votes) -> dict[int, float]:
    """Up minus down for each passage, from everybody, for whatever question."""
    net: dict[int, float] = {}
    for passage, value in zip(votes.passage.tolist(), votes.value.tolist(), strict=True):
        net[passage] = net.get(passage, 0.0) + math.copysign(1.0, value)
    return net
