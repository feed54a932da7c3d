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
stands in the path with its reason. Nothing found in the documents goes on to the web by itself. A question with several
readings is answered for each; it is asked back where no model can write that.
Outer loop: an answer is written to the end, graded, and only then sent, so that no reader sees text that is taken back;
what happens meanwhile is told by the steps' events. A corrective round searches with new words, so every strategy is
open again in it. What is worth remembering is written down after the answer was sent, and condensed by a worker later.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.errors import IndexUnavailableError
from retrieval.ports import SearchResult
from retrieval.steps.answer.generate import Generate
from retrieval.steps.answer.no_answer import no_answer_text
from retrieval.steps.judge.judge import Assessment, Judge
from retrieval.steps.memory import ConsolidateMemory, RecallMemory
from retrieval.steps.query.condense import condense_without_model
from retrieval.steps.query.rewrite import without_filler
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe
from retrieval.steps.schemas import StrategyName
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language, answer_language
from retrieval.trace import HeldBackTrace, Trace
from retrieval.values import Answer, Query, Question, RememberedFact, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Context,
    Rounds,
    ask_back,
    distinct_queries,
    is_small_talk,
    readings_to_ask_about,
    reranking_is_on,
    run_graph,
    say,
    small_talk_answer,
    was_offered,
)
from retrieval.workflows.dual_loop.answer_grade import GradeAnswer, GradedAnswer
from retrieval.workflows.dual_loop.corrective_rewrite import CorrectiveRewrite
from retrieval.workflows.dual_loop.direct import DirectResponse
from retrieval.workflows.dual_loop.drafts import Draft, best_draft, passages_used, with_warning
from retrieval.workflows.dual_loop.strategy import (
    ChooseStrategy,
    Plan,
    available_strategies,
    next_strategy,
    route_by_rule,
)
from retrieval.workflows.dual_loop.strategy_search import StrategySearch

TIMEOUT_S = 240.0  # a whole answer


class State(TypedDict, total=False):
    question: Question  # the user's words: never rewritten, this is what is answered
    language: Language
    draft: str  # made self-contained without a model
    memories: tuple[RememberedFact, ...]
    available: tuple[StrategyName, ...]
    route: StrategyName | None  # the strategy whose turn it is; None: every one was tried
    plan: Plan
    filters: SearchFilters
    queries: tuple[Query, ...]
    asked: tuple[Query, ...]  # every query so far: a corrective round asks others
    tried_routes: tuple[StrategyName, ...]
    candidates: tuple[ScoredChunk, ...]
    assessment: Assessment  # of all that was found so far
    readings: tuple[ScoredChunk, ...]  # one for each document to ask back about
    documents_are_relevant: bool
    response: Answer | None
    drafts: tuple[Draft, ...]
    correction_attempts: int
    answer: Answer


