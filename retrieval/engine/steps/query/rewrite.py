"""Rewrite: the question in other words. Without a model there are none: no rule knows them.

Source: Ma et al., EMNLP 2023.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.steps.query.queries import (
    NONE,
    ClearQuery,
    QueryText,
    distinct,
    new_query,
    no_queries,
    noted_queries,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import skip
from retrieval.engine.values import Query, Question


def rewriting_is_on(deps: Deps, question: Question) -> bool:
    option = question.options.rewrite
    return deps.settings.rewrite.enabled if option is None else option


class RewrittenQueries(BaseModel):
    queries: list[QueryText]


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite(deps: Deps, question: Question) -> tuple[Query, ...]:
    """Variants of the question, and its parts where it asks several things."""
    if not rewriting_is_on(deps, question):
        skip("switched_off")
        return ()
    variants = deps.settings.rewrite.variants
    reply = await deps.complete(
        "rewrite",
        exactly(RewrittenQueries, "queries", variants),
        history=quote_history(question.history),
        question=question.standalone,
        variants=variants,
    )
    return noted_queries(distinct(reply.queries, tried=[question.standalone])[:variants])


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_concepts(
    deps: Deps, question: Question, *, tried: Sequence[str] = (), missing: str = ""
) -> tuple[Query, ...]:
    """One query of key concepts, in the message's own language. missing: what the passages lacked so far."""
    reply = await deps.complete(
        "query_rewriter",
        ClearQuery,
        history=quote_history(question.history),
        tried="; ".join(map(one_line, tried)) or NONE,
        missing=one_line(missing) or NONE,
        question=one_line(question.text),
    )
    queries = noted_queries([new_query(reply.query, tried)], tried=tried, missing=missing)
    await deps.trace.announce("query_rewriter", f"“{question.text}” → “{queries[0].text}”")
    return queries
