"""Refine: the corrective search when what was found is too weak. First by text alone, then wider, then on the web.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval"); Yan et al., 2024, arXiv:2401.15884 (web search
as the corrective action).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.deps import Deps
from retrieval.steps.retrieve.search import search_documents
from retrieval.steps.retrieve.web_search import may_search_web, web_search
from retrieval.steps.step import step
from retrieval.trace import note
from retrieval.values import Query, Question, SearchFilters

Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, str] = {"text": "by_words_alone", "wide": "wider", "web": "on_the_web"}


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
    missing: str = "",
) -> SearchResult:
    """What the stage finds. Filters of the request itself are kept at every stage. number: of the round, from 1.
    missing: what the judge found missing; it is searched for, too."""
    queries = await refine(deps, queries, stage, number=number, missing=missing)
    if stage == "web":
        return await web_search(deps, question)
    settings = deps.settings
    wanted = settings.rerank.max_candidates * (WIDER if stage == "wide" else 1)
    request = SearchRequest(
        queries=queries if stage == "wide" else tuple(query for query in queries if not query.vector_only),
        scope=question.scope,
        filters=question.filters if stage == "wide" else filters,
        top_k=min(wanted, settings.search.max_top_k),
        stages=("dense", "bm25") if stage == "wide" else ("bm25",),
    )
    return await search_documents(deps, request, purpose=PURPOSE[stage])


@step("refine")
async def refine(deps: Deps, queries: Sequence[Query], stage: Stage, *, number: int, missing: str) -> tuple[Query, ...]:
    """What the round searches for: the queries so far, and what is missing."""
    note("refined", stage=stage, purpose=PURPOSE[stage], number=number, missing=missing)
    known = {query.text for query in queries}
    return (*queries, Query(missing, kind="rewrite")) if missing and missing not in known else tuple(queries)
