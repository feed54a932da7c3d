"""`dual_loop`: the material is checked before the answer is written, and the answer before it is sent (seed 001).

    START → retrieve_memory → route_query ─┬─ direct ──► direct_response ─ greeting ─► END
                                           │                   │
                                           ├─ search           │      ┌─ rejected, at most 2 times ──┐
                                           ▼                   ▼      │                              │
                     ┌──────────── rewrite_query ◄─────── grade_relevance ◄──── generate_response    │
                     │                   ▲                     │   ▲                    ▲            │
                     │                   └─────────────────────┼───┼────────────────────┼────────────┘
                     ▼                                 accepted, or no                  │
             retrieve_documents ◄─┐ next strategy      correction left                  │
                     │            │ that was not tried         ▼                        │
                     └──► grade_documents ── relevant ─────────┼────────────────────────┘
                                  │                            ▼
                                  │ none is left         send_response → consolidate_memory → END
                                  ▼                            ▲
                   clarify, or fallback_response → END         └─ an earlier draft, where there is one

Inner loop: hierarchical_search, direct_chunk_search and web_search, each once (`tried_routes`); what is not available
stands in the path with its reason. No model chooses where the search with the user's own words is clearly good. Nothing
found in the documents goes on to the web by itself. Only a model's word refuses or asks back.
Outer loop: an answer is written to the end, graded, and only then sent, so that no reader sees text that is taken back;
what happens meanwhile is told by the steps' events. A corrective round searches with new words, so every strategy is
open again in it. What is worth remembering is written down after the answer was sent, and condensed by a worker later.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import joined, worded
from retrieval.errors import IndexUnavailableError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps import memory
from retrieval.steps.answer.clarify import ask_back
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge.assessment import AnswerAssessment, Assessment, Evidence, WrittenAnswer
from retrieval.steps.judge.judge import judge
from retrieval.steps.query.condense import takes_up
from retrieval.steps.query.query_rewriter import CorrectiveRewrite, Wanted
from retrieval.steps.query.route import Route
from retrieval.steps.query.wording import without_filler
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, is_the_users
from retrieval.steps.schemas import StrategyName
from retrieval.steps.step import Asked, Context
from retrieval.trace import HeldBackTrace
from retrieval.values import Answer, Query, RememberedFact, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    distinct_queries,
    has_documents,
    is_small_talk,
    reranking_is_on,
    say_no_answer,
    search_own_words,
    small_talk_answer,
)
from retrieval.workflows.dual_loop.answer_grade import GradeAnswer
from retrieval.workflows.dual_loop.direct import DirectResponse, Remark
from retrieval.workflows.dual_loop.drafts import Draft, best_draft, passages_used, with_warning
from retrieval.workflows.dual_loop.strategy import (
    ROUTES,
    Choice,
    ChooseStrategy,
    Plan,
    available_strategies,
    next_strategy,
    route_by_rule,
    wanting_web,
)

MAX_CORRECTIONS = 2  # times that a rejected answer is searched and written anew
TIMEOUT_S = 240.0  # a whole answer


class State(Asking, total=False):
    memories: tuple[RememberedFact, ...]
    available: tuple[StrategyName, ...]
    route: StrategyName | None  # the strategy whose turn it is; None: every one was tried
    plan: Plan
    filters: SearchFilters
    first: SearchResult  # found with the user's own words
    queries: tuple[Query, ...]
    asked: tuple[Query, ...]  # every query so far: a corrective round asks others
    tried_routes: tuple[StrategyName, ...]
    candidates: tuple[ScoredChunk, ...]
    assessment: Assessment  # of the last search; its candidates are all that was found so far
    documents_are_relevant: bool
    response: Answer | None
    drafts: tuple[Draft, ...]
    correction_attempts: int


# ------------------------------------------------------------------------------------------------ before retrieval
async def retrieve_memory(state: State, runtime: Runtime[Context]) -> State:
    question, draft, tools = state["question"], state["draft"], runtime.context.tools
    prepared: State = {
        "plan": Plan(route="direct", standalone=draft),
        "available": available_strategies(question, tools),
        "memories": (),
        "drafts": (),
        "asked": (),
        "tried_routes": (),
        "correction_attempts": 0,
    }
    if is_small_talk(question):
        return prepared
    return {**prepared, "memories": await memory.recall_memory(runtime.context.deps, Asked(question, draft).condensed)}


async def route_query(state: State, runtime: Runtime[Context]) -> State:
    """Decides. The search with the user's own words runs beside it: where that is clearly good, its passages are used,
    and no model is asked for a route."""
    context, question, asked = runtime.context, state["question"], Asked(state["question"], state["draft"])
    if is_small_talk(question) or not state["available"]:
        return {"route": "direct", "filters": question.filters}
    filters = await Route(context)(asked)
    choice = Choice(asked=asked, memories=state["memories"], available=state["available"])
    plan, first = await asyncio.gather(
        ChooseStrategy(context)(choice), _first_search({**state, "filters": filters}, context)
    )
    if context.run.first_search.good:
        plan = replace(plan, route="direct_chunk_search", queries=())
    return {"plan": plan, "route": plan.route, "filters": filters, "first": first}


async def _first_search(state: State, context: Context) -> SearchResult:
    """An index that is away is told by the strategies, which may have another place to look."""
    if has_documents(state["question"]):
        with suppress(IndexUnavailableError):
            return await search_own_words(state, context, state["filters"])
    context.run.first_search.finish(good=False)
    return SearchResult()


def initial_routing(state: State) -> Literal["direct_response", "rewrite_query", "fallback_response"]:
    if is_small_talk(state["question"]):
        return "direct_response"
    if not state["available"]:
        return "fallback_response"
    return "direct_response" if state["route"] == "direct" else "rewrite_query"


async def rewrite_query(state: State, runtime: Runtime[Context]) -> State:
    """First the words that came with the route; after a rejected answer, others that look for what it lacked."""
    if state["drafts"]:
        return await _corrected(state, runtime)
    question, plan = state["question"], state["plan"]
    async with runtime.context.run.trace.step("rewrite") as step:
        variants: tuple[Query, ...] = ()
        if runtime.context.run.first_search.good:
            step.skip(worded("the first search was good enough"))
        elif question.options.rewrite is False or not runtime.context.tools.settings.rewrite.enabled:
            step.skip(worded("switched off"))
        else:
            variants = plan.queries or (Query(without_filler(plan.standalone), kind="rewrite"),)
            step.summary = joined("; ", (query.text for query in variants))
            step.detail["with_the_routing_call"] = bool(plan.queries)
        own_words = [Query(state["draft"]), Query(plan.standalone, kind="condensed")]
        queries = distinct_queries([*own_words, *variants])
        step.detail["queries"] = [query.text for query in queries]
    return {"queries": queries, "asked": queries}


async def _corrected(state: State, runtime: Runtime[Context]) -> State:
    """A new pass: new words, no filters but the request's own, and every strategy open again."""
    plan, last = state["plan"], state["drafts"][-1]
    rejected = last.answer.text if last.answer else ""
    wanted = Wanted(
        asked=Asked(state["question"], plan.standalone),
        tried=tuple(query.text for query in state["asked"]),
        missing=last.graded.missing,
        answer=rejected,
    )
    fresh = await CorrectiveRewrite(runtime.context)(wanted)
    queries = fresh or (Query(plan.standalone),)
    first = plan.route if plan.route in state["available"] else route_by_rule(plan.standalone, state["available"])
    return {
        "queries": queries,
        "asked": distinct_queries([*state["asked"], *queries]),
        "filters": state["question"].filters,
        "route": first,
        "tried_routes": (),
        "correction_attempts": state["correction_attempts"] + 1,
    }


