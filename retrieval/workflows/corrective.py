"""Corrective RAG (seed 003): improve the words, search, judge what was found, and only then answer.

    START → route ─┬─ small talk ──────────────────────────────► greet ──► END
                   ├─ nothing to search in ────────────────────► no_answer
                   ├─► condense ────┐
                   ├─ route_by_model┤
                   ├─► rewrite ─────┤                          ┌─ ANSWER ────► generate ─► END
                   ├─► hyde ────────┤
                   ├─► transform ───┼─► retrieve ─► dedupe ─► judge ─ CLARIFY ──► clarify ──► END
                   └─► first_search ┘                 ▲        ├─ NO_ANSWER ─► no_answer ► END
                                                      │        └─ REFINE ────► refine ──┐
                                                      └─────────────────────────────────┘

The search with the user's own words runs beside the calls that would improve on them; when it is clearly good, they are
left out or broken off. `route_by_model` reads filters that rules can't see (HR for Human Resources). `transform`
decomposes a compound question or steps back from a very specific one. So an answer takes at most three model rounds
before its first token (words; judge; generate), and two when the first search is good. REFINE searches by text alone,
then wider and with the question taken apart, then on the web where that is configured and wanted; each time it is
judged again, by the model while a round is left. Two rounds without gain end the search in the documents. Simplified
from Yan et al., 2024, arXiv:2401.15884.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.answerability.grading import LIST_LENGTH, grade_passages
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.answer.clarify import open_readings
from retrieval.steps.answer.generate import Generate
from retrieval.steps.answer.no_answer import WHY, nearest_documents, nearest_text, no_answer_text, why_no_answer
from retrieval.steps.judge.judge import Assessment, Judge
from retrieval.steps.query.condense import Condense, condense_without_model, takes_up
from retrieval.steps.query.rewrite import Hyde, Rewrite
from retrieval.steps.query.route import Route
from retrieval.steps.query.transform import Transform
from retrieval.steps.retrieve.dedupe import Dedupe
from retrieval.steps.retrieve.refine import Refine, Stage, stages
from retrieval.steps.retrieve.retrieve import Retrieve
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language, answer_language
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows import base
from retrieval.workflows.base import (
    Context,
    Rounds,
    ask_back,
    distinct_queries,
    has_documents,
    is_small_talk,
    is_worth_a_try,
    reranking_is_on,
    run_graph,
    say,
    small_talk_answer,
    was_offered,
)

MAX_ROUNDS = 3  # model rounds before the first token

ROUND_OF_GENERATION = 1
GAIN = 0.02  # of an assessment's worth; a round that adds less was in vain
STAGNATION = 2  # rounds in vain, one after the other, that end the search in the documents


Improving = Literal["condense", "route_by_model", "rewrite", "hyde", "transform", "first_search"]


class State(TypedDict, total=False):
    question: Question  # the user's words: never rewritten, this is what is answered
    language: Language
    draft: str  # made self-contained without a model: what the first search looks for
    standalone: str  # made self-contained by the model, or the draft
    filters: SearchFilters
    more_filters: SearchFilters  # the same, and what the model read from the question beside them
    variants: tuple[Query, ...]
    hypothetical: tuple[Query, ...]
    transformed: tuple[Query, ...]
    first: SearchResult
    queries: tuple[Query, ...]
    found: SearchResult
    passages: tuple[ScoredChunk, ...]  # what was found, merged, each said once
    assessment: Assessment
    readings: tuple[ScoredChunk, ...]  # one candidate for each document that the question may be about
    tried: tuple[Stage, ...]
    in_vain: int  # refinements without gain, up to the last one
    answer: Answer


# ------------------------------------------------------------------------------------------------ before retrieval
async def route(state: State, runtime: Runtime[Context]) -> State:
    question, tools, run = state["question"], runtime.context.tools, runtime.context.run
    draft = await asyncio.to_thread(condense_without_model, question)
    language = answer_language(draft if question.open_clarification else question.text)
    prepared: State = {"language": language, "draft": draft, "standalone": draft, "filters": question.filters}
    if is_small_talk(question) or not has_documents(question):
        return prepared
    return {**prepared, "filters": await Route(tools).route(question, draft, run=run)}


def after_routing(
    state: State,
) -> Literal["greet", "no_answer"] | Sequence[Improving]:
    if is_small_talk(state["question"]):
        return "greet"
    if not has_documents(state["question"]):
        return "no_answer"
    return ["condense", "route_by_model", "rewrite", "hyde", "transform", "first_search"]


async def route_by_model(state: State, runtime: Runtime[Context]) -> State:
    step = Route(runtime.context.tools)
    filters = await step.route_by_model(
        state["question"], state["draft"], state["filters"], run=runtime.context.run, language=state["language"]
    )
    return {"more_filters": filters}


async def condense(state: State, runtime: Runtime[Context]) -> State:
    step = Condense(runtime.context.tools)
    standalone = await step.condense(
        state["question"], state["draft"], run=runtime.context.run, language=state["language"]
    )
    return {"standalone": standalone}


async def rewrite(state: State, runtime: Runtime[Context]) -> State:
    step = Rewrite(runtime.context.tools)
    variants = await step.rewrite(
        state["question"], state["draft"], run=runtime.context.run, language=state["language"]
    )
    return {"variants": variants}


async def hyde(state: State, runtime: Runtime[Context]) -> State:
    step = Hyde(runtime.context.tools)
    hypothetical = await step.imagine(
        state["question"], state["draft"], run=runtime.context.run, language=state["language"]
    )
    return {"hypothetical": hypothetical}


async def transform(state: State, runtime: Runtime[Context]) -> State:
    step = Transform(runtime.context.tools)
    transformed = await step.transform(
        state["question"], state["draft"], run=runtime.context.run, language=state["language"]
    )
    return {"transformed": transformed}


async def first_search(state: State, runtime: Runtime[Context]) -> State:
    """The user's own words. When this is clearly good, the others give way."""
    tools, run = runtime.context.tools, runtime.context.run
    good = False
    try:
        request = search_request(state, (Query(state["draft"]),), tools)
        first = await Retrieve(tools).retrieve(request, run=run, purpose="own words: ")
        pool, semantic = first.candidates[:LIST_LENGTH], state["question"].scope.semantic
        grading = await asyncio.to_thread(grade_passages, state["draft"], pool, semantic=semantic)
        good = grading.holds_answer >= base.CLEAR_SCORE
    finally:
        run.first_search.finish(good=good)
    return {"first": first}


