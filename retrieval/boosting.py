"""Puts users' ratings on a search's result: fused scores, made positive, times their multipliers.

What ratings lift from below the candidates has no text yet; it is read here, inside the asking user's scope, so that a
boost never shows what permission hides. What was not found at all can't be lifted, and a multiplier has bounds: ratings
move what fits the question, they pin nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.ports import ChunkStore, SearchResult
from retrieval.values import Boost, Boosts, Contender, ScoredChunk, SearchScope

FLOOR = 0.1  # of the worst one's share, so that its boost counts too
NO_BOOST = Boost(multiplier=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """candidates: best first. lifted: ids of those that came up from below. hidden: ids of those left out."""

    candidates: tuple[ScoredChunk, ...]
    lifted: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


async def put_boosts(result: SearchResult, boosts: Boosts, *, store: ChunkStore, scope: SearchScope) -> Boosted:
    """The result's candidates, as many as before where enough is left, in the order that the boosts give them."""
    if not boosts.by_chunk:
        return Boosted(candidates=result.candidates)
    found: tuple[ScoredChunk | Contender, ...] = (*result.candidates, *result.contenders)
    hidden = tuple(one.chunk_id for one in found if boosts.by_chunk.get(one.chunk_id, NO_BOOST).hide)
    ranked = ranked_with([one for one in found if one.chunk_id not in hidden], boosts, pool=found)
    chosen: list[ScoredChunk] = []
    lifted: list[str] = []
    texts: set[str] = set()
    begin = 0
    while begin < len(ranked) and len(chosen) < len(result.candidates):
        batch = ranked[begin : begin + len(result.candidates) - len(chosen)]
        begin += len(batch)
        unread = [one.chunk_id for one in batch if isinstance(one, Contender)]
        chunks = await store.fetch(unread, scope=scope) if unread else {}
        for one in batch:
            if isinstance(one, Contender):
                chunk = chunks.get(one.chunk_id)
                if chunk is None:  # deleted, or not for this user
                    continue
                lifted.append(one.chunk_id)
                one = ScoredChunk(chunk=chunk, scores=one.scores, ranks=one.ranks)
            if (text := "".join(one.chunk.text.split()).casefold()) not in texts:
                texts.add(text)
                chosen.append(one)
    kept = {one.chunk_id for one in chosen}
    return Boosted(candidates=tuple(chosen), lifted=tuple(one for one in lifted if one in kept), hidden=hidden)


def ranked_with(
    found: Sequence[ScoredChunk | Contender], boosts: Boosts, *, pool: Sequence[ScoredChunk | Contender] = ()
) -> list[ScoredChunk | Contender]:
    """By fused score, brought to FLOOR..1 over `pool` (by default `found`), times multiplier; ties keep their order.

    A fused score may be a sum of z-scores: as it stands, a multiplier would turn a negative one the wrong way.
    """
    fused = [one.scores.fused or 0.0 for one in pool or found]
    low = min(fused, default=0.0)
    width = (max(fused, default=0.0) - low) or 1.0
    changed: list[ScoredChunk | Contender] = []
    for one in found:
        factor = boosts.by_chunk.get(one.chunk_id, NO_BOOST).multiplier
        final = (FLOOR + (1.0 - FLOOR) * ((one.scores.fused or 0.0) - low) / width) * factor
        changed.append(replace(one, scores=replace(one.scores, boost=factor, final=final)))
    return sorted(changed, key=lambda one: -(one.scores.final or 0.0))
