"""Step-back: the broader question behind a very specific one.

Source: Zheng et al., ICLR 2024.
"""

from __future__ import annotations

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.steps.query.queries import (
    QueryText,
    distinct,
    no_queries,
    noted_queries,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import quote_history
from retrieval.engine.values import Query, Question


class StepBackQuery(BaseModel):
    step_back_query: QueryText


@step("step_back", fallback=no_queries, optional=True)
async def step_back(deps: Deps, question: Question) -> tuple[Query, ...]:
    """The broader question behind a very specific one."""
    reply = await deps.complete(
        "step_back",
        StepBackQuery,
        history=quote_history(question.history),
        question=question.standalone,
    )
    return noted_queries(
        distinct([reply.step_back_query], tried=[question.standalone]), "step_back"
    )
