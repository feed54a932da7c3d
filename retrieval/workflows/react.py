"""ReAct (seed 004): rewrite a query that is short or chatty, search, evaluate, and answer with citations.

    START → router ─┬─ small talk ────────► greet ──► END
                    ├─ no documents ──────► web_search, else no_answer ──► END
                    ├─ short or chatty ───► rewriter ─┬─ a query ──────────► retriever
                    │                          ▲      └─ none left to try ─► evaluator's other ways out
                    └─ clear ─► retriever      │
                                    │          │
                                    ▼          │
                                evaluator ─────┼─ INSUFFICIENT, rewrites left ► rewriter
                                 ▲     │       └─ SUFFICIENT ─────────────────► generator ──► END
                    web_search ──┘     ├─ INSUFFICIENT, web not yet searched ► web_search
                                       └─ INSUFFICIENT, nothing left ────────► no_answer ──► END

At most two rewrites, the router's included. What several searches found is evaluated together, so a rewrite can't make
things worse. Only a model's word ends in no_answer, the evaluator's or the generator's; without one what was found is
quoted. The web is searched only where it is configured and asked for.
Source: Yao et al., "ReAct", ICLR 2023; seed 004.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import worded
from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.sufficiency import RelevanceEvaluator
from retrieval.steps.query.query_rewriter import KeyConceptRewrite, Wanted
from retrieval.steps.query.route import Route
from retrieval.steps.query.wording import why_rewrite
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, may_search_web
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Toolbox
from retrieval.values import Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    greet,
    has_documents,
    is_small_talk,
    reranking_is_on,
    say_no_answer,
)

SHORT_QUERY_CHARS = 10  # a shorter question is rewritten before it is searched for
TOP_K = 5  # passages that the evaluator is shown
MAX_REWRITES = 2  # of the query, the one before the first search included
TIMEOUT_S = 180.0  # a whole answer


class State(Asking, total=False):
    filters: SearchFilters
    should_rewrite: bool
    query: str  # what is searched for next; empty when no other words are left
    tried: tuple[str, ...]
    rewrites: int
    passages: tuple[ScoredChunk, ...]  # of all searches, merged, each said once, those of the last search first
    evaluation: Assessment
    web_searched: bool


# ------------------------------------------------------------------------------------------------ before retrieval
async def router(state: State, runtime: Runtime[Context]) -> State:
    question, draft, tools = state["question"], state["draft"], runtime.context.tools
    if is_small_talk(question) or not has_documents(question):
        # With nothing but the web there is no metadata to filter by.
        return {"query": draft, "filters": question.filters}
    filters = await Route(runtime.context)(Asked(question, draft))
    async with runtime.context.run.trace.step("plan") as step:
        reason = why_rewrite(question.text, draft, short_chars=SHORT_QUERY_CHARS)
        rewrites = bool(reason) and rewriting_is_on(question, tools)
        step.detail["rewrite"] = rewrites
        switched_off = worded(", but rewriting is switched off") if reason and not rewrites else ""
        step.summary = (
            worded("the query is rewritten first: {reason}", reason=reason)
            if rewrites
            else worded("straight to search{switched_off}", switched_off=switched_off)
        )
    return {"query": draft, "filters": filters, "should_rewrite": rewrites}


def after_routing(
    state: State, runtime: Runtime[Context]
) -> Literal["greet", "no_answer", "web_search", "rewriter", "retriever"]:
    question = state["question"]
    if is_small_talk(question):
        return "greet"
    if not has_documents(question):
        return "web_search" if may_search_web(question, runtime.context.tools) else "no_answer"
    return "rewriter" if state["should_rewrite"] else "retriever"


async def rewriter(state: State, runtime: Runtime[Context]) -> State:
    before = state.get("evaluation")
    wanted = Wanted(
        asked=Asked(state["question"], state["draft"]),
        tried=state.get("tried", ()),
        missing=before.missing if before else "",
    )
    query = next((query.text for query in await KeyConceptRewrite(runtime.context)(wanted)), "")
    rewrites = state.get("rewrites", 0) + 1
    if not query and before is None:
        query = state["draft"]  # nothing was searched for yet
    elif not query and before is not None and before.refused and state["filters"] != state["question"].filters:
        # No other words are left to try, but the filters that were read from the question may have been the mistake.
        return {"query": state["draft"], "filters": state["question"].filters, "rewrites": rewrites}
    return {"query": query, "rewrites": rewrites}


def after_rewriting(
    state: State, runtime: Runtime[Context]
) -> Literal["retriever", "web_search", "generator", "no_answer"]:
    return "retriever" if state["query"] else without_rewriting(state, runtime)


# ------------------------------------------------------------------------------------------------ retrieval
async def retriever(state: State, runtime: Runtime[Context]) -> State:
    """With the last words that may be tried, filters that were only read from the question are left out: they may have
    been the mistake."""
    settings, question = runtime.context.tools.settings, state["question"]
    tried, rewrites, before = state.get("tried", ()), state.get("rewrites", 0), state.get("passages", ())
    last = bool(tried) and rewrites >= MAX_REWRITES
    request = SearchRequest(
        queries=(Query(state["query"], kind="rewrite" if rewrites else "original"),),
        scope=question.scope,
        filters=question.filters if last else state["filters"],
        top_k=breadth(question, settings, default=TOP_K),
    )
    candidates = (await search_documents(runtime.context, request)).candidates
    passages = await Dedupe(runtime.context)(Hits(candidates, known=before))
    return {"passages": (*passages, *before), "tried": (*tried, state["query"])}


async def web_search(state: State, runtime: Runtime[Context]) -> State:
    results = await WebSearch(runtime.context)(WebQuestion(Asked(state["question"], state["draft"])))
    return {"passages": (*results.candidates, *state.get("passages", ())), "web_searched": True}


async def evaluator(state: State, runtime: Runtime[Context]) -> State:
    question = state["question"]
    evaluate = RelevanceEvaluator(runtime.context, question.options.top_k or TOP_K)
    evidence = Evidence(
        question=state["draft"],
        passages=state["passages"],
        semantic=question.scope.semantic,
        use_model=reranking_is_on(question, runtime.context.tools),
    )
    return {"evaluation": await evaluate(evidence)}


def after_evaluation(
    state: State, runtime: Runtime[Context]
) -> Literal["rewriter", "web_search", "generator", "no_answer"]:
    tools, run, evaluation = runtime.context.tools, runtime.context.run, state["evaluation"]
    if evaluation.candidates and not evaluation.refused:
        return "generator"
    left = state.get("rewrites", 0) < MAX_REWRITES and not state.get("web_searched")
    if left and rewriting_is_on(state["question"], tools) and run.deadline.remaining() > 0:
        return "rewriter"
    return without_rewriting(state, runtime)


def without_rewriting(state: State, runtime: Runtime[Context]) -> Literal["web_search", "generator", "no_answer"]:
    """The ways on when what was found is not enough and no other words are to be tried."""
    tools, run, evaluation = runtime.context.tools, runtime.context.run, state["evaluation"]
    may_look = may_search_web(state["question"], tools) and not state.get("web_searched")
    if may_look and run.deadline.remaining() > 0:
        return "web_search"
    return "no_answer" if evaluation.refused or not evaluation.candidates else "generator"


# ------------------------------------------------------------------------------------------------ answers
async def generator(state: State, runtime: Runtime[Context]) -> State:
    context, evaluation = runtime.context, state["evaluation"]
    answer = await write_answer(context, Asked(state["question"], state["draft"]), evaluation.candidates)
    if not answer.text:  # the writing model has the last word
        answer = await say_no_answer(context, state["draft"], evaluation.candidates, reason=answer.reason)
    return {"answer": replace(answer, reason=answer.reason or evaluation.reason)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    evaluation = state.get("evaluation")
    candidates, reason = (evaluation.candidates, evaluation.reason) if evaluation else (None, "")
    return {"answer": await say_no_answer(runtime.context, state["draft"], candidates, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    for node in (router, greet, rewriter, retriever, evaluator, web_search, generator, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", after_routing)
    graph.add_conditional_edges("rewriter", after_rewriting)
    graph.add_edge("retriever", "evaluator")
    graph.add_edge("web_search", "evaluator")
    graph.add_conditional_edges("evaluator", after_evaluation)
    for last in ("greet", "generator", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="react")


class ReactWorkflow(GraphWorkflow):
    """Router, rewriter, retriever, evaluator, generator."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=8,
        notes="an evaluation and the writing for a clear query; a short or chatty one is rewritten first. "
        "Each of at most two rewrites adds a rewrite and an evaluation, a web search the same. A greeting takes one.",
    )

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S


# ------------------------------------------------------------------------------------------------ small decisions
def rewriting_is_on(question: Question, tools: Toolbox) -> bool:
    asked = question.options.rewrite
    return tools.settings.rewrite.enabled if asked is None else asked