# ------------------------------------------------------------------------------------------------ the inner loop
async def retrieve_documents(state: State, runtime: Runtime[Context]) -> State:
    """By the strategy whose turn it is; where the documents hold nothing, on the web at once. Filters that were read
    from the question are the first strategy's alone: they may have been the mistake."""
    route = state["route"]
    assert route is not None
    tried = (*state["tried_routes"], route)
    if runtime.context.run.first_search.good and not state["tried_routes"] and not state["drafts"]:
        return {"candidates": state["first"].candidates, "tried_routes": tried}
    web_is_left = "web_search" in state["available"] and "web_search" not in tried
    try:
        result = await _searched(route, state, runtime)
    except IndexUnavailableError:
        if not web_is_left:
            raise
        result = SearchResult()
    if not result.candidates and web_is_left:
        tried = (*tried, "web_search")
        result = await _searched("web_search", state, runtime)
    return {"candidates": result.candidates, "tried_routes": tried}


async def _searched(route: StrategyName, state: State, runtime: Runtime[Context]) -> SearchResult:
    context, question = runtime.context, state["question"]
    if route == "web_search":
        # A corrective rewrite has read the rejected answer: its words may be those of documents, which stay here.
        texts = (query.text for query in state["queries"])
        words = next((text for text in texts if is_the_users(text, question)), state["plan"].standalone)
        return await WebSearch(context)(WebQuestion(Asked(wanting_web(question), words)))
    request = SearchRequest(
        queries=state["queries"],
        scope=question.scope,
        filters=question.filters if state["tried_routes"] else state["filters"],
        top_k=breadth(question, context.tools.settings),
        strategy="hierarchical" if route == "hierarchical_search" else "chunks",
    )
    return await search_documents(context, request, purpose=ROUTES[route] + ": ")


