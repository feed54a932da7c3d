"""The strategies of the inner loop, and how one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import RouteDetails
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.steps import memory
from retrieval.engine.steps.query.queries import VARIANTS, QueryText, distinct
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import note
from retrieval.engine.values import Query, Question, RememberedFact

STANDALONE_CHARS = 500
StrategyName = Literal["hierarchical_search", "direct_chunk_search", "web_search", "direct"]
STRATEGIES: tuple[StrategyName, ...] = (
    "hierarchical_search",
    "direct_chunk_search",
    "web_search",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """question: condensed where it needs the conversation. queries: other wordings of it."""

    route: StrategyName
    question: Question
    queries: tuple[Query, ...] = ()


def wanting_web(question: Question) -> Question:
    """The web is one of this workflow's strategies: where it is configured, it serves unless the request says no."""
    if question.options.web_search is not None:
        return question
    return replace(question, options=replace(question.options, web_search=True))


class ChosenRoute(BaseModel):
    """Route and words of the search in one call: both read the same conversation."""

    route: StrategyName
    standalone_question: Annotated[str, limited(maxLength=400)] = ""
    queries: list[QueryText] = []


def first_available(
    deps: Deps,
    question: Question,
    available: Sequence[StrategyName],
    memories: Sequence[RememberedFact],
) -> Strategy:
    _note_strategy(available[0], available, question)
    return Strategy(route=available[0], question=question)


def _note_strategy(
    route: StrategyName, available: Sequence[StrategyName], question: Question
) -> None:
    details = RouteDetails(
        route=route,
        available=tuple(available),
        standalone_question=question.standalone,
    )
    note("strategy", details)


@step("route", fallback=first_available, optional=True)
async def choose_strategy(
    deps: Deps,
    question: Question,
    available: Sequence[StrategyName],
    memories: Sequence[RememberedFact],
) -> Strategy:
    """One of the available strategies, or `direct`: no document is needed."""
    routes = (*available, "direct")
    reply = await deps.complete(
        "dual_loop_route",
        shaped(
            ChosenRoute,
            route={"enum": list(routes)},
            queries={"minItems": VARIANTS, "maxItems": VARIANTS},
        ),
        memories=memory.quote_memories(memories),
        history=quote_history(question.history),
        routes=", ".join(routes),
        variants=VARIANTS,
        question=one_line(question.standalone),
    )
    if reply.route not in routes:
        raise ModelOutputError("route_not_available")
    if question.history and not question.condensed:
        question = replace(
            question,
            condensed=" ".join(reply.standalone_question.split())[:STANDALONE_CHARS],
        )
    _note_strategy(reply.route, available, question)
    texts = distinct(reply.queries, tried=[question.standalone])[:VARIANTS]
    return Strategy(
        route=reply.route,
        question=question,
        queries=tuple(Query(text, kind="rewrite") for text in texts),
    )
