"""The nodes of `dual_loop`, and how they follow one another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.engine.deps import Deps
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.path_details import RewriteDetails
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.reasons import Reason
from retrieval.engine.steps import memory
from retrieval.engine.steps.answer.appending import behind
from retrieval.engine.steps.answer.clarify import ask_back
from retrieval.engine.steps.answer.direct import respond_directly
from retrieval.engine.steps.answer.refuse import refuse
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.answer.write import write_answer
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.grounding.second_look import second_look
from retrieval.engine.steps.judge.assessment import Assessment
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.judge.scores import judging_is_on
from retrieval.engine.steps.judge.verdict import judge
from retrieval.engine.steps.query.queries import distinct_queries, initial_queries
from retrieval.engine.steps.query.rewrite import rewrite_to_concepts
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.steps.retrieve.web import may_search_web, web_search
from retrieval.engine.text.phrases import phrase
from retrieval.engine.trace import HeldBackTrace
from retrieval.engine.values import (
    Answer,
    Query,
    Question,
    RememberedFact,
    ScoredChunk,
)
from retrieval.engine.workflows.base import (
    Workflow,
    WorkflowState,
    has_documents,
    may_ask_back,
)
from retrieval.engine.workflows.dual_loop.answer_grade import (
    AnswerAssessment,
    grade_answer,
)
from retrieval.engine.workflows.dual_loop.strategies import (
    STRATEGIES,
    Strategy,
    StrategyName,
    choose_strategy,
    wanting_web,
)

MAX_CORRECTIONS = 2  # times that a rejected answer is searched and written again
TIMEOUT_S = 240.0  # a whole answer


class State(WorkflowState, total=False):
    memories: tuple[RememberedFact, ...]
    available: tuple[StrategyName, ...]
    strategy: Strategy  # that was chosen first
    route: StrategyName | None  # the strategy whose turn it is; None: every one was tried
    queries: tuple[Query, ...]
    all_queries: tuple[Query, ...]  # every query so far: a corrective round asks others
    tried_routes: tuple[StrategyName, ...]
    candidates: tuple[ScoredChunk, ...]
    found: tuple[ScoredChunk, ...]  # all so far, the last search's first
    assessment: Assessment  # of these
    judged_in: int  # how many drafts there were then: the round that it belongs to
    documents_are_relevant: bool
    drafts: tuple[tuple[Answer, AnswerAssessment], ...]  # what was written, and how it was graded
    response: Answer | None


async def retrieve_memory(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    question = state["question"]
    web = may_search_web(deps, wanting_web(question))
    documents = has_documents(question)
    available = tuple(name for name in STRATEGIES if (web if name == "web_search" else documents))
    return {
        "memories": await memory.recall_memory(deps, question),
        "available": available,
        "drafts": (),
        "tried_routes": (),
        "all_queries": (),
        "found": (),
    }


async def route_query(state: State, runtime: Runtime[Deps]) -> State:
    question = state["question"]
    available = state["available"]
    if not available:
        return {"route": "direct"}
    strategy = await choose_strategy(runtime.context, question, available, state["memories"])
    return {
        "strategy": strategy,
        "route": strategy.route,
        "question": strategy.question,
    }


def initial_routing(
    state: State,
) -> Literal["direct_response", "rewrite_query", "fallback_response"]:
    if not state["available"]:
        return "fallback_response"
    return "direct_response" if state["route"] == "direct" else "rewrite_query"


async def rewrite_query(state: State, runtime: Runtime[Deps]) -> State:
    """First the words that came with the route; after a rejected answer, others that look for what it lacked, and every
    strategy is open again."""
    deps = runtime.context
    question = state["question"]
    if not state["drafts"]:
        async with deps.trace.step("rewrite") as entry:
            variants = () if question.options.rewrite is False else state["strategy"].queries
            queries = distinct_queries((*initial_queries(question), *variants))
            entry.note(
                "queries_made",
                RewriteDetails(queries=tuple(query.text for query in queries)),
            )
        return {"queries": queries, "all_queries": queries}
    _, graded = state["drafts"][-1]
    tried = tuple(query.text for query in state["all_queries"])
    fresh = await rewrite_to_concepts(deps, question, tried=tried, missing=graded.missing)
    queries = fresh or (Query(question.standalone),)
    route = state["strategy"].route
    return {
        "queries": queries,
        "all_queries": distinct_queries((*state["all_queries"], *queries)),
        "route": route if route in state["available"] else state["available"][0],
        "tried_routes": (),
    }


async def retrieve_documents(state: State, runtime: Runtime[Deps]) -> State:
    """By the strategy whose turn it is; where the documents hold nothing, on the web at once."""
    route = state["route"]
    if route is None:
        raise AssertionError(
            "decide_after_document_grading leads here only while a strategy is left"
        )
    tried = (*state["tried_routes"], route)
    web_is_left = "web_search" in state["available"] and "web_search" not in tried
    try:
        result = await _searched(runtime.context, state, route)
    except IndexUnavailableError:
        if not web_is_left:
            raise
        result = SearchResult()
    if not result.candidates and web_is_left:
        tried = (*tried, "web_search")
        result = await _searched(runtime.context, state, "web_search")
    return {"candidates": result.candidates, "tried_routes": tried}


async def _searched(deps: Deps, state: State, route: StrategyName) -> SearchResult:
    question = state["question"]
    if route == "web_search":
        return await web_search(deps, wanting_web(question), words=state["queries"][0].text)
    request = SearchRequest(
        queries=state["queries"],
        scope=question.scope,
        filters=question.filters,
        top_k=breadth(question, deps.settings),
        strategy="hierarchical" if route == "hierarchical_search" else "chunks",
    )
    return await search_documents(deps, request, purpose=route)


async def grade_documents(state: State, runtime: Runtime[Deps]) -> State:
    """Judges all that was found so far, what is new first, where this search has brought something new, or is the first
    of its round. Names the next strategy if it needs one."""
    deps = runtime.context
    question = state["question"]
    known = state["found"]
    fresh = await dedupe(deps, state["candidates"], known=known)
    passages = (*fresh, *known)[: deps.settings.rerank.max_candidates]
    left = next(
        (name for name in state["available"] if name not in state["tried_routes"]),
        None,
    )
    update: State = {
        "found": passages,
        "route": left if deps.deadline.remaining() > 0 else None,
    }
    is_first = state.get("judged_in") != len(state["drafts"])
    if not fresh and not (is_first and state["candidates"]):
        return {**update, "documents_are_relevant": False}
    assessment = await _rerank_and_judge(deps, question, passages)
    relevant = not assessment.refused
    return {
        **update,
        "assessment": assessment,
        "documents_are_relevant": relevant,
        "judged_in": len(state["drafts"]),
    }


async def _rerank_and_judge(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> Assessment:
    """A model scores and judges in two calls side by side, which are one round; a cross-encoder goes first."""
    if (
        deps.settings.rerank.evaluator == "eight_criteria"
    ):  # which orders, and leaves out what is not good
        return await judge(deps, question, await rerank(deps, question, passages))
    if deps.reranker is not None:
        return await judge(deps, question, await rerank(deps, question, passages, by_default=True))
    ranked, assessment = await asyncio.gather(
        rerank(deps, question, passages, by_default=True),
        judge(deps, question, passages),
    )
    return replace(assessment, candidates=ranked)


def decide_after_document_grading(
    state: State,
) -> Literal[
    "clarify",
    "generate_response",
    "retrieve_documents",
    "send_response",
    "fallback_response",
]:
    if state["documents_are_relevant"]:
        asks_back = state["assessment"].verdict == "CLARIFY" and may_ask_back(state["question"])
        return "clarify" if asks_back and not state["drafts"] else "generate_response"
    if state["route"] is not None:
        return "retrieve_documents"
    return (
        "send_response" if any(draft.text for draft, _ in state["drafts"]) else "fallback_response"
    )


def _held_back(deps: Deps) -> Deps:
    """What is written with these does not reach the reader yet."""
    return replace(deps, trace=HeldBackTrace(deps.trace))


async def generate_response(state: State, runtime: Runtime[Deps]) -> State:
    """From the second time on, with the words for what the last answer lacked."""
    question = state["question"]
    assessment = state["assessment"]
    if missing := state["drafts"][-1][1].missing if state["drafts"] else "":
        question = replace(question, condensed=f"{question.standalone} ({missing})")
    way_out: WayOut = "none" if assessment.verdict == "ANSWER" else "refuse"
    response = await write_answer(
        _held_back(runtime.context),
        question,
        assessment.candidates,
        way_out=way_out,
    )
    return {"response": replace(response, reason=response.reason or assessment.reason)}


async def direct_response(state: State, runtime: Runtime[Deps]) -> State:
    deps = _held_back(runtime.context)
    return {"response": await respond_directly(deps, state["question"], state["memories"])}


async def grade_relevance(state: State, runtime: Runtime[Deps]) -> State:
    """The grade and the second look side by side; both have to accept it."""
    response = state["response"]
    if response is None:
        written = Answer(decision="NO_ANSWER", text="", reason=Reason("no_direct_reply"))
        graded = AnswerAssessment(accepted=False, score=0.0, reason=written.reason)
        return {"drafts": (*state["drafts"], (written, graded))}
    deps = runtime.context
    question = state["question"]
    drafts = state["drafts"]
    looks = judging_is_on(question)
    graded, looked = await asyncio.gather(
        grade_answer(deps, question.standalone, response),
        second_look(deps, response, question=question.standalone)
        if looks
        else asyncio.sleep(0, response),
    )
    # Once: an answer that is not confirmed after another search, either, is sent as such.
    if looked.support == "none" and not any(draft.support == "none" for draft, _ in drafts):
        graded = replace(graded, accepted=False)
    return {"drafts": (*drafts, (looked, graded))}


def decide_after_answer_grading(
    state: State, runtime: Runtime[Deps]
) -> Literal["send_response", "rewrite_query", "fallback_response"]:
    if state["drafts"][-1][1].accepted:
        return "send_response"
    if (
        len(state["drafts"]) <= MAX_CORRECTIONS
        and state["available"]
        and runtime.context.deadline.remaining() > 0
    ):
        return "rewrite_query"
    return (
        "send_response" if any(draft.text for draft, _ in state["drafts"]) else "fallback_response"
    )


async def send_response(state: State, runtime: Runtime[Deps]) -> State:
    """The accepted draft; failing it, that with the highest grade, which says of itself that it may not be enough."""
    deps = runtime.context
    drafts = state["drafts"]

    def preference(
        draft: tuple[Answer, AnswerAssessment],
    ) -> tuple[bool, bool, float]:
        answer, graded = draft
        return graded.accepted, bool(answer.text), graded.score

    answer, graded = max(reversed(drafts), key=preference)
    if not graded.accepted and answer.decision == "ANSWER":
        warned = behind(phrase("not_accepted", deps.language) + "\n\n", answer)
        answer = replace(warned, reason=Reason("answer_rejected_twice"))
    await deps.trace.choose_sources(answer.sources)
    for line in answer.text.splitlines(keepends=True):
        await deps.trace.emit_chunk(line)
    return {"answer": answer}


async def consolidate_memory(state: State, runtime: Runtime[Deps]) -> State:
    accepted = state["drafts"][-1][1].accepted
    await memory.consolidate_memory(
        runtime.context, state["question"], state["answer"], accepted=accepted
    )
    return {}


async def clarify(state: State, runtime: Runtime[Deps]) -> WorkflowState:
    assessment = state["assessment"]
    return {"answer": await ask_back(runtime.context, assessment.named, asks=assessment.asks)}


async def fallback_response(state: State, runtime: Runtime[Deps]) -> State:
    """No strategy is left: says that the documents don't answer, and which were nearest."""
    tried = ", ".join(state["tried_routes"])
    reason = Reason("strategies_tried", {"tried": tried}) if tried else None
    candidates = state["found"] if state["available"] else None
    return {"answer": await refuse(runtime.context, state["question"], candidates, reason=reason)}


def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    nodes = (
        retrieve_memory,
        route_query,
        direct_response,
        rewrite_query,
        retrieve_documents,
        grade_documents,
        generate_response,
        grade_relevance,
        send_response,
        consolidate_memory,
        clarify,
        fallback_response,
    )
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "retrieve_memory")
    graph.add_edge("retrieve_memory", "route_query")
    graph.add_conditional_edges("route_query", initial_routing)
    graph.add_edge("rewrite_query", "retrieve_documents")
    graph.add_edge("retrieve_documents", "grade_documents")
    graph.add_conditional_edges("grade_documents", decide_after_document_grading)
    graph.add_edge("generate_response", "grade_relevance")
    graph.add_edge("direct_response", "grade_relevance")
    graph.add_conditional_edges("grade_relevance", decide_after_answer_grading)
    graph.add_edge("send_response", "consolidate_memory")
    for last in ("consolidate_memory", "clarify", "fallback_response"):
        graph.add_edge(last, END)
    return graph.compile(name="dual_loop")


WORKFLOW = Workflow(
    graph=build_graph(),
    timeout_s=lambda settings: TIMEOUT_S,
    routes_itself=True,
    looks_itself=True,
)
