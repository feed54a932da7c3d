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

from ragsite.core.errors import AppError
from retrieval.ports import BoostSource, ChunkStore, RevisionBoosts, Searcher, SearchRequest, SearchResult
from retrieval.values import Boost, Boosts, Contender, ScoredChunk, Scores, SearchScope

BOOST_TIMEOUT_S = 2.0  # waiting for what ratings say

WORST = 0.26  # the share of the worst of a hundred that were found; the best has 1
NO_BOOST = Boost()
Found = Sequence[ScoredChunk | Contender]


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
    found: Found = (*result.candidates, *result.contenders)
    if not boosts.by_chunk:
        place = _Places(found)
        return Boosted(
            candidates=tuple(
                replace(one, scores=replace(one.scores, standing=place.standing(one))) for one in result.candidates
            )
        )
    hidden = tuple(one.chunk_id for one in found if boosts.by_chunk.get(one.chunk_id, NO_BOOST).hide)
    ranked = ranked_with([one for one in found if one.chunk_id not in hidden], boosts, pool=found)
    chosen: list[ScoredChunk] = []
    lifted: list[str] = []
    texts: set[str] = set()
    begin = 0
    while begin < len(ranked) and len(chosen) < len(result.candidates):
        batch = ranked[begin : begin + len(result.candidates) - len(chosen)]
        begin += len(batch)
        unread = [one.chunk_id for one in batch if isinstance(one.found, Contender)]
        chunks = await store.fetch(unread, scope=scope) if unread else {}
        for one in batch:
            if isinstance(one.found, Contender):
                if one.chunk_id not in chunks:  # deleted, or not for this user
                    continue
                lifted.append(one.chunk_id)
            chunk = chunks[one.chunk_id] if isinstance(one.found, Contender) else one.found.chunk
            if (text := "".join(chunk.text.split()).casefold()) not in texts:
                texts.add(text)
                chosen.append(ScoredChunk(chunk=chunk, scores=one.scores(), ranks=one.found.ranks))
    kept = {one.chunk_id for one in chosen}
    return Boosted(candidates=tuple(chosen), lifted=tuple(one for one in lifted if one in kept), hidden=hidden)


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was found, with what ratings make of it: its standing 0..1, its multiplier, and what it is ordered by."""

    found: ScoredChunk | Contender
    standing: float
    multiplier: float
    final: float

    @property
    def chunk_id(self) -> str:
        return self.found.chunk_id

    @property
    def document_id(self) -> str:
        return self.found.document_id

    def scores(self) -> Scores:
        return replace(self.found.scores, standing=self.standing, boost=self.multiplier, final=self.final)


def ranked_with(found: Found, boosts: Boosts, *, pool: Found = ()) -> list[Ranked]:
    """By standing among `pool` (by default `found`), brought to WORST..1, times multiplier; ties keep their order.

    In geometric steps: on labelled sets the log-odds that a passage answers rise evenly with its fused score, by about
    8 from the worst to the best of a hundred, and by less the fewer there are. A vote of people who err once in five
    adds ln 4, and three such votes reach the bound of a multiplier, so WORST = 2^(−8 / (3·ln 4)): votes and search are
    weighed as evidence of one kind.

    Where the same was asked before in other words, what those searches found counts as this one does: the standing is
    the mean over all of them.
    """
    place = _Places(pool or found)
    ranked: list[Ranked] = []
    for one in found:
        boost = boosts.by_chunk.get(one.chunk_id, NO_BOOST)
        standing = place.standing(one)
        mean = (standing + boost.similar_questions * boost.normalized_score) / (1.0 + boost.similar_questions)
        ranked.append(Ranked(one, standing, boost.multiplier, place.worst ** (1.0 - mean) * boost.multiplier))
    return sorted(ranked, key=lambda one: -one.final)


class _Places:
    """Where fused scores stand between the worst and the best of a pool. As they are they could not be multiplied: a
    sum of z-scores may be negative."""

    def __init__(self, pool: Found) -> None:
        fused = [one.scores.fused or 0.0 for one in pool]
        self._low = min(fused, default=0.0)
        self._width = (max(fused, default=0.0) - self._low) or 1.0
        self.worst = WORST ** (math.log(max(len(fused), 1)) / math.log(100.0))

    def standing(self, one: ScoredChunk | Contender) -> float:
        return ((one.scores.fused or 0.0) - self._low) / self._width


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
