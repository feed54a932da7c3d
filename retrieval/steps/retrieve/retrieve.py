"""Retrieve: every query variant in one search; then users' ratings lift or lower what was found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.core.errors import AppError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.search import boosting
from retrieval.search.boosting import Boosted, put_boosts
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.trace import StepRecord
from retrieval.values import Boosts, Contender, Query, ScoredChunk


@dataclass(frozen=True, slots=True)
class Retrieve:
    tools: Toolbox

    async def retrieve(self, request: SearchRequest, *, run: Run, purpose: str = "") -> SearchResult:
        """Raises IndexUnavailableError: "could not look" is never the same as "found nothing"."""
        async with run.trace.step("retrieve") as step:
            result = await self.tools.searcher.search(request)
            describe_search(step, request, result, purpose=purpose)
            await run.trace.sink.tool_called("search", f"{purpose}{' | '.join(q.text for q in request.queries)}", step)
        await self._note_fusion(request.queries, result, run=run)
        return replace(result, candidates=await self._boost(request, result, run=run))

    async def _note_fusion(self, queries: Sequence[Query], result: SearchResult, *, run: Run) -> None:
        """The search has joined its legs by reciprocal rank; the path shows which leg found what."""
        async with run.trace.step("fuse") as step:
            legs = sorted({leg for candidate in result.candidates for leg in candidate.ranks})
            step.detail["legs"] = legs
            step.detail["candidates"] = [
                {"chunk_id": c.chunk_id, "ranks": dict(c.ranks), "scores": c.scores.as_dict()}
                for c in result.candidates
            ]
            step.summary = f"{len(queries)} queries, {len(legs)} ranked lists → {len(result.candidates)} candidates"

    async def _boost(self, request: SearchRequest, result: SearchResult, *, run: Run) -> tuple[ScoredChunk, ...]:
        if self.tools.boosts is None or not result.candidates:
            return result.candidates
        limit = run.deadline.limit(boosting.BOOST_TIMEOUT_S)
        async with run.trace.step("boost") as step:
            try:
                async with asyncio.timeout(limit):
                    found: tuple[ScoredChunk | Contender, ...] = (*result.candidates, *result.contenders)
                    revision = await run.revision.of(self.tools.boosts)
                    boosts = await revision.boosts(request.queries[0].text, found)
                    boosted = await put_boosts(result, boosts, store=self.tools.store, scope=request.scope)
            except (AppError, TimeoutError) as error:
                step.degrade(f"ratings could not be used: {str(error) or 'they took too long'}")
                return result.candidates
            describe_boosts(step, boosts, boosted)
            return boosted.candidates


def describe_boosts(step: StepRecord, boosts: Boosts, boosted: Boosted) -> None:
    """What was lifted or lowered, by how much and why; of what was not shown before or after, nothing is told."""
    shown = {candidate.chunk_id for candidate in boosted.candidates}
    step.detail["boosts"] = {
        chunk_id: {"multiplier": round(boost.multiplier, 3), "origin": boost.origin}
        for chunk_id, boost in boosts.by_chunk.items()
        if chunk_id in shown
    }
    step.detail["revision"] = boosts.revision
    step.detail["lifted"] = list(boosted.lifted)
    told = step.detail["boosts"]
    step.summary = f"{len(told)} of {len(shown)} candidates lifted or lowered by ratings"
    if boosted.lifted:
        step.summary += f", {len(boosted.lifted)} of them from further down"
    if boosts.degraded:
        step.degrade(boosts.degraded)


def describe_search(step: StepRecord, request: SearchRequest, result: SearchResult, *, purpose: str) -> None:
    step.detail["queries"] = [{"kind": query.kind, "text": query.text} for query in request.queries]
    step.detail["filters"] = request.filters.as_dict()
    step.detail["timings_ms"] = {name: round(ms, 1) for name, ms in result.timings_ms.items()}
    if result.notes:
        step.detail["notes"] = dict(result.notes)
    step.summary = f"{purpose}{len(result.candidates)} candidates for {len(request.queries)} queries"
    step.detail["cached"] = bool(result.notes.get("cached"))
    if result.relaxed:
        step.detail["relaxed"] = list(result.relaxed)
        step.summary += f"; filter relaxed: {', '.join(result.relaxed)}"
    if result.degraded:
        step.degrade("; ".join(result.degraded))
