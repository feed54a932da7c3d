"""Decompose: the simpler questions that a compound one is made of."""

from __future__ import annotations

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.providers.reply_form import shaped
from retrieval.engine.steps.query.queries import (
    QueryText,
    distinct,
    no_queries,
    noted_queries,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import quote_history
from retrieval.engine.values import Query, Question

SUB_QUERIES = 4  # parts at most


class SubQueries(BaseModel):
    sub_queries: list[QueryText]


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
    return noted_queries(texts if len(texts) > 1 else (), "sub_query")
