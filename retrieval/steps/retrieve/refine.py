"""Refine: the corrective retrieval when what was found is too weak. First by text alone, then wider, then on the web.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval"); Yan et al., 2024, arXiv:2401.15884 (web search
as the corrective action).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragsite.core.wording import Sentence, worded
from retrieval.own_words import look_at
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.query import transform
from retrieval.steps.query.transform import broader_queries
from retrieval.steps.query.wording import without_filler
from retrieval.steps.retrieve.retrieve import search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, may_search_web
from retrieval.steps.step import Asked, Context, Step
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import StepRecord
from retrieval.values import Query, Question, SearchFilters

Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, Sentence] = {
    "text": worded("by words alone"),
    "wide": worded("wider, taken apart, without the filters read from the question"),
    "web": worded("on the web"),
}


def stages(question: Question, tools: Toolbox) -> tuple[Stage, ...]:
    """What may be tried for this question, in this order."""
    return ("text", "wide", "web") if may_search_web(question, tools) else ("text", "wide")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """A round of the corrective search. `number`: from 1. `missing`: what the judge found missing. `use_model`: a model
    round is left (for the words of a web search)."""

    question: Question
    queries: Sequence[Query]
    filters: SearchFilters
    stage: Stage
    number: int
    missing: str
    use_model: bool


async def search_again(context: Context, given: Refinement) -> SearchResult:
    """What the stage finds. Filters of the request itself are kept at every stage."""
    queries, stage = await Refine(context)(given), given.stage
    if stage == "web":
        return await WebSearch(context)(WebQuestion(Asked(given.question, queries[0].text), given.use_model))
    settings = context.tools.settings
    wanted = settings.rerank.max_candidates * (WIDER if stage == "wide" else 1)
    request = SearchRequest(
        queries=queries if stage == "wide" else tuple(query for query in queries if not query.vector_only),
        scope=given.question.scope,
        filters=given.question.filters if stage == "wide" else given.filters,
        top_k=min(wanted, settings.search.max_top_k),
        stages=("dense", "bm25") if stage == "wide" else ("bm25",),
    )
    return await search_documents(context, request, purpose=PURPOSE[stage] + ": ")


class Refine(Step[Refinement, tuple[Query, ...]]):
    """What the round searches for: the queries so far, what is missing, and in a wide search the broader question or
    the parts of a compound one."""

    name = "refine"

    async def act(self, given: Refinement, entry: StepRecord) -> tuple[Query, ...]:
        entry.summary = worded("round {number}: {purpose}", number=given.number, purpose=PURPOSE[given.stage])
        entry.detail |= {"stage": given.stage, "missing": given.missing}
        chars = len(given.queries[0].text) + len(given.missing)
        queries = await look_at(chars, with_missing, given.queries, given.missing)
        if given.stage == "wide" and (added := await look_at(chars, self._broader, given.question, queries)):
            queries = (*queries, *added)
            entry.detail["broader"] = [query.text for query in added]
        return queries

    def _broader(self, question: Question, queries: Sequence[Query]) -> tuple[Query, ...]:
        """What a step back or a decomposition adds, unless one of them has served already."""
        allowed = {"sub_query": transform.DECOMPOSE_ENABLED, "step_back": transform.STEP_BACK_ENABLED}
        if question.options.rewrite is False or any(query.kind in allowed for query in queries):
            return ()
        return tuple(query for query in broader_queries(queries[0].text) if allowed[query.kind])


def with_missing(queries: Sequence[Query], missing: str) -> tuple[Query, ...]:
    """The queries so far, their first one without filler words, and what the judge found missing."""
    texts = {query.text for query in queries}
    extra = [without_filler(queries[0].text), missing.strip()]
    return (*queries, *(Query(text, kind="rewrite") for text in dict.fromkeys(extra) if text and text not in texts))
