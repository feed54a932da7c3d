"""Retrieve: every query variant in one search; users' ratings then lift or lower what was found. Refine: search again.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval").
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ragsite.core.errors import AppError
from ragsite.core.rag_settings import RagSettings
from ragsite.core.wording import joined
from retrieval.errors import explained
from retrieval.path_texts import reason_text
from retrieval.ports import BoostSource, SearchRequest, SearchResult
from retrieval.search.boosting import BOOST_TIMEOUT_S, put_boosts
from retrieval.search.hybrid import HybridSearcher
from retrieval.steps.step import Deps, step
from retrieval.steps.web import may_search_web, web_search
from retrieval.trace import degrade, note
from retrieval.values import Query, Question, SearchFilters

Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, str] = {"text": "by_words_alone", "wide": "wider", "web": "on_the_web"}


# ------------------------------------------------------------------------------------------------ search
def breadth(question: Question, settings: RagSettings, *, default: int = 0) -> int:
    """How many candidates are searched for: as many as are asked for, or judged. default: of what a request asks for,
    in place of the passages of an answer."""
    wanted = question.options.top_k or default or settings.corrective.context_passages
    return min(max(wanted, settings.rerank.max_candidates), settings.search.max_top_k)


async def search_documents(deps: Deps, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """Steps: retrieve, boost. purpose: what is searched for, a code of the path's texts or a name.

    `notes["boosts"]` says of each boosted candidate by how much and why. Where ratings could not be used, the reason
    stands in `degraded`. Raises IndexUnavailableError: "could not look" is never the same as "found nothing".
    """
    result = await retrieve(deps, request, purpose=purpose)
    return await boost(deps, deps.boosts, request, result) if deps.boosts and result.candidates else result


@step("retrieve")
async def retrieve(deps: Deps, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """One search, and a second one where preferred filters leave room. Raises as `HybridSearcher.search`."""
    result = await search_preferring(deps.searcher, request)
    note(
        "retrieved_for" if purpose else "retrieved",
        purpose=purpose,
        queries=[{"kind": query.kind, "text": query.text} for query in request.queries],
        filters=request.filters.as_dict(),
        relaxed=list(result.relaxed),
        timings_ms={name: round(ms, 1) for name, ms in result.timings_ms.items()},
        notes=dict(result.notes),
        candidates=[
            {"chunk_id": hit.chunk_id, "ranks": dict(hit.ranks), "scores": hit.scores.as_dict()}
            for hit in result.candidates
        ],
        found=len(result.candidates),
        searched=len(request.queries),
        documents=len(request.filters.documents) or request.scope.documents,
    )
    if result.degraded:
        degrade(joined("; ", result.degraded))
    await deps.trace.announce("search", " | ".join(query.text for query in request.queries))
    return result


async def search_preferring(searcher: HybridSearcher, request: SearchRequest) -> SearchResult:
    """Strict filters hold. What preferred ones leave comes first; where that is fewer than are asked for, the places
    left over are filled without them, and `relaxed` names them. Raises as `HybridSearcher.search`."""
    result = await searcher.search(request)
    filters, most = request.filters, request.depth or request.top_k
    if not filters.preferred or len(result.candidates) >= most:
        return result
    wider = await searcher.search(replace(request, filters=filters.without(filters.preferred)))
    known = {hit.chunk_id for hit in result.candidates}
    more = [hit for hit in wider.candidates if hit.chunk_id not in known][: most - len(known)]
    if not more:
        return result
    candidates = (*result.candidates, *more)
    shown = {hit.chunk_id for hit in candidates}
    tail = tuple(hit for hit in (*result.tail_hits, *wider.tail_hits) if hit.chunk_id not in shown)
    return replace(result, candidates=candidates, tail_hits=tail, relaxed=tuple(sorted(filters.preferred)))


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
        boosts=payload, revision=boosts.revision, lifted=lifted, rated=len(payload), found=len(shown),
    )  # fmt: skip
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


# ------------------------------------------------------------------------------------------------ refine


def stages(deps: Deps, question: Question) -> tuple[Stage, ...]:
    """What may be tried for this question, in this order."""
    return ("text", "wide", "web") if may_search_web(deps, question) else ("text", "wide")


async def search_again(
    deps: Deps,
    question: Question,
    queries: Sequence[Query],
    stage: Stage,
    *,
    filters: SearchFilters,
    number: int,
) -> SearchResult:
    """What the stage finds. Filters of the request itself are kept at every stage. number: of the round, from 1."""
    async with deps.trace.step("refine"):
        note("refined", stage=stage, purpose=PURPOSE[stage], number=number)
    if stage == "web":
        return await web_search(deps, question)
    settings = deps.settings
    wanted = settings.rerank.max_candidates * (WIDER if stage == "wide" else 1)
    request = SearchRequest(
        queries=tuple(query for query in queries if stage == "wide" or not query.vector_only),
        scope=question.scope,
        filters=question.filters if stage == "wide" else filters,
        top_k=min(wanted, settings.search.max_top_k),
        stages=("dense", "bm25") if stage == "wide" else ("bm25",),
    )
    return await search_documents(deps, request, purpose=PURPOSE[stage])
