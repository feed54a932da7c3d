"""ReAct (seed 004): rewrite a query that is short, chatty or a follow-up, search, evaluate, and answer with citations.

    START → router ─┬─ no documents ────────► web_search, else no_answer ──► END
                    ├─ short, chatty, follow-up ► rewriter┬─ a query ──────────► retriever
                    │                          ▲         └─ none left to try ─► evaluator's other ways out
                    └─ clear ─► retriever      │
                                    │          │
                                    ▼          │
                                evaluator ─────┼─ INSUFFICIENT, rewrites left ► rewriter
                                 ▲     │       ├─ SUFFICIENT ─────────────────► generator ──► END
                    web_search ──┘     │       └─ INSUFFICIENT, nothing left ─► generator, not confirmed
                                       ├─ INSUFFICIENT, web not yet searched ► web_search
                                       └─ the same, `force_generate` is false ► no_answer ──► END

At most two rewrites, the router's included. What several searches found is evaluated together, so a rewrite can't make
things worse; the evaluator is shown what the generator is given. Where nothing is left to try the generator answers
from what there is, as the seed has it: it may still refuse, unless `force_generate` is true, and what it writes is not
confirmed. Only a model's word ends in no_answer, the evaluator's or the generator's; without one what was found is
quoted. The web is searched only where it is configured and asked for. Where the seed's router has a list of chatty
words, a model is asked for one word; without it the length alone routes.
Source: Yao et al., "ReAct", ICLR 2023; seed 004.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import PlanDetails
from retrieval.engine.ports import SearchRequest
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.generate import select_passages
from retrieval.engine.steps.answer.refuse import refuse
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.answer.write import (
    is_unsupported,
    with_nearest,
    write_from,
)
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.assessment import Assessment
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.judge.sufficiency import evaluate
from retrieval.engine.steps.query.queries import initial_queries
from retrieval.engine.steps.query.rewrite import (
    rewrite_to_concepts,
    rewriting_is_on,
)
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.steps.retrieve.web import may_search_web
from retrieval.engine.steps.retrieve.web import web_search as search_web
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Query, Question, ScoredChunk
from retrieval.engine.workflows.base import Workflow, WorkflowState, has_documents

SHORT_QUERY_CHARS = 10  # a shorter question is rewritten before it is searched for
TOP_K = 5  # candidates of a search, unless more are to be reranked
MAX_REWRITES = 2  # of the query, the one before the first search included
TIMEOUT_S = 180.0  # a whole answer


class State(WorkflowState, total=False):
    should_rewrite: bool
    queries: tuple[Query, ...]  # what is searched for next; empty when no other words are left
    tried: tuple[str, ...]
    rewrites: int
    passages: tuple[
        ScoredChunk, ...
    ]  # of all searches, merged, each said once, those of the last search first
    evaluation: Assessment
    web_searched: bool


# ------------------------------------------------------------------------------------------------ before retrieval
def route_by_length(deps: Deps, question: Question) -> bool:
    """Without a model: a question that is not short is searched for as it stands."""
    note("straight_to_search", PlanDetails(rewrite=False))
    return False


class QueryRoute(BaseModel):
    route: Literal["rewrite", "search"]


@step("plan", fallback=route_by_length, optional=True)
async def is_to_be_rewritten(deps: Deps, question: Question) -> bool:
    """Whether the query is rewritten before the search: a short one and a follow-up by rule, any other one where the
    model says in a word that much of it says nothing of what is looked for."""
    if not rewriting_is_on(deps, question):
        note("straight_to_search", PlanDetails(rewrite=False))
        return False
    short = len(question.text.strip()) < SHORT_QUERY_CHARS
    if short or (question.history and not question.condensed):
        note("rewritten_first", PlanDetails(rewrite=True))
        return True
    reply = await deps.complete("query_router", QueryRoute, question=one_line(question.standalone))
    rewrites = reply.route == "rewrite"
    code = "rewritten_by_route" if rewrites else "straight_to_search"
    note(code, PlanDetails(rewrite=rewrites, route=reply.route))
    return rewrites


async def router(state: State, runtime: Runtime[Deps]) -> State:
    question = state["question"]
    if not has_documents(question):
        return {"should_rewrite": False}
    return {
        "queries": initial_queries(question),
        "should_rewrite": await is_to_be_rewritten(runtime.context, question),
    }


def after_routing(
    state: State, runtime: Runtime[Deps]
) -> Literal["no_answer", "web_search", "rewriter", "retriever"]:
    question = state["question"]
    if not has_documents(question):
        return "web_search" if may_search_web(runtime.context, question) else "no_answer"
    return "rewriter" if state["should_rewrite"] else "retriever"


async def rewriter(state: State, runtime: Runtime[Deps]) -> State:
    before = state.get("evaluation")
    queries = await rewrite_to_concepts(
        runtime.context,
        state["question"],
        tried=state.get("tried", ()),
        missing=before.missing if before else "",
    )
    update: State = {"queries": queries, "rewrites": state.get("rewrites", 0) + 1}
    if before is None and not queries:
        update["queries"] = state["queries"]  # nothing was searched for yet
    elif before is None and state["question"].history:
        update["question"] = replace(state["question"], condensed=queries[0].text)
    return update


def after_rewriting(
    state: State, runtime: Runtime[Deps]
) -> Literal["retriever", "web_search", "generator", "no_answer"]:
    return "retriever" if state["queries"] else without_rewriting(runtime.context, state)


# ------------------------------------------------------------------------------------------------ retrieval
async def retriever(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    question = state["question"]
    before = state.get("passages", ())
    request = SearchRequest(
        queries=state["queries"],
        scope=question.scope,
        filters=question.filters,
        top_k=breadth(question, deps.settings, default=TOP_K),
    )
    fresh = await dedupe(deps, (await search_documents(deps, request)).candidates, known=before)
    tried = (*state.get("tried", ()), state["queries"][0].text)
    return {
        "passages": await rerank(deps, question, (*fresh, *before)),
        "tried": tried,
    }


async def web_search(state: State, runtime: Runtime[Deps]) -> State:
    results = await search_web(runtime.context, state["question"])
    return {
        "passages": (*results.candidates, *state.get("passages", ())),
        "web_searched": True,
    }


async def evaluator(state: State, runtime: Runtime[Deps]) -> State:
    """Shown what an answer would be written from."""
    deps = runtime.context
    question = state["question"]
    passages = await select_passages(deps, question, state["passages"])
    return {"evaluation": await evaluate(deps, question, passages)}


def after_evaluation(
    state: State, runtime: Runtime[Deps]
) -> Literal["rewriter", "web_search", "generator", "no_answer"]:
    deps = runtime.context
    evaluation = state["evaluation"]
    if evaluation.candidates and not evaluation.refused:
        return "generator"
    left = state.get("rewrites", 0) < MAX_REWRITES and not state.get("web_searched")
    if left and rewriting_is_on(deps, state["question"]) and deps.deadline.remaining() > 0:
        return "rewriter"
    return without_rewriting(deps, state)


def without_rewriting(deps: Deps, state: State) -> Literal["web_search", "generator", "no_answer"]:
    """The ways on when what was found is not enough and no other words are to be tried."""
    evaluation = state["evaluation"]
    may_look = may_search_web(deps, state["question"]) and not state.get("web_searched")
    if may_look and deps.deadline.remaining() > 0:
        return "web_search"
    may_write = not evaluation.refused or state["question"].options.force_generate is not False
    return "generator" if may_write and evaluation.candidates else "no_answer"


# ------------------------------------------------------------------------------------------------ answers
async def generator(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    question = state["question"]
    evaluation = state["evaluation"]
    must_write = evaluation.verdict == "ANSWER" or question.options.force_generate is True
    way_out: WayOut = "none" if must_write else "refuse"
    answer = await write_from(deps, question, evaluation.candidates, way_out=way_out)
    if not answer.text:
        answer = await refuse(deps, question, evaluation.candidates, reason=answer.reason)
    elif is_unsupported(answer):
        answer = await with_nearest(deps, question, answer)
    elif evaluation.refused and answer.decision == "ANSWER":
        answer = replace(answer, support="none", reason=Reason("written_without_confirmation"))
    return {"answer": replace(answer, reason=answer.reason or evaluation.reason)}


async def no_answer(state: State, runtime: Runtime[Deps]) -> State:
    evaluation = state.get("evaluation")
    if evaluation is None:
        return {"answer": await refuse(runtime.context, state["question"], None)}
    answer = await refuse(
        runtime.context,
        state["question"],
        evaluation.candidates,
        reason=evaluation.reason,
    )
    return {"answer": answer}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    for node in (
        router,
        rewriter,
        retriever,
        evaluator,
        web_search,
        generator,
        no_answer,
    ):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", after_routing)
    graph.add_conditional_edges("rewriter", after_rewriting)
    graph.add_edge("retriever", "evaluator")
    graph.add_edge("web_search", "evaluator")
    graph.add_conditional_edges("evaluator", after_evaluation)
    for last in ("generator", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="react")


WORKFLOW = Workflow(graph=build_graph(), timeout_s=lambda settings: TIMEOUT_S)
