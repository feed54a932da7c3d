"""Query expansion: condense, rewrite, HyDE and route, side by side as one round."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.engine.deps import Deps
from retrieval.engine.steps.query.condense import condense
from retrieval.engine.steps.query.hyde import hyde
from retrieval.engine.steps.query.queries import distinct_queries
from retrieval.engine.steps.query.rewrite import rewrite
from retrieval.engine.steps.query.route import Route, read_question
from retrieval.engine.values import Query, Question, SearchFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryExpansion:
    """question: condensed where it needs a conversation. queries: all words, the user's own first."""

    question: Question
    queries: tuple[Query, ...]
    route: Route


async def expand_query(
    deps: Deps,
    question: Question,
    filters: SearchFilters,
    *,
    found: Sequence[str] = (),
) -> QueryExpansion:
    """condense (in a conversation), rewrite, hyde and route, side by side as one round. found: see `read_question`."""
    condensed, variants, imagined, route = await asyncio.gather(
        condense(deps, question),
        rewrite(deps, question),
        hyde(deps, question),
        read_question(deps, question, filters, found=found),
    )
    queries = (
        Query(question.text),
        Query(condensed.standalone, kind="condensed"),
        *variants,
        *imagined,
    )
    return QueryExpansion(question=condensed, queries=distinct_queries(queries), route=route)