async def grade_documents(state: State, runtime: Runtime[Context]) -> State:
    """Judges what was found, the new passages first; where nothing is new, the judgement before stands. Names the next
    strategy if it needs one."""
    context, question, before = runtime.context, state["question"], state.get("assessment")
    known = before.candidates if before else ()
    fresh = await Dedupe(context)(Hits(state["candidates"], known=known))
    if before and not fresh:
        assessment = before
    else:
        evidence = Evidence(
            question=state["plan"].standalone,
            passages=(*fresh, *known)[: context.tools.settings.rerank.max_candidates],
            semantic=question.scope.semantic,
            use_model=reranking_is_on(question, context.tools),
        )
        assessment = await judge(context, evidence)
    relevant = (bool(fresh) and not assessment.refused) or _found_again(state)
    left = None if relevant else next_strategy(state["tried_routes"], state["available"])
    if context.run.deadline.remaining() <= 0:
        left = None
    return {"assessment": assessment, "documents_are_relevant": relevant, "route": left}


def _found_again(state: State) -> bool:
    """A corrective search has led to passages that a rejected draft was written from: they are relevant still, and the
    next draft is told what the last one lacked."""
    used = passages_used(state["drafts"])
    return any(candidate.chunk_id in used for candidate in state["candidates"])


def decide_after_document_grading(
    state: State,
) -> Literal["clarify", "generate_response", "retrieve_documents", "send_response", "fallback_response"]:
    opened = state["question"].open_clarification
    asks_back = state["assessment"].verdict == "CLARIFY" and not takes_up(state["plan"].standalone, opened)
    if asks_back and not state["drafts"]:
        return "clarify"
    if state["documents_are_relevant"]:
        return "generate_response"
    if state["route"] is not None:
        return "retrieve_documents"
    return "send_response" if best_draft(state["drafts"]) else "fallback_response"


# ------------------------------------------------------------------------------------------------ the outer loop
async def generate_response(state: State, runtime: Runtime[Context]) -> State:
    """From the second time on, with the words for what the last answer lacked."""
    asked, missing = state["plan"].standalone, state["drafts"][-1].graded.missing if state["drafts"] else ""
    asked = f"{asked} ({missing})" if missing else asked
    response = await write_answer(
        _held_back(runtime.context), Asked(state["question"], asked), state["assessment"].candidates
    )
    return {"response": replace(response, reason=(response.reason or state["assessment"].reason))}


async def direct_response(state: State, runtime: Runtime[Context]) -> State:
    """A greeting is answered at once; any other reply is held back until it is graded."""
    if is_small_talk(state["question"]):
        return {"answer": await small_talk_answer(state["question"], runtime.context)}
    remark = Remark(Asked(state["question"], state["plan"].standalone), state["memories"])
    return {"response": await DirectResponse(_held_back(runtime.context))(remark)}


