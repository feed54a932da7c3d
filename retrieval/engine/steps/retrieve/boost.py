"""Boost: what was found, in the order that ratings give it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from ragsite.core.errors import AppError
from retrieval.engine.deps import Deps
from retrieval.engine.errors import explained
from retrieval.engine.path_texts import reason_text
from retrieval.engine.ports import BoostSource, SearchRequest, SearchResult
from retrieval.engine.search.boosting import BOOST_TIMEOUT_S, put_boosts
from retrieval.engine.steps.step import step
from retrieval.engine.trace import degrade, note


@step("boost")
async def boost(deps: Deps, ratings: BoostSource, request: SearchRequest, result: SearchResult) -> SearchResult:
    """The result in the order that ratings give it. The path tells what was lifted or lowered, by how much and why; of
    what was not shown before or after, it tells nothing."""
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(deps.deadline.limit(BOOST_TIMEOUT_S)):
            boosts = await ratings.boosts(request.queries[0].text, (*result.candidates, *result.tail_hits))
            candidates, lifted = await put_boosts(result, boosts, store=deps.store, scope=request.scope)
    except (AppError, TimeoutError) as error:
        reason = explained(error) or "ratings_late"
        degrade(reason)
        return replace(result, degraded=(*result.degraded, reason_text(reason)))
    shown = {candidate.chunk_id for candidate in candidates}
    payload = {
        chunk_id: {"multiplier": round(boost.multiplier, 3), "origin": boost.origin}
        for chunk_id, boost in boosts.by_chunk.items()
        if chunk_id in shown
    }
    note(
        "boosted" if payload else "not_boosted",
        boosts=payload,
        revision=boosts.revision,
        lifted=lifted,
        rated=len(payload),
        found=len(shown),
    )
    if boosts.degraded:
        degrade(boosts.degraded)
    spent = round((time.perf_counter() - begun) * 1000, 2)
    total = round(result.timings_ms.get("total", 0.0) + spent, 2)
    return replace(
        result,
        candidates=candidates,
        timings_ms={**result.timings_ms, "boost": spent, "total": total},
        degraded=(*result.degraded, boosts.degraded) if boosts.degraded else result.degraded,
        notes={**result.notes, "boosts": payload} if payload else result.notes,
    )
