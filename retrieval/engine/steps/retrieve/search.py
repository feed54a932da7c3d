"""Retrieve: every query variant in one search; users' ratings then lift or lower what was found."""

from __future__ import annotations

from itertools import chain
from typing import Any

from ragsite.core.messages import joined
from ragsite.core.rag_settings import RagSettings
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import (
    FoundCandidate,
    RetrieveDetails,
    SearchedQuery,
)
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.reasons import Reason
from retrieval.engine.search.preferring import search_preferring
from retrieval.engine.steps.retrieve.boost import boost
from retrieval.engine.steps.step import step
from retrieval.engine.trace import degrade, note
from retrieval.engine.values import Question, ScoredChunk


def breadth(question: Question, settings: RagSettings, *, default: int = 0) -> int:
    """How many candidates are searched for: as many as are asked for, or judged. default: of what a request asks for,
    in place of the passages of an answer."""
    top_k = question.options.top_k or default or settings.corrective.context_passages
    return min(max(top_k, settings.rerank.max_candidates), settings.search.max_top_k)


async def search_documents(
    deps: Deps, request: SearchRequest, *, purpose: str = ""
) -> SearchResult:
    """Steps: retrieve, boost. purpose: what is searched for, a code of the path's texts or a name.

    `notes["boosts"]` says of each boosted candidate by how much and why. Where ratings could not be used, the reason
    stands in `degraded`. Raises IndexUnavailableError: "could not look" is never the same as "found nothing".
    """
    result = await retrieve(deps, request, purpose=purpose)
    if deps.boosts is None or not result.candidates:
        return result
    return await boost(deps, deps.boosts, request, result)


@step("retrieve")
async def retrieve(deps: Deps, request: SearchRequest, *, purpose: str = "") -> SearchResult:
    """One search, and a second one beside it where filters prefer. Raises as `HybridSearcher.search`."""
    first = request.queries[0]
    if deps.trace.searched_for is None:
        deps.trace.searched_for = first.text if first.kind == "original" else ""
    result = await search_preferring(deps.searcher, request)
    preferred = request.filters.preferred.as_dict()
    lifted: Any = result.notes.get("preferred", 0)
    details = RetrieveDetails(
        purpose=purpose or "all_words",
        preferred=preferred,
        values=tuple(chain.from_iterable(preferred.values())),
        lifted=lifted,
        queries=tuple(SearchedQuery(kind=query.kind, text=query.text) for query in request.queries),
        filters=request.filters.as_dict(),
        relaxed=tuple(result.relaxed),
        timings_ms={name: round(ms, 1) for name, ms in result.timings_ms.items()},
        notes=dict(result.notes),
        candidates=tuple(map(_found, result.candidates)),
        found=len(result.candidates),
        searched=len(request.queries),
        documents=len(request.filters.documents) or request.scope.documents,
    )
    note(_retrieved_code(result, purpose, preferring=bool(preferred)), details)
    if result.degraded:
        degrade(Reason("search_incomplete", {"error": joined("; ", result.degraded)}))
    await deps.trace.announce("search", " | ".join(query.text for query in request.queries))
    return result


def _found(hit: ScoredChunk) -> FoundCandidate:
    return FoundCandidate(chunk_id=hit.chunk_id, ranks=dict(hit.ranks), scores=hit.scores.as_dict())


def _retrieved_code(result: SearchResult, purpose: str, *, preferring: bool) -> str:
    again = "cached_s" in result.notes
    if preferring:
        code = "retrieved_again" if again else "retrieved"
        return f"{code}_preferring" if result.notes.get("preferred") else f"{code}_relaxed"
    if again:
        return "retrieved_again"
    return "retrieved_for" if purpose else "retrieved"
