"""Retrieve: every query variant in one search; then users' ratings lift or lower what was found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.core.errors import AppError
from ragsite.core.rag_settings import RagSettings
from ragsite.core.wording import counted, joined, worded
from retrieval.errors import explained
from retrieval.ports import BoostSource, SearchRequest, SearchResult
from retrieval.search import boosting
from retrieval.search.boosting import put_boosts
from retrieval.steps.retrieve.relax import search_relaxing
from retrieval.steps.step import Context, Step
from retrieval.trace import StepRecord
from retrieval.values import Question, ScoredChunk, TailHit


async def search_documents(context: Context, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """Steps: retrieve, fuse, boost. `purpose`: what is searched for, at the head of the path's entry.

    `notes["boosts"]` says of each boosted candidate by how much and why. Where ratings could not be used, the reason
    stands in `degraded`. Raises IndexUnavailableError: "could not look" is never the same as "found nothing".
    """
    result = await Retrieve(context)(Search(request, purpose))
    await Fuse(context)(Found(request, result))
    if context.tools.boosts is None or not result.candidates:
        return result
    return await BoostByRatings(context, context.tools.boosts)(Found(request, result))


def breadth(question: Question, settings: RagSettings, *, default: int = 0) -> int:
    """How many candidates are searched for: as many as are asked for, or judged. `default`: of what a request asks for,
    in place of the passages of an answer."""
    wanted = question.options.top_k or default or settings.corrective.context_passages
    return min(max(wanted, settings.rerank.max_candidates), settings.search.max_top_k)


@dataclass(frozen=True, slots=True)
class Search:
    request: SearchRequest
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    request: SearchRequest
    result: SearchResult


class Retrieve(Step[Search, SearchResult]):
    """One search; more than one only where a preferred filter gives way. Raises as `Searcher.search`."""

    name = "retrieve"

    async def act(self, given: Search, entry: StepRecord) -> SearchResult:
        request, purpose = given.request, given.purpose
        answers = self.settings.corrective.weak_score
        result, looks = await search_relaxing(self.tools.searcher, request, answers=answers)
        entry.detail |= {
            "queries": [{"kind": query.kind, "text": query.text} for query in request.queries],
            "filters": request.filters.as_dict(),
            "timings_ms": {name: round(ms, 1) for name, ms in result.timings_ms.items()},
            "cached": bool(result.notes.get("cached")),
        }
        if result.notes:
            entry.detail["notes"] = dict(result.notes)
        entry.summary = worded(
            "{purpose}{candidates} for {queries}",
            purpose=purpose,
            candidates=counted("{count} candidate", "{count} candidates", len(result.candidates)),
            queries=counted("{count} query", "{count} queries", len(request.queries)),
        )
        if len(looks) > 1:
            entry.detail["looked"] = [look.as_dict() for look in looks]
        if result.relaxed:
            entry.detail["relaxed"] = list(result.relaxed)
            entry.summary += worded(
                "; filter relaxed, since what it left does not answer: {filters}", filters=joined(", ", result.relaxed)
            )
        if result.degraded:
            entry.degrade(joined("; ", result.degraded))
        texts = " | ".join(query.text for query in request.queries)
        await self.run.trace.sink.tool_called("search", purpose + texts, entry)
        return result


class Fuse(Step[Found, None]):
    """The search has joined its legs by reciprocal rank; the path shows which leg found what."""

    name = "fuse"

    async def act(self, given: Found, entry: StepRecord) -> None:
        candidates = given.result.candidates
        legs = sorted({leg for candidate in candidates for leg in candidate.ranks})
        entry.detail["legs"] = legs
        entry.detail["candidates"] = [
            {"chunk_id": hit.chunk_id, "ranks": dict(hit.ranks), "scores": hit.scores.as_dict()} for hit in candidates
        ]
        queries = counted("{count} query", "{count} queries", len(given.request.queries))
        lists = counted("{count} ranked list", "{count} ranked lists", len(legs))
        entry.summary = worded(
            "{queries}, {lists} → {candidates}",
            queries=queries,
            lists=lists,
            candidates=counted("{count} candidate", "{count} candidates", len(candidates)),
        )


@dataclass(frozen=True, slots=True)
class BoostByRatings(Step[Found, SearchResult]):
    """The result in the order that ratings give it. The path tells what was lifted or lowered, by how much and why; of
    what was not shown before or after, it tells nothing."""

    source: BoostSource
    name = "boost"

    async def act(self, given: Found, entry: StepRecord) -> SearchResult:
        request, result = given.request, given.result
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(self.run.deadline.limit(boosting.BOOST_TIMEOUT_S)):
                revision = await self.run.revision.get(self.source)
                hits: Sequence[ScoredChunk | TailHit] = (*result.candidates, *result.tail_hits)
                boosts = await revision.boosts(request.queries[0].text, hits)
                boosted = await put_boosts(result, boosts, store=self.tools.store, scope=request.scope)
        except (AppError, TimeoutError) as error:
            reason = worded("ratings could not be used: {why}", why=explained(error) or worded("they took too long"))
            entry.degrade(reason)
            return replace(result, degraded=(*result.degraded, reason))
        candidate_ids = {candidate.chunk_id for candidate in boosted.candidates}
        payload = {
            chunk_id: {"multiplier": round(boost.multiplier, 3), "origin": boost.origin}
            for chunk_id, boost in boosts.by_chunk.items()
            if chunk_id in candidate_ids
        }
        entry.detail |= {"boosts": payload, "revision": boosts.revision, "lifted": list(boosted.lifted)}
        entry.summary = (
            worded(
                "ratings lifted or lowered {rated} of {candidates}",
                rated=len(payload),
                candidates=counted("{count} candidate", "{count} candidates", len(candidate_ids)),
            )
            if payload
            else worded("no ratings bear on what was found")
        )
        if boosted.lifted:
            entry.summary += worded(", {lifted} of them from further down", lifted=len(boosted.lifted))
        if boosts.degraded:
            entry.degrade(boosts.degraded)
        spent = round((time.perf_counter() - begun) * 1000, 2)
        total = round(result.timings_ms.get("total", 0.0) + spent, 2)
        return replace(
            result,
            candidates=boosted.candidates,
            timings_ms={**result.timings_ms, "boost": spent, "total": total},
            degraded=(*result.degraded, boosts.degraded) if boosts.degraded else result.degraded,
            notes={**result.notes, "boosts": payload} if payload else result.notes,
        )
