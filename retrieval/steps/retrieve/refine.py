"""Refine: the corrective retrieval when what was found is too weak. First by text alone, then wider, then on the web.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval"); Yan et al., 2024, arXiv:2401.15884 (web search
as the corrective action).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.query.transform import broader_queries
from retrieval.steps.query.wording import without_filler
from retrieval.steps.retrieve.retrieve import Retrieve
from retrieval.steps.retrieve.web_search import WebSearch, may_search_web
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.values import Query, Question, SearchFilters

Stage = Literal["text", "wide", "web"]
WIDER = 3  # times as many candidates
PURPOSE: dict[Stage, str] = {
    "text": "text only",
    "wide": "wider, taken apart, without the filters read from the question",
    "web": "on the web",
}


def stages(question: Question, tools: Toolbox) -> tuple[Stage, ...]:
    """What may be tried for this question, in this order."""
    return ("text", "wide", "web") if may_search_web(question, tools) else ("text", "wide")


@dataclass(frozen=True, slots=True)
class Refine:
    tools: Toolbox

    async def refine(
        self,
        question: Question,
        queries: Sequence[Query],
        filters: SearchFilters,
        *,
        stage: Stage,
        number: int,
        missing: str,
        use_model: bool,
        run: Run,
        language: Language,
    ) -> SearchResult:
        """What the stage finds. Filters of the request itself are kept at every stage.

        `number`: of the round, from 1. `use_model`: a model round is left (for the words of a web search).
        """
        async with run.trace.step("refine") as step:
            step.summary = f"round {number}: {PURPOSE[stage]}"
            step.detail |= {"stage": stage, "missing": missing}
            asked = await asyncio.to_thread(with_missing, queries, missing)
            if stage == "wide" and (added := await asyncio.to_thread(self._broader, question, asked)):
                asked = (*asked, *added)
                step.detail["broader"] = [query.text for query in added]
        if stage == "web":
            web = WebSearch(self.tools)
            return await web.search(question, asked[0].text, run=run, language=language, use_model=use_model)
        request = self._request(question, asked, filters, stage)
        return await Retrieve(self.tools).retrieve(request, run=run, purpose=f"{PURPOSE[stage]}: ")

    def _broader(self, question: Question, queries: Sequence[Query]) -> tuple[Query, ...]:
        """What a step back or a decomposition adds, unless one of them has served already."""
        settings = self.tools.settings
        allowed = {"sub_query": settings.decompose.enabled, "step_back": settings.step_back.enabled}
        if question.options.rewrite is False or any(query.kind in allowed for query in queries):
            return ()
        return tuple(query for query in broader_queries(queries[0].text) if allowed[query.kind])

    def _request(
        self, question: Question, queries: tuple[Query, ...], filters: SearchFilters, stage: Stage
    ) -> SearchRequest:
        settings = self.tools.settings
        top_k = settings.rerank.max_candidates
        if stage == "text":
            texts = tuple(query for query in queries if not query.vector_only)
            return SearchRequest(
                queries=texts, scope=question.scope, filters=filters, top_k=min(top_k, settings.search.max_top_k),
                stages=("bm25",),
            )  # fmt: skip
        return SearchRequest(
            queries=queries, scope=question.scope, filters=question.filters,
            top_k=min(top_k * WIDER, settings.search.max_top_k),
        )  # fmt: skip


def with_missing(queries: Sequence[Query], missing: str) -> tuple[Query, ...]:
    """The queries so far, their first one without filler words, and what the judge found missing."""
    texts = {query.text for query in queries}
    extra = [without_filler(queries[0].text), missing.strip()]
    return (*queries, *(Query(text, kind="rewrite") for text in dict.fromkeys(extra) if text and text not in texts))