def after_direct_response(state: State) -> Literal["grade_relevance", "__end__"]:
    return "__end__" if "answer" in state else "grade_relevance"


async def grade_relevance(state: State, runtime: Runtime[Context]) -> State:
    response = state["response"]
    if response is None:
        graded = AnswerAssessment(accepted=False, score=0.0, reason=worded("no model could reply without documents"))
    else:
        written = WrittenAnswer(answer=response, question=state["plan"].standalone)
        graded = await GradeAnswer(runtime.context)(written)
    return {"drafts": (*state["drafts"], Draft(answer=response, graded=graded))}


def decide_after_answer_grading(
    state: State, runtime: Runtime[Context]
) -> Literal["send_response", "rewrite_query", "fallback_response"]:
    if state["drafts"][-1].graded.accepted:
        return "send_response"
    if state["correction_attempts"] < MAX_CORRECTIONS and runtime.context.run.deadline.remaining() > 0:
        return "rewrite_query"
    written = any(draft.answer and draft.answer.text for draft in state["drafts"])
    return "send_response" if written else "fallback_response"


async def send_response(state: State, runtime: Runtime[Context]) -> State:
    """The accepted draft; failing it, the best one, which says of itself that it may not be enough."""
    last = state["drafts"][-1]
    if last.graded.accepted and last.answer:
        answer = last.answer
    elif chosen := best_draft(state["drafts"]):
        answer = with_warning(chosen, runtime.context.language, reason=last.graded.reason)
    else:
        answer = next(draft.answer for draft in reversed(state["drafts"]) if draft.answer and draft.answer.text)
    await HeldBackTrace(runtime.context.run.trace).release(answer.text, answer.sources)
    return {"answer": answer}


async def consolidate_memory(state: State, runtime: Runtime[Context]) -> State:
    asked = Asked(state["question"], state["plan"].standalone)
    accepted = state["drafts"][-1].graded.accepted
    await memory.consolidate_memory(runtime.context.deps, asked.condensed, state["answer"], accepted=accepted)
    return {}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(runtime.context, state["assessment"].named)}


async def fallback_response(state: State, runtime: Runtime[Context]) -> State:
    """No strategy is left: says that the documents don't answer, and which were nearest."""
    tried = ", ".join(state["tried_routes"])
    reason = worded("every strategy was tried: {tried}", tried=tried) if tried else ""
    assessment = state.get("assessment")
    candidates = assessment.candidates if assessment else None
    return {"answer": await say_no_answer(runtime.context, state["plan"].standalone, candidates, reason=reason)}


def _held_back(context: Context) -> Context:
    """What is written with this one does not reach the reader yet."""
    return replace(context, run=replace(context.run, trace=HeldBackTrace(context.run.trace)))


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    nodes = (
        retrieve_memory, route_query, direct_response, rewrite_query, retrieve_documents, grade_documents,
        generate_response, grade_relevance, send_response, consolidate_memory, clarify, fallback_response,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "retrieve_memory")
    graph.add_edge("retrieve_memory", "route_query")
    graph.add_conditional_edges("route_query", initial_routing)
    graph.add_edge("rewrite_query", "retrieve_documents")
    graph.add_edge("retrieve_documents", "grade_documents")
    graph.add_conditional_edges("grade_documents", decide_after_document_grading)
    graph.add_edge("generate_response", "grade_relevance")
    graph.add_conditional_edges("direct_response", after_direct_response)
    graph.add_conditional_edges("grade_relevance", decide_after_answer_grading)
    graph.add_edge("send_response", "consolidate_memory")
    for last in ("consolidate_memory", "clarify", "fallback_response"):
        graph.add_edge(last, END)
    return graph.compile(name="dual_loop")


class DualLoopWorkflow(GraphWorkflow):
    """Two loops."""

    graph = build_graph()
    rounds = Rounds(
        best=3,
        worst=18,
        notes="grade, write, and grade the answer, where the search with the user's own words is clearly good. "
        "Else route with rewrite, grade the documents, write, grade the answer; a round more for each further strategy "
        "and for the web's words; all of it again, with a rewrite, for each of 2 corrections. A greeting takes one.",
    )

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S