# ------------------------------------------------------------------------------------------------ before retrieval
async def retrieve_memory(state: State, runtime: Runtime[Context]) -> State:
    question, tools, run = state["question"], runtime.context.tools, runtime.context.run
    draft = await asyncio.to_thread(condense_without_model, question)
    prepared: State = {
        "language": answer_language(draft if question.open_clarification else question.text),
        "draft": draft,
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
    return {**prepared, "memories": await RecallMemory(tools).recall(question, draft, run=run)}


async def route_query(state: State, runtime: Runtime[Context]) -> State:
    """Decides, and searches nothing. The filters that the question names are read beside it."""
    question, tools, run = state["question"], runtime.context.tools, runtime.context.run
    if is_small_talk(question) or not state["available"]:
        return {"route": "direct", "filters": question.filters}
    plan, filters = await asyncio.gather(
        ChooseStrategy(tools).choose(
            question, state["draft"], state["memories"], state["available"], run=run, language=state["language"]
        ),
        Route(tools).route(question, state["draft"], run=run),
    )
    return {"plan": plan, "route": plan.route, "filters": filters}


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
        if question.options.rewrite is False or not runtime.context.tools.settings.rewrite.enabled:
            step.skip("switched off")
        else:
            variants = plan.queries or (Query(without_filler(plan.standalone), kind="rewrite"),)
            step.summary = "; ".join(query.text for query in variants)
            step.detail["with_the_routing_call"] = bool(plan.queries)
        own_words = [Query(state["draft"]), Query(plan.standalone, kind="condensed")]
        queries = distinct_queries([*own_words, *variants])
        step.detail["queries"] = [query.text for query in queries]
    return {"queries": queries, "asked": queries}


async def _corrected(state: State, runtime: Runtime[Context]) -> State:
    """A new pass: new words, no filters but the request's own, and every strategy open again."""
    tools, run, plan = runtime.context.tools, runtime.context.run, state["plan"]
    last = state["drafts"][-1]
    rejected = last.answer.text if last.answer else ""
    fresh = await CorrectiveRewrite(tools).rewrite(
        plan.standalone, rejected, last.graded.missing, state["asked"], run=run, language=state["language"]
    )
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
    web_is_left = "web_search" in state["available"] and "web_search" not in tried
    try:
        found = await _searched(route, state, runtime)
    except IndexUnavailableError:
        if not web_is_left:
            raise
        found = SearchResult()
    if not found.candidates and web_is_left:
        tried = (*tried, "web_search")
        found = await _searched("web_search", state, runtime)
    return {"candidates": found.candidates, "tried_routes": tried}


async def _searched(route: StrategyName, state: State, runtime: Runtime[Context]) -> SearchResult:
    return await StrategySearch(runtime.context.tools).search(
        route, state["question"], state["plan"].standalone, state["queries"],
        state["question"].filters if state["tried_routes"] else state["filters"],
        run=runtime.context.run, language=state["language"],
    )  # fmt: skip


async def grade_documents(state: State, runtime: Runtime[Context]) -> State:
    """Judges what was newly found; what was judged before keeps its scores. Names the next strategy if it needs one."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    before = state.get("assessment")
    passages = await Dedupe(tools).dedupe(state["candidates"], run=run, known=before.candidates if before else ())
    on = reranking_is_on(question, tools)
    assessment = await Judge(tools).judge(
        state["plan"].standalone,
        passages,
        before=before,
        listed=state["candidates"],
        semantic=question.scope.semantic,
        run=run,
        language=state["language"],
        use_model=on,
        use_reranker=on,
    )
    relevant = _is_relevant(assessment, tools) or _found_again(state, tools)
    left = None if relevant else next_strategy(state["tried_routes"], state["available"])
    if run.deadline.remaining() <= 0:
        left = None
    readings = await readings_to_ask_about(
        assessment, state["plan"].standalone, state["filters"], question=question, context=runtime.context
    )
    return {"assessment": assessment, "documents_are_relevant": relevant, "route": left, "readings": readings}


def _is_relevant(assessment: Assessment, tools: Toolbox) -> bool:
    """Two readings of a question are no reason to search on."""
    weak = tools.settings.corrective.weak_score
    return assessment.verdict == "ANSWER" or (assessment.verdict == "CLARIFY" and assessment.worth >= weak)


def _found_again(state: State, tools: Toolbox) -> bool:
    """A corrective search has led to passages that a rejected draft was written from: they are relevant still, and the
    next draft is told what the last one lacked."""
    used = passages_used(state["drafts"], weak_score=tools.settings.corrective.weak_score)
    return any(candidate.chunk_id in used for candidate in state["candidates"])


def decide_after_document_grading(
    state: State, runtime: Runtime[Context]
) -> Literal["clarify", "generate_response", "retrieve_documents", "send_response", "fallback_response"]:
    if state["readings"] and not state["drafts"]:
        return "clarify"
    if state["documents_are_relevant"]:
        return "generate_response"
    if state["route"] is not None:
        return "retrieve_documents"
    if best_draft(state["drafts"]):
        return "send_response"
    assessment = state["assessment"]
    weak = runtime.context.tools.settings.corrective.weak_score
    # Neither good nor weak: the writing model, and then the outer loop, have the last word.
    worth_a_try = (not assessment.refused and assessment.worth >= weak) or was_offered(state["question"], assessment)
    return "generate_response" if worth_a_try and not state["drafts"] else "fallback_response"


# ------------------------------------------------------------------------------------------------ the outer loop
async def generate_response(state: State, runtime: Runtime[Context]) -> State:
    """From the second time on, with the words for what the last answer lacked."""
    asked, missing = state["plan"].standalone, state["drafts"][-1].graded.missing if state["drafts"] else ""
    response = await Generate(runtime.context.tools).generate(
        state["question"],
        f"{asked} ({missing})" if missing else asked,
        state["assessment"].candidates,
        run=_held_back(runtime.context.run),
        language=state["language"],
    )
    return {"response": replace(response, reason=response.reason or state["assessment"].reason)}


async def direct_response(state: State, runtime: Runtime[Context]) -> State:
    """A greeting is answered at once; any other reply is held back until it is graded."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    if is_small_talk(question):
        return {"answer": await small_talk_answer(question, runtime.context, state["language"])}
    response = await DirectResponse(tools).respond(
        question, state["plan"].standalone, state["memories"], run=_held_back(run), language=state["language"]
    )
    return {"response": response}


def after_direct_response(state: State) -> Literal["grade_relevance", "__end__"]:
    return "__end__" if "answer" in state else "grade_relevance"


async def grade_relevance(state: State, runtime: Runtime[Context]) -> State:
    response = state["response"]
    if response is None:
        graded = GradedAnswer(accepted=False, score=0.0, reason="no model could reply without documents")
    else:
        graded = await GradeAnswer(runtime.context.tools).grade(
            state["plan"].standalone, response, run=runtime.context.run, language=state["language"]
        )
    return {"drafts": (*state["drafts"], Draft(answer=response, graded=graded))}


def decide_after_answer_grading(
    state: State, runtime: Runtime[Context]
) -> Literal["send_response", "rewrite_query", "fallback_response"]:
    if state["drafts"][-1].graded.accepted:
        return "send_response"
    most = runtime.context.tools.settings.dual_loop.max_corrections
    if state["correction_attempts"] < most and runtime.context.run.deadline.remaining() > 0:
        return "rewrite_query"
    return "send_response" if any(draft.answer for draft in state["drafts"]) else "fallback_response"


async def send_response(state: State, runtime: Runtime[Context]) -> State:
    """The accepted draft; failing it, the best one, which says of itself that it may not be enough."""
    last = state["drafts"][-1]
    if last.graded.accepted and last.answer:
        answer = last.answer
    elif chosen := best_draft(state["drafts"]):
        answer = with_warning(chosen, state["language"], reason=last.graded.reason)
    else:
        answer = next(draft.answer for draft in reversed(state["drafts"]) if draft.answer)
    await HeldBackTrace(runtime.context.run.trace).release(answer.text, answer.sources)
    return {"answer": answer}


async def consolidate_memory(state: State, runtime: Runtime[Context]) -> State:
    await ConsolidateMemory(runtime.context.tools).consolidate(
        state["question"],
        state["plan"].standalone,
        state["answer"],
        run=runtime.context.run,
        accepted=state["drafts"][-1].graded.accepted,
    )
    return {}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(state["assessment"], state["readings"], runtime.context, state["language"])}


