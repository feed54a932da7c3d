"""Refine: search again, by text alone, then wider, then on the web.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RefineDetails
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.steps.retrieve.search import search_documents
from retrieval.engine.steps.retrieve.web import may_search_web, web_search
from retrieval.engine.trace import note
from retrieval.engine.values import Query, Question, SearchFilters, Vocabulary

Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, str] = {
    "text": "by_words_alone",
    "wide": "wider",
    "web": "on_the_web",
}


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
    """What the stage finds. Strict filters of the request are kept at every stage. number: of the round, from 1."""
    async with deps.trace.step("refine"):
        note(
            "refined",
            RefineDetails(stage=stage, purpose=PURPOSE[stage], number=number),
        )
    if stage == "web":
        return await web_search(deps, question)
    settings = deps.settings
    top_k = settings.rerank.max_candidates * (WIDER if stage == "wide" else 1)
    request = SearchRequest(
        queries=tuple(query for query in queries if stage == "wide" or not query.vector_only),
        scope=question.scope,
        filters=replace(question.filters, preferred=Vocabulary()) if stage == "wide" else filters,
        top_k=min(top_k, settings.search.max_top_k),
        stages=("dense", "bm25") if stage == "wide" else ("bm25",),
    )
    return await search_documents(deps, request, purpose=PURPOSE[stage])
