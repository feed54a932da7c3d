"""Retrieve: every query variant in one search; then users' ratings lift or lower what was found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragsite.errors import AppError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.trace import StepRecord
from retrieval.values import Query, ScoredChunk

FLOOR = 0.1  # of the worst candidate's share, so that its boost counts too


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
        return replace(result, candidates=await self._boost(request.queries[0].text, result.candidates, run=run))

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

    async def _boost(self, query: str, candidates: tuple[ScoredChunk, ...], *, run: Run) -> tuple[ScoredChunk, ...]:
        if self.tools.boosts is None or not candidates:
            return candidates
        limit = run.deadline.limit(self.tools.settings.corrective.boost_timeout_s)
        async with run.trace.step("boost") as step:
            try:
                async with asyncio.timeout(limit):
                    boosts = await self.tools.boosts.boosts(query, candidates)
            except (AppError, TimeoutError) as error:
                step.degrade(f"ratings could not be used: {error or type(error).__name__}")
                return candidates
            step.detail["boosts"] = dict(boosts)
            step.summary = f"{len(boosts)} of {len(candidates)} candidates lifted or lowered by ratings"
            return boosted(candidates, boosts)


def boosted(candidates: Sequence[ScoredChunk], boosts: Mapping[str, float]) -> tuple[ScoredChunk, ...]:
    """Fused scores, brought to FLOOR..1, times their multipliers, best first; ties keep their order.

    A fused score may be a sum of z-scores: as it stands, a multiplier would turn a negative one the wrong way.
    """
    fused = [candidate.scores.fused or 0.0 for candidate in candidates]
    low, width = min(fused, default=0.0), (max(fused, default=0.0) - min(fused, default=0.0)) or 1.0
    changed = []
    for candidate, score in zip(candidates, fused, strict=True):
        factor = float(boosts.get(candidate.chunk_id, 1.0))
        final = (FLOOR + (1.0 - FLOOR) * (score - low) / width) * factor
        changed.append(replace(candidate, scores=replace(candidate.scores, boost=factor, final=final)))
    return tuple(sorted(changed, key=lambda candidate: -(candidate.scores.final or 0.0)))


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
