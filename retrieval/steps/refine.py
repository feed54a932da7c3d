"""Refine: the corrective retrieval when what was found is too weak. First by text alone, then wider.

Source: seed 003 §2.6 ("REFINE triggers a text-only fallback retrieval"); Yan et al., 2024, arXiv:2401.15884.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.retrieve import Retrieve
from retrieval.steps.rewrite import without_filler
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.steps.transform import broader_queries
from retrieval.values import Query, Question, SearchFilters

WIDER = 3  # times as many candidates
STAGES = ("text only", "wider, without the filters read from the question")


@dataclass(frozen=True, slots=True)
class Refine:
    tools: Toolbox

    async def refine(
        self,
        question: Question,
        queries: Sequence[Query],
        filters: SearchFilters,
        *,
        missing: str,
        stage: int,
        run: Run,
    ) -> SearchResult:
        """What the next stage (from 0) finds. Filters of the request itself are kept at every stage."""
        async with run.trace.step("refine") as step:
            step.summary = f"round {stage + 1}: {STAGES[stage]}"
            step.detail["missing"] = missing
            queries = with_missing(queries, missing)
            if stage > 0 and (added := self._broader(question, queries)):
                queries = (*queries, *added)
                step.detail["broader"] = [query.text for query in added]
        request = self._request(question, queries, filters, stage)
        return await Retrieve(self.tools).retrieve(request, run=run, purpose=f"{STAGES[stage]}: ")

    def _broader(self, question: Question, queries: Sequence[Query]) -> tuple[Query, ...]:
        """What a step back or a decomposition adds, unless one of them has served already."""
        settings = self.tools.settings
        allowed = {"sub_query": settings.decompose.enabled, "step_back": settings.step_back.enabled}
        if question.options.rewrite is False or any(query.kind in allowed for query in queries):
            return ()
        return tuple(query for query in broader_queries(queries[0].text) if allowed[query.kind])

    def _request(
        self, question: Question, queries: tuple[Query, ...], filters: SearchFilters, stage: int
    ) -> SearchRequest:
        settings = self.tools.settings
        top_k = settings.rerank.max_candidates
        if stage == 0:
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
