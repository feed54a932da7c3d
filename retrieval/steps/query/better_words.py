"""Better words for a search: all calls that look for them side by side, as one round."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.steps.deps import Deps
from retrieval.steps.query.condense import condense
from retrieval.steps.query.hyde import hyde
from retrieval.steps.query.rewrite import rewrite
from retrieval.steps.query.route import read_question
from retrieval.values import DocumentTask, Query, Question, SearchFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterWords:
    """question: condensed where it needs a conversation. queries: all words, the user's own first. filters: those that
    were known, and what a model read from the question beside them. task: that it reads there for whole documents."""

    question: Question
    queries: tuple[Query, ...]
    filters: SearchFilters
    task: DocumentTask | None = None


async def look_for_better_words(
    deps: Deps, question: Question, filters: SearchFilters, *, found: Sequence[str] = ()
) -> BetterWords:
    """condense (in a conversation), rewrite, hyde, and filters or a task that a model reads. found: see
    `read_question`."""
    condensed, variants, imagined, (more_filters, task) = await asyncio.gather(
        condense(deps, question),
        rewrite(deps, question),
        hyde(deps, question),
        read_question(deps, question, filters, found=found),
    )
    queries = (Query(question.text), Query(condensed.standalone, kind="condensed"), *variants, *imagined)
    return BetterWords(question=condensed, queries=distinct_queries(queries), filters=more_filters, task=task)


def distinct_queries(queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """Each text once; the first one with it stays."""
    kept: dict[str, Query] = {}
    for query in queries:
        kept.setdefault(" ".join(query.text.casefold().split()), query)
    return tuple(kept.values())
