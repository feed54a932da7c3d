"""Boost: what was found, in the order that ratings give it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace

from ragsite.core.errors import AppError
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import AppliedBoost, BoostDetails
from retrieval.engine.ports import BoostSource, SearchRequest, SearchResult
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.search.boosting import BOOST_TIMEOUT_S, put_boosts
from retrieval.engine.steps.step import step
from retrieval.engine.trace import degrade, note


@step("boost")
async def boost(
    deps: Deps, ratings: BoostSource, request: SearchRequest, result: SearchResult
) -> SearchResult:
    """The result in the order that ratings give it. The path tells what was lifted or lowered, by how much and why; of
    what was not shown before or after, it tells nothing."""
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(deps.deadline.limit(BOOST_TIMEOUT_S)):
            boosts = await ratings.boosts(
                request.queries[0].text, (*result.candidates, *result.tail_hits)
            )
            candidates, lifted = await put_boosts(
                result, boosts, store=deps.store, scope=request.scope
            )
    except (AppError, TimeoutError) as error:
        reason = reason_of(error, late="ratings_late")
        degrade(reason)
        return replace(result, degraded=(*result.degraded, reason.text))
    shown = {candidate.chunk_id for candidate in candidates}
    applied: dict[str, AppliedBoost] = {}
    for chunk_id, given in boosts.by_chunk.items():
        if chunk_id in shown:
            applied[chunk_id] = AppliedBoost(
                multiplier=round(given.multiplier, 3), origin=given.origin
            )
    details = BoostDetails(
        boosts=applied,
        revision=boosts.revision,
        lifted=tuple(lifted),
        rated=len(applied),
        found=len(shown),
    )
    note("boosted" if applied else "not_boosted", details)
    notes = dict(result.notes)
    if applied:
        notes["boosts"] = {chunk_id: asdict(given) for chunk_id, given in applied.items()}
    degraded = result.degraded
    if boosts.degraded:
        degrade(Reason("ratings_incomplete", {"error": boosts.degraded}))
        degraded = (*degraded, boosts.degraded)
    spent = round((time.perf_counter() - begun) * 1000, 2)
    total = round(result.timings_ms.get("total", 0.0) + spent, 2)
    return replace(
        result,
        candidates=candidates,
        timings_ms={**result.timings_ms, "boost": spent, "total": total},
        degraded=degraded,
        notes=notes,
    )
