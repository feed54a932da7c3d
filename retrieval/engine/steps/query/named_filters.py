"""Filters that a question names: the documents' own departments, types, years and tags, without a call of a model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain
from typing import Any

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RouteDetails
from retrieval.engine.text.named_values import named_values
from retrieval.engine.values import Question


async def prefer_what_is_named(deps: Deps, question: Question) -> Question:
    """The question with filters that prefer the documents' own departments, types, years and tags that it names.

    No call of a model, and no entry in the path where it names none, or where the request wants none looked up. Filters
    of the request are left as they are.
    """
    if question.options.route is False:
        return question
    vocabulary = await deps.store.vocabulary(question.scope)
    named = await asyncio.to_thread(named_values, question.text, vocabulary)
    filters = question.filters.preferring(named)
    if filters == question.filters:
        return question
    async with deps.trace.step("route") as entry:
        preferred: dict[str, list[Any]] = {}
        for name, values in named.as_dict().items():
            if name in filters.preferred.fields:
                preferred[name] = values
        shown = tuple(chain.from_iterable(preferred.values()))
        entry.note("values_named", RouteDetails(preferred=preferred, values=shown))
    return replace(question, filters=filters)
