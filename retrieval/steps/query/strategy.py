"""Strategy: how a question is looked up, with the words of its search, in one model call.

Source: seed 001, `route_query` and `rewrite_query`. The seed asks a model for each; both read the same conversation, so
one call gives both and a round less stands before the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.errors import ModelOutputError
from retrieval.steps.deps import Deps
from retrieval.steps.memory import quote_memories
from retrieval.steps.query.rewrite import VARIANTS, distinct
from retrieval.steps.schemas import ChosenRoute, StrategyName, shaped
from retrieval.steps.step import step
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import note
from retrieval.values import Query, Question, RememberedFact

STRATEGIES: tuple[StrategyName, ...] = ("hierarchical_search", "direct_chunk_search", "web_search")
STANDALONE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """question: condensed where it needs the conversation. queries: other wordings of it."""

    route: StrategyName
    question: Question
    queries: tuple[Query, ...] = ()


def first_available(
    deps: Deps, question: Question, available: Sequence[StrategyName], memories: Sequence[RememberedFact]
) -> Strategy:
    note("strategy", route=available[0], available=list(available), standalone_question=question.standalone)
    return Strategy(route=available[0], question=question)


@step("route", fallback=first_available, optional=True)
async def choose_strategy(
    deps: Deps, question: Question, available: Sequence[StrategyName], memories: Sequence[RememberedFact]
) -> Strategy:
    """One of the available strategies, or `direct`: no document is needed."""
    routes = (*available, "direct")
    reply = await deps.complete(
        "dual_loop_route",
        shaped(ChosenRoute, route={"enum": list(routes)}, queries={"minItems": VARIANTS, "maxItems": VARIANTS}),
        memories=quote_memories(memories),
        history=quote_history(question.history),
        routes=", ".join(routes),
        variants=VARIANTS,
        question=one_line(question.standalone),
    )
    if reply.route not in routes:
        raise ModelOutputError("route_not_available")
    if question.history and not question.condensed:
        question = replace(question, condensed=" ".join(reply.standalone_question.split())[:STANDALONE_CHARS])
    note("strategy", route=reply.route, available=list(available), standalone_question=question.standalone)
    texts = distinct(reply.queries, tried=[question.standalone])[:VARIANTS]
    return Strategy(route=reply.route, question=question, queries=tuple(Query(text, kind="rewrite") for text in texts))
