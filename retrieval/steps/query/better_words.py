"""Better words for a search: all calls that look for them side by side, as one round."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from retrieval.steps.query.condense import Condense
from retrieval.steps.query.hyde import hyde
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.query.route import filters_by_model
from retrieval.steps.query.transform import transform_question
from retrieval.steps.step import Asked, Context
from retrieval.values import Query, SearchFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterWords:
    """standalone: the question made self-contained by a model, or as it was. queries: all words, the user's own first.
    filters: those that were known, and what a model read from the question beside them."""

    standalone: str
    queries: tuple[Query, ...]
    filters: SearchFilters


async def look_for_better_words(context: Context, asked: Asked, filters: SearchFilters) -> BetterWords:
    """condense (follow-ups), rewrite, hyde, route by a model, and step_back or decompose where one of them fits."""
    standalone, variants, hypothetical, transformed, more_filters = await asyncio.gather(
        Condense(context)(asked),
        Rewrite(context)(Wanted(asked=asked, tried=(asked.text,))),
        hyde(context.deps, asked.condensed),
        transform_question(context, asked),
        filters_by_model(context, asked, filters),
    )
    queries: dict[str, Query] = {}
    for query in (
        Query(asked.text),
        Query(standalone, kind="condensed"),
        *variants,
        *transformed,
        *hypothetical,
    ):
        queries.setdefault(" ".join(query.text.casefold().split()), query)
    return BetterWords(standalone=standalone, queries=tuple(queries.values()), filters=more_filters)
