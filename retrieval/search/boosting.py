"""Puts users' ratings on a search's result: a hit's normalised score, times the multiplier of its boost.

What ratings lift from the tail has no text yet; it is read here, inside the asking user's scope, so that a boost never
shows what permission hides. What was not found at all can't be lifted, and a multiplier has bounds: ratings move what
fits the question, they pin nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.ports import ChunkStore, SearchResult
from retrieval.values import Boost, Boosts, ScoredChunk, Scores, SearchScope, TailHit

BOOST_TIMEOUT_S = 2.0  # waiting for what ratings say

LOWEST_SCORE = 0.26  # of the last of a hundred hits; the first has 1. Why: `rank_with_boosts`
NO_BOOST = Boost()
MOST_READ = 2  # times as many as the candidates: the best ranked whose texts are read, since some may have been deleted
Hit = ScoredChunk | TailHit


async def put_boosts(
    result: SearchResult, boosts: Boosts, *, store: ChunkStore, scope: SearchScope
) -> tuple[tuple[ScoredChunk, ...], list[str]]:
    """The result's candidates, as many as before where enough is left, in the order that the boosts give them; and the
    ids of those that came up from the tail."""
    wanted, chunks = len(result.candidates), {hit.chunk_id: hit.chunk for hit in result.candidates}
    ranked = [
        place
        for place in rank_with_boosts((*result.candidates, *result.tail_hits), boosts)
        if not boosts.by_chunk.get(place.chunk_id, NO_BOOST).hide
    ]
    raised = [place.chunk_id for place in ranked[: MOST_READ * wanted] if place.chunk_id not in chunks]
    read = await store.fetch(raised, scope=scope) if raised and boosts.by_chunk else {}  # not what is deleted or hidden
    places = [place for place in ranked if place.chunk_id in chunks or place.chunk_id in read][:wanted]
    candidates = (
        ScoredChunk(chunk={**read, **chunks}[place.chunk_id], scores=place.scores(), ranks=place.hit.ranks)
        for place in places
    )
    return tuple(candidates), [place.chunk_id for place in places if place.chunk_id in read]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A hit with its normalised score, 0..1, the multiplier of its boost, and the score that it is ordered by."""

    hit: Hit
    normalized_score: float
    multiplier: float
    final: float

    @property
    def chunk_id(self) -> str:
        return self.hit.chunk_id

    @property
    def document_id(self) -> str:
        return self.hit.document_id

    def scores(self) -> Scores:
        return replace(self.hit.scores, standing=self.normalized_score, boost=self.multiplier, final=self.final)


def rank_with_boosts(hits: Sequence[Hit], boosts: Boosts, *, pool: Sequence[Hit] = ()) -> list[Ranked]:
    """Best first; ties keep their order. `pool`: what scores are normalised among, by default `hits`.

    A hit's score is lowest^(1 − n) × multiplier, with n its normalised score and `lowest` the last hit's score. Why a
    power: on labelled sets the log-odds that a passage answers rise evenly with its fused score, by about 8 from the
    last to the first of a hundred hits, and by less the fewer there are. One vote of raters who are wrong one time in
    five adds ln 4 to the log-odds, and three such votes reach a multiplier's bound of 2. Votes and search are then
    weighed in the same unit if lowest = 2^(−8 / (3·ln 4)) = 0.26.
    """
    normalize = _Normalizer(pool or hits)
    ranked = []
    for hit in hits:
        boost = boosts.by_chunk.get(hit.chunk_id, NO_BOOST)
        normalized = normalize(hit)
        final = normalize.lowest_score ** (1.0 - normalized) * boost.multiplier
        ranked.append(Ranked(hit, normalized, boost.multiplier, final))
    return sorted(ranked, key=lambda place: -place.final)


class _Normalizer:
    """A hit's fused score as 0..1 between the lowest and the highest of a pool. Fused scores can't be multiplied as
    they are: a sum of z-scores may be negative."""

    def __init__(self, pool: Sequence[Hit]) -> None:
        fused = [hit.scores.fused or 0.0 for hit in pool]
        self._low = min(fused, default=0.0)
        self._width = (max(fused, default=0.0) - self._low) or 1.0
        self.lowest_score = LOWEST_SCORE ** (math.log(max(len(fused), 1)) / math.log(100.0))

    def __call__(self, hit: Hit) -> float:
        return ((hit.scores.fused or 0.0) - self._low) / self._width