async def fallback_response(state: State, runtime: Runtime[Context]) -> State:
    """The fuse has blown: says that the documents don't answer, and which were nearest."""
    run, assessment = runtime.context.run, state.get("assessment")
    if assessment is None:
        async with run.trace.step("retrieve") as step:
            step.skip("there are no documents to search in")
    text = await say(no_answer_text(assessment, state["language"]), run)
    tried = ", ".join(state["tried_routes"])
    reason = f"every strategy was tried: {tried}" if tried else "there are no documents to search in"
    return {"answer": Answer(decision="NO_ANSWER", text=text, reason=reason)}


def _held_back(run: Run) -> Run:
    return replace(run, trace=HeldBackTrace(run.trace))


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


class DualLoopWorkflow:
    """Two loops. `graph` feeds the picture on the page."""

    graph = build_graph()
    rounds = Rounds(
        best=4,
        worst=18,
        notes="1 for a greeting. Route with rewrite, grade the documents, write, grade the answer; a round more for"
        " each further strategy and for the web's words; all of it again, with a rewrite, for each of 2 corrections.",
    )

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """Raises IndexUnavailableError when nothing can be searched, UnavailableError when the time limit is passed, or
        when there is no model and the site may not answer without one (RAG_OFFLINE=0)."""
        return await run_graph(self.graph, question, tools=self._tools, trace=trace, timeout_s=TIMEOUT_S)
