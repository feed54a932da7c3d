"""Users' ratings: a hit's normalised score, times the multiplier of its boost.

What ratings lift from the tail has no text yet; it is read here, inside the asking user's scope, so that a boost never
shows what permission hides. What was not found at all can't be lifted, and a multiplier has bounds: ratings move what
fits the question, they pin nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.ports import ChunkStore, SearchResult
from retrieval.engine.values import Boosts, ChunkBoost, ScoredChunk, SearchScope, TailHit

BOOST_TIMEOUT_S = 2.0  # waiting for what ratings say

LOWEST_SCORE = 0.26  # of the last of a hundred hits; the first has 1. Why: `rank_with_boosts`
NO_BOOST = ChunkBoost()
MOST_READ = 2  # times as many as the candidates: the best ranked whose texts are read, since some may have been deleted
Hit = ScoredChunk | TailHit


async def put_boosts(
    result: SearchResult, boosts: Boosts, *, store: ChunkStore, scope: SearchScope
) -> tuple[tuple[ScoredChunk, ...], list[str]]:
    """The result's candidates, as many as before where enough is left, in the order that the boosts give them; and the
    ids of those that came up from the tail."""
    count = len(result.candidates)
    chunks = {hit.chunk_id: hit.chunk for hit in result.candidates}
    ranked = [
        hit
        for hit in rank_with_boosts((*result.candidates, *result.tail_hits), boosts)
        if not boosts.by_chunk.get(hit.chunk_id, NO_BOOST).hide
    ]
    raised = [hit.chunk_id for hit in ranked[: MOST_READ * count] if hit.chunk_id not in chunks]
    read = (
        await store.fetch(raised, scope=scope) if raised and boosts.by_chunk else {}
    )  # not what is deleted or hidden
    texts = {**read, **chunks}
    shown = [hit for hit in ranked if hit.chunk_id in texts][:count]
    candidates = (
        ScoredChunk(chunk=texts[hit.chunk_id], scores=hit.scores, ranks=hit.ranks) for hit in shown
    )
    return tuple(candidates), [hit.chunk_id for hit in shown if hit.chunk_id in read]


def rank_with_boosts(hits: Sequence[Hit], boosts: Boosts, *, pool: Sequence[Hit] = ()) -> list[Hit]:
    """Best first, with the scores `standing`, `boost` and `final`; ties keep their order. `pool`: what scores are
    normalised among, by default `hits`: fused scores can't be multiplied as they are, sums of z-scores are below 0.

    A hit's score is lowest^(1 − n) × multiplier, with n its normalised score and `lowest` the last hit's score. Why a
    power: on labelled sets the log-odds that a passage answers rise evenly with its fused score, by about 8 from the
    last to the first of a hundred hits, and by less the fewer there are. One vote of raters who are wrong one time in
    five adds ln 4 to the log-odds, and three such votes reach a multiplier's bound of 2. Votes and search are then
    weighed in the same unit if lowest = 2^(−8 / (3·ln 4)) = 0.26.
    """
    fused = [hit.scores.fused or 0.0 for hit in pool or hits]
    low = min(fused, default=0.0)
    width = (max(fused, default=0.0) - low) or 1.0
    lowest = LOWEST_SCORE ** (math.log(max(len(fused), 1)) / math.log(100.0))
    ranked = list[Hit]()
    for hit in hits:
        boost = boosts.by_chunk.get(hit.chunk_id, NO_BOOST).multiplier
        standing = ((hit.scores.fused or 0.0) - low) / width
        scores = replace(
            hit.scores, standing=standing, boost=boost, final=lowest ** (1.0 - standing) * boost
        )
        ranked.append(replace(hit, scores=scores))
    return sorted(ranked, key=lambda hit: -(hit.scores.final or 0.0))
