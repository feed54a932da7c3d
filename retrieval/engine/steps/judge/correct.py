"""Correct: where too few passages are good by the eight criteria, the web is searched in new words, what it gives is
put beside them, and all of it is judged again, up to three times (CRAG light).

Sources: seed 002 §2.6.2; Yan et al., Corrective RAG, 2024, arXiv:2401.15884.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.assessment import Assessment
from retrieval.engine.steps.judge.verdict import judge
from retrieval.engine.steps.retrieve.web import may_search_web, web_search
from retrieval.engine.values import Question, ScoredChunk

MAX_WEB_SEARCHES = 3


async def judge_and_correct(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    tried: Sequence[str] = (),
) -> tuple[Assessment, tuple[str, ...]]:
    """The last judgement, and the queries that the web was asked, `tried` ones included.

    ANSWER: `candidates` are the good passages alone, best first. REFINE: they are good, but too few, and nothing else
    is left to try. NO_ANSWER: none is good.
    """
    assessment = await judge(deps, question, passages)
    queries = tuple(tried)
    while assessment.refused and len(queries) < MAX_WEB_SEARCHES:
        if not may_search_web(deps, question) or deps.deadline.remaining() <= 0:
            break
        result = await web_search(deps, question, tried=queries)
        query = str(result.notes.get("query", ""))
        if not query:  # no other words are left
            break
        queries = (*queries, query)
        fresh = await dedupe(deps, result.candidates, known=assessment.candidates)
        if fresh:
            assessment = await judge(deps, question, (*fresh, *assessment.candidates))
    if assessment.refused and assessment.named:
        assessment = replace(assessment, verdict="REFINE", candidates=assessment.named)
    return assessment, queries
