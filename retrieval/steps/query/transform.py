"""Step-back and decompose: a broader question beside a very specific one, simpler ones in place of a compound one.

Which of them fits a question is a model's to say (`retrieval.workflows.planned`).
Source: seed 002, query transformation (step-back, 2-4 sub-queries whose results are pooled); Zheng et al., "Take a Step
Back", ICLR 2024.
"""

from __future__ import annotations

from retrieval.steps.deps import Deps
from retrieval.steps.query.rewrite import distinct, no_queries
from retrieval.steps.schemas import StepBackQuery, SubQueries, shaped
from retrieval.steps.step import step
from retrieval.text.quoting import quote_history
from retrieval.trace import note
from retrieval.values import Query, Question

SUB_QUERIES = 4  # parts at most


@step("decompose", fallback=no_queries, optional=True)
async def decompose(deps: Deps, question: Question) -> tuple[Query, ...]:
    """The simpler questions that a compound one is made of; a single one is no decomposition."""
    reply = await deps.complete(
        "decompose",
        shaped(SubQueries, sub_queries={"minItems": 2, "maxItems": SUB_QUERIES}),
        history=quote_history(question.history),
        question=question.standalone,
        sub_queries=SUB_QUERIES,
    )
    texts = distinct(reply.sub_queries, tried=[question.standalone])[:SUB_QUERIES]
    if len(texts) < 2:
        return no_queries(deps, question)
    note("queries_made", queries=texts)
    return tuple(Query(text, kind="sub_query") for text in texts)


@step("step_back", fallback=no_queries, optional=True)
async def step_back(deps: Deps, question: Question) -> tuple[Query, ...]:
    """The broader question behind a very specific one."""
    reply = await deps.complete(
        "step_back", StepBackQuery, history=quote_history(question.history), question=question.standalone
    )
    texts = distinct([reply.step_back_query], tried=[question.standalone])
    if not texts:
        return no_queries(deps, question)
    note("queries_made", queries=texts)
    return tuple(Query(text, kind="step_back") for text in texts)