# ------------------------------------------------------------------------------------------------ retrieval
async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """All query variants in one search; the first search's result where no better words came."""
    tools, run = runtime.context.tools, runtime.context.run
    own_words = Query(state["draft"])
    if run.first_search.good:
        return {"queries": (own_words,), "found": state["first"]}
    condensed = Query(state["standalone"], kind="condensed")
    queries = distinct_queries(
        [own_words, condensed, *state["variants"], *state["transformed"], *state["hypothetical"]]
    )
    if len(queries) == 1 and state["more_filters"] == state["filters"]:
        return {"queries": queries, "found": state["first"]}
    state = {**state, "filters": state["more_filters"]}
    found = await Retrieve(tools).retrieve(search_request(state, queries, tools), run=run)
    return {"queries": queries, "found": found, "filters": state["filters"]}


async def dedupe(state: State, runtime: Runtime[Context]) -> State:
    """After a refinement, what was judged before is left out."""
    before = state.get("assessment")
    passages = await Dedupe(runtime.context.tools).dedupe(
        state["found"].candidates, run=runtime.context.run, known=before.candidates if before else ()
    )
    return {"passages": passages}


async def judge(state: State, runtime: Runtime[Context]) -> State:
    """Rerank and assess; after a refinement, only what it newly found."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    before = state.get("assessment")
    assessment = await Judge(tools).judge(
        state["standalone"],
        state["passages"],
        before=before,
        listed=state["found"].candidates,
        semantic=question.scope.semantic,
        run=run,
        language=state["language"],
        use_model=reranking_is_on(question, tools) and has_round_left(tools, run),
        use_reranker=reranking_is_on(question, tools),
    )
    readings: tuple[ScoredChunk, ...] = ()
    if not takes_up(state["standalone"], question.open_clarification):
        # What the documents distinguish by is known for certain, so it is looked at whoever judged.
        readings = await asyncio.to_thread(open_readings, assessment, state["standalone"], state["filters"])
    in_vain = 0 if before is None or assessment.worth > before.worth + GAIN else state["in_vain"] + 1
    if in_vain == STAGNATION and assessment.verdict != "ANSWER":
        async with run.trace.step("refine") as step:
            step.skip(f"{STAGNATION} rounds without gain: the documents are not searched again")
    return {"assessment": assessment, "readings": readings, "in_vain": in_vain}


def after_judging(state: State, runtime: Runtime[Context]) -> Literal["generate", "clarify", "refine", "no_answer"]:
    assessment, numbers = state["assessment"], runtime.context.tools.settings.corrective
    may_ask_back = not takes_up(state["standalone"], state["question"].open_clarification)
    if assessment.contradictory:
        return "no_answer"
    if may_ask_back and assessment.candidates:
        several = state["readings"] and not assessment.refused and assessment.worth >= numbers.weak_score
        if several or assessment.verdict == "CLARIFY":
            return "clarify"
    good_enough = assessment.verdict == "CLARIFY" and assessment.worth >= numbers.weak_score
    if assessment.verdict == "ANSWER" or good_enough:
        return "generate"
    if next_stage(state, runtime.context.tools) and runtime.context.run.deadline.remaining() > 0:
        return "refine"
    worth_a_try = is_worth_a_try(assessment, numbers) or was_offered(state["question"], assessment)
    return "generate" if worth_a_try else "no_answer"


async def refine(state: State, runtime: Runtime[Context]) -> State:
    tools, run, tried = runtime.context.tools, runtime.context.run, state.get("tried", ())
    stage = next_stage(state, tools)
    if stage is None:
        raise AssertionError("after_judging leads here only while a stage is left")
    found = await Refine(tools).refine(
        state["question"],
        state["queries"],
        state["filters"],
        stage=stage,
        number=len(tried) + 1,
        missing=state["assessment"].missing,
        use_model=has_round_left(tools, run),
        run=run,
        language=state["language"],
    )
    return {"found": found, "tried": (*tried, stage)}


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    answer = await Generate(runtime.context.tools).generate(
        state["question"],
        state["standalone"],
        state["assessment"].candidates,
        run=runtime.context.run,
        language=state["language"],
    )
    text = answer.text
    if answer.decision == "NO_ANSWER" and (nearest := nearest_text(state["assessment"].candidates, state["language"])):
        text += "\n\n" + nearest
        await runtime.context.run.trace.emit_chunk("\n\n" + nearest)
    return {"answer": replace(answer, text=text, reason=answer.reason or state["assessment"].reason)}


async def greet(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await small_talk_answer(state["question"], runtime.context, state["language"])}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(state["assessment"], state["readings"], runtime.context, state["language"])}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    run, assessment = runtime.context.run, state.get("assessment")
    if assessment is None:
        async with run.trace.step("retrieve") as step:
            step.skip("there are no documents to search in")
    why = why_no_answer(assessment)
    reason = f"{WHY[why]}: {assessment.reason}" if assessment and assessment.candidates else WHY[why]
    async with run.trace.step("assess") as step:
        step.summary = f"NO_ANSWER: {reason}"
        nearest = nearest_documents(assessment.candidates if assessment else ())
        step.detail |= {"verdict": "NO_ANSWER", "why": why, "nearest": nearest}
    text = await say(no_answer_text(assessment, state["language"]), run)
    return {"answer": Answer(decision="NO_ANSWER", text=text, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    nodes = (
        route, greet, condense, route_by_model, rewrite, hyde, transform, first_search, retrieve, dedupe, judge, refine,
        generate, clarify, no_answer,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    side_by_side: list[str] = list(get_args(Improving))
    graph.add_conditional_edges("route", after_routing, ["greet", "no_answer", *side_by_side])
    graph.add_edge(side_by_side, "retrieve")
    graph.add_edge("retrieve", "dedupe")
    graph.add_edge("dedupe", "judge")
    graph.add_conditional_edges("judge", after_judging)
    graph.add_edge("refine", "dedupe")
    for last in ("greet", "generate", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="corrective")


class CorrectiveWorkflow:
    """The default workflow. `graph` feeds the picture on the page, `rounds` the table in docs/workflows.md."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=3,
        notes="judge and generate when the search with the user's own words is clearly good; else the calls that "
        "improve on them come first, side by side. A greeting takes one.",
    )

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """Raises IndexUnavailableError when nothing can be searched, UnavailableError when the time limit is passed, or
        when there is no model and the site may not answer without one (RAG_OFFLINE=0).

        """
        limit_s = self._tools.settings.corrective.timeout_s
        return await run_graph(self.graph, question, tools=self._tools, trace=trace, timeout_s=limit_s)


# ------------------------------------------------------------------------------------------------ small decisions
def next_stage(state: State, tools: Toolbox) -> Stage | None:
    """Of the corrective search; none when all were tried, or the rounds are used up. The web is another source: that
    the documents gave nothing new does not speak against it."""
    tried = state.get("tried", ())
    if len(tried) >= tools.settings.corrective.max_refine_rounds:
        return None
    left = [stage for stage in stages(state["question"], tools) if stage not in tried]
    if state.get("in_vain", 0) >= STAGNATION:
        left = [stage for stage in left if stage == "web"]
    return left[0] if left else None


def has_round_left(tools: Toolbox, run: Run) -> bool:
    """For one more model call before generating."""
    return run.trace.usage().llm_rounds + ROUND_OF_GENERATION < MAX_ROUNDS


def search_request(state: State, queries: tuple[Query, ...], tools: Toolbox) -> SearchRequest:
    settings = tools.settings
    wanted = state["question"].options.top_k or settings.corrective.context_passages
    top_k = min(max(wanted, settings.rerank.max_candidates), settings.search.max_top_k)
    return SearchRequest(queries=queries, scope=state["question"].scope, filters=state["filters"], top_k=top_k)
