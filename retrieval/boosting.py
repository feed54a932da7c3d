"""Puts users' ratings on a search's result: fused scores, made positive, times their multipliers.

What ratings lift from below the candidates has no text yet; it is read here, inside the asking user's scope, so that a
boost never shows what permission hides. What was not found at all can't be lifted, and a multiplier has bounds: ratings
move what fits the question, they pin nothing.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.errors import AppError
from retrieval.ports import BoostSource, ChunkStore, RevisionBoosts, Searcher, SearchRequest, SearchResult
from retrieval.values import Boost, Boosts, Contender, ScoredChunk, SearchScope

WORST = 0.19  # the share of the worst of a hundred that were found; the best has 1
NO_BOOST = Boost(multiplier=1.0)


class OneRevision:
    """Of one answer: all of its searches, also those side by side, work on the revision that the first of them met.

    Another one may go live between two searches; with both, the second could undo what the first had found by ratings.
    """

    def __init__(self) -> None:
        self._met: RevisionBoosts | None = None

    async def of(self, source: BoostSource) -> RevisionBoosts:
        """Raises UnavailableError; then the next search tries again."""
        if self._met is None:
            current = await source.current()
            if self._met is None:  # another search of this answer may have been quicker
                self._met = current
        return self._met


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
    """By fused score, brought to WORST..1 over `pool` (by default `found`), times multiplier; ties keep their order.

    In geometric steps: on labelled sets the log-odds that a passage answers rise evenly with its fused score, by about
    10 from the worst to the best of a hundred, and by less the fewer there are. A vote of people who err once in five
    adds ln 4, and three such votes reach the bound of a multiplier, so WORST = 2^(−10 / (3·ln 4)): votes and search are
    weighed as evidence of one kind. (A fused score may be a sum of z-scores: as it stands, a multiplier would turn a
    negative one the wrong way.)
    """
    fused = [one.scores.fused or 0.0 for one in pool or found]
    low = min(fused, default=0.0)
    width = (max(fused, default=0.0) - low) or 1.0
    worst = WORST ** (math.log(max(len(fused), 1)) / math.log(100.0))
    changed: list[ScoredChunk | Contender] = []
    for one in found:
        factor = boosts.by_chunk.get(one.chunk_id, NO_BOOST).multiplier
        share = worst ** (1.0 - ((one.scores.fused or 0.0) - low) / width)
        changed.append(replace(one, scores=replace(one.scores, boost=factor, final=share * factor)))
    return sorted(changed, key=lambda one: -(one.scores.final or 0.0))


async def search_with_boosts(
    request: SearchRequest, *, searcher: Searcher, boosts: BoostSource | None, store: ChunkStore, timeout_s: float
) -> SearchResult:
    """A search as an answer would see it, for those who search without asking. Raises what the searcher raises.

    `notes["boosts"]` says of each boosted candidate by how much and why; a reason in `degraded` where ratings could not
    be used. A search in one leg alone is left as it is.
    """
    result = await searcher.search(request)
    if boosts is None or not result.candidates or len(request.stages) < 2:
        return result
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s):
            live = await boosts.current()
            found = await live.boosts(request.queries[0].text, (*result.candidates, *result.contenders))
            boosted = await put_boosts(result, found, store=store, scope=request.scope)
    except (AppError, TimeoutError) as error:
        reason = f"ratings could not be used: {str(error) or 'they took too long'}"
        return replace(result, degraded=(*result.degraded, reason))
    shown = {one.chunk_id for one in boosted.candidates}
    told = {
        chunk_id: {"multiplier": round(boost.multiplier, 3), "origin": boost.origin}
        for chunk_id, boost in found.by_chunk.items()
        if chunk_id in shown
    }
    spent = round((time.perf_counter() - begun) * 1000, 2)
    return replace(
        result,
        candidates=boosted.candidates,
        timings_ms={**result.timings_ms, "boost": spent, "total": round(result.timings_ms["total"] + spent, 2)},
        degraded=(*result.degraded, found.degraded) if found.degraded else result.degraded,
        notes={**result.notes, "boosts": told} if told else result.notes,
    )
