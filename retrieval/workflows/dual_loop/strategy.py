"""Strategy: how a question is looked up first, with the words of its search, in one model call; and what comes next.

Source: seed 001, `route_query` and `rewrite_query`. The seed asks a model for each; both read the same conversation, so
one call gives both and a round less stands before the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.core.wording import Sentence, worded
from retrieval.errors import ModelOutputError
from retrieval.steps.answer.no_answer import WHY
from retrieval.steps.memory import quote_memories
from retrieval.steps.query import query_rewriter
from retrieval.steps.query.wording import distinct, without_filler
from retrieval.steps.retrieve.web_search import may_search_web
from retrieval.steps.schemas import ChosenRoute, StrategyName, shaped
from retrieval.steps.step import Asked, Step
from retrieval.steps.toolbox import Toolbox
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord
from retrieval.values import Query, Question, RememberedFact

PROMPT = "dual_loop_route"  # its file in retrieval/prompts

ROUTES: dict[str, Sentence] = {  # as the decision path says them
    "hierarchical_search": worded("hierarchical_search"), "direct_chunk_search": worded("direct_chunk_search"),
    "web_search": worded("web_search"), "direct": worded("direct"),
}  # fmt: skip
STRATEGIES: tuple[StrategyName, ...] = ("hierarchical_search", "direct_chunk_search", "web_search")
# One fact is asked for: the passage that states it is looked for among all of them.
_PRECISE = re.compile(
    r"\d|[\"“”「」『』]|(?-i:\b[A-Z]{2,}[A-Z0-9-]*\b)"
    r"|\b(?:how (?:much|many|long|often)|when|where|who|which (?:form|number|date|year))\b"
    r"|多少|多久|几|幾|何时|何時|什么时候|什麼時候|哪(?:里|裡|年|天)|谁|誰",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`standalone`: the self-contained question. `queries`: other wordings of it."""

    route: StrategyName
    standalone: str
    queries: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`asked`: with the text that rules made of it. `available`: in the order of `available_strategies`."""

    asked: Asked
    memories: Sequence[RememberedFact]
    available: Sequence[StrategyName]


class ChooseStrategy(Step[Choice, Plan]):
    """Without a model, by what the question asks for, and so where the first search was clearly good: nothing is left
    to be chosen then. Never raises a ModelError."""

    name = "route"
    optional = True

    async def act(self, given: Choice, entry: StepRecord) -> Plan:
        draft, available = given.asked.text, given.available
        by_rule = Plan(route=await asyncio.to_thread(route_by_rule, draft, available), standalone=draft)
        plan = await self.attempt(entry, self._ask(given), fallback=lambda: by_rule, gives_way=True)
        entry.detail |= {
            "route": plan.route,
            "standalone_question": plan.standalone,
            "available": list(available),
            "not_available": why_not_available(given.asked.question, self.tools, available),
        }
        entry.summary = worded("{route}: {question}", route=ROUTES[plan.route], question=plan.standalone[:300])
        return plan

    async def _ask(self, given: Choice) -> Plan:
        question, draft, variants = given.asked.question, given.asked.text, query_rewriter.VARIANTS
        reply = await self.complete(
            PROMPT,
            shaped(
                ChosenRoute,
                route={"enum": [*given.available, "direct"]},
                queries={"minItems": variants, "maxItems": variants},
            ),
            memories=quote_memories(given.memories),
            history=self.history(question),
            routes=", ".join((*given.available, "direct")),
            variants=variants,
            question=one_line(given.asked.to_search),
        )
        if reply.route != "direct" and reply.route not in given.available:
            raise ModelOutputError(worded("the model chose {route}, which is not available", route=reply.route))
        may_reword = bool(question.history) and not question.open_clarification
        standalone = " ".join(reply.standalone_question.split()) if may_reword else ""
        return Plan(
            route=reply.route,
            standalone=standalone[:500] or draft,
            queries=tuple(Query(text, kind="rewrite") for text in distinct(reply.queries, tried=(draft,))[:variants]),
        )


def available_strategies(question: Question, tools: Toolbox) -> tuple[StrategyName, ...]:
    """In the order in which they are tried when nothing speaks for another one."""
    documents = any(ref.space is not None for ref in question.scope.collections)
    web = may_search_web(wanting_web(question), tools)
    return tuple(name for name in STRATEGIES if (web if name == "web_search" else documents))


def why_not_available(question: Question, tools: Toolbox, available: Sequence[StrategyName]) -> dict[str, str]:
    reasons = dict.fromkeys(STRATEGIES, WHY["no_documents"])
    reasons["web_search"] = (
        worded("no web search is configured") if tools.web is None else worded("switched off for this question")
    )
    return {name: reason for name, reason in reasons.items() if name not in available}


def wanting_web(question: Question) -> Question:
    """The web is one of this workflow's strategies: where it is configured, it serves unless the request says no."""
    if question.options.web_search is not None:
        return question
    return replace(question, options=replace(question.options, web_search=True))


def next_strategy(tried: Sequence[StrategyName], available: Sequence[StrategyName]) -> StrategyName | None:
    """The first that was not tried yet; None: no other is left."""
    return next((name for name in STRATEGIES if name in available and name not in tried), None)


def route_by_rule(question: str, available: Sequence[StrategyName]) -> StrategyName:
    """A question for one fact goes to the chunks, any other first to the documents it may be about."""
    if "direct_chunk_search" in available and _PRECISE.search(without_filler(question)):
        return "direct_chunk_search"
    return available[0]
