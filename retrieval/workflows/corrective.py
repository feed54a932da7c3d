"""Corrective RAG (seed 003): improve the words, search, judge what was found, and only then answer.

    START → route ─┬─ small talk ──────────────────────────────► greet ──► END
                   ├─ nothing to search in ────────────────────► no_answer
                   ├─► condense ────┐
                   ├─► rewrite ─────┤                          ┌─ ANSWER ────► generate ─► END
                   ├─► hyde ────────┤
                   ├─► transform ───┼─► retrieve ─► dedupe ─► judge ─ CLARIFY ──► clarify ──► END
                   └─► first_search ┘                 ▲        ├─ NO_ANSWER ─► no_answer ► END
                                                      │        └─ REFINE ────► refine ──┐
                                                      └─────────────────────────────────┘

The search with the user's own words runs beside the calls that would improve on them; when it is clearly good, they
are left out or broken off. `transform` decomposes a compound question or steps back from a very specific one. So an
answer takes at most three model rounds before its first token (words; judge; generate), and two when the first search
is good. After REFINE the model judges again only while a round is left.
Simplified from Yan et al., 2024, arXiv:2401.15884.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.rag_settings import CorrectiveSettings
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.answer_language import Language, answer_language
from retrieval.steps.clarify import Clarify, is_open
from retrieval.steps.condense import Condense, condense_without_model
from retrieval.steps.dedupe import Dedupe
from retrieval.steps.generate import Generate
from retrieval.steps.judge import Assessment, Judge, combine
from retrieval.steps.lexical_grader import grade
from retrieval.steps.no_answer import no_answer_text
from retrieval.steps.refine import STAGES, Refine
from retrieval.steps.retrieve import Retrieve
from retrieval.steps.rewrite import Hyde, Rewrite
from retrieval.steps.route import Route
from retrieval.steps.small_talk import small_talk_kind
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.steps.transform import Transform
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Context,
    Rounds,
    distinct_queries,
    has_documents,
    is_small_talk,
    reranking_is_on,
    run_graph,
    say,
)

ROUND_OF_GENERATION = 1


class State(TypedDict, total=False):
    question: Question  # the user's words: never rewritten, this is what is answered
    language: Language
    draft: str  # made self-contained without a model: what the first search looks for
    standalone: str  # made self-contained by the model, or the draft
    filters: SearchFilters
    variants: tuple[Query, ...]
    hypothetical: tuple[Query, ...]
    transformed: tuple[Query, ...]
    first: SearchResult
    queries: tuple[Query, ...]
    found: SearchResult
    passages: tuple[ScoredChunk, ...]  # what was found, merged, each said once
    assessment: Assessment
    refinements: int
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
) -> Literal["greet", "no_answer"] | Sequence[Literal["condense", "rewrite", "hyde", "transform", "first_search"]]:
    if is_small_talk(state["question"]):
        return "greet"
    if not has_documents(state["question"]):
        return "no_answer"
    return ["condense", "rewrite", "hyde", "transform", "first_search"]


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
        pool = first.candidates[: tools.settings.rerank.max_candidates]
        grades = await asyncio.to_thread(grade, state["draft"], pool)
        good = max(grades, default=0.0) >= tools.settings.corrective.clear_score
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
    if len(queries) == 1:
        return {"queries": queries, "found": state["first"]}
    found = await Retrieve(tools).retrieve(search_request(state, queries, tools), run=run)
    return {"queries": queries, "found": found}


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
    before, candidates = state.get("assessment"), state["passages"]
    if before and not candidates:
        return {"assessment": replace(before, verdict="REFINE")}
    assessment = await Judge(tools).judge(
        state["standalone"],
        candidates,
        run=run,
        language=state["language"],
        use_model=model_may_judge(question, tools, run),
        use_reranker=reranking_is_on(question, tools),
    )
    if before:
        assessment = combine(before, assessment)
        # A passage's grade depends on those beside it: among the few newly found a poor one looks better than it is.
        grades = await asyncio.to_thread(grade, state["standalone"], assessment.candidates)
        assessment = replace(assessment, lexical_best=max(grades, default=0.0))
    return {"assessment": assessment}


def after_judging(state: State, runtime: Runtime[Context]) -> Literal["generate", "clarify", "refine", "no_answer"]:
    assessment, question = state["assessment"], state["question"]
    refinements = state.get("refinements", 0)
    may_ask_back = question.open_clarification is None and bool(assessment.candidates)
    # What the documents distinguish by is known for certain, so it is checked also where the model would just answer.
    several = assessment.verdict == "ANSWER" and is_open(assessment, state["standalone"], state["filters"])
    asks_back = assessment.verdict == "CLARIFY" or several
    if asks_back and may_ask_back:
        return "clarify"
    numbers = runtime.context.tools.settings.corrective
    if assessment.verdict == "ANSWER" or (asks_back and assessment.best >= numbers.weak_score):
        return "generate"
    left = refinements < min(numbers.max_refine_rounds, len(STAGES))
    if left and runtime.context.run.deadline.remaining() > 0:
        return "refine"
    return "generate" if is_worth_a_try(assessment, numbers) else "no_answer"


async def refine(state: State, runtime: Runtime[Context]) -> State:
    tools, run = runtime.context.tools, runtime.context.run
    stage = state.get("refinements", 0)
    missing = state["assessment"].missing
    found = await Refine(tools).refine(
        state["question"], state["queries"], state["filters"], missing=missing, stage=stage, run=run
    )
    return {"found": found, "refinements": stage + 1}


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    answer = await Generate(runtime.context.tools).generate(
        state["question"],
        state["standalone"],
        state["assessment"].candidates,
        run=runtime.context.run,
        language=state["language"],
    )
    return {"answer": replace(answer, reason=answer.reason or state["assessment"].reason)}


async def greet(state: State, runtime: Runtime[Context]) -> State:
    run, question = runtime.context.run, state["question"]
    async with run.trace.step("retrieve") as step:
        step.skip("a greeting needs no documents")
    kind = small_talk_kind(question.text) or "small_talk"
    step_generate = Generate(runtime.context.tools)
    return {"answer": await step_generate.greet(question, kind, run=run, language=state["language"])}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    run = runtime.context.run
    asked = await Clarify().clarify(state["assessment"], state["standalone"], run=run, language=state["language"])
    text = await say(asked.question, run)
    reason = state["assessment"].reason
    return {"answer": Answer(decision="CLARIFY", text=text, clarification=asked, reason=reason)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    run, assessment = runtime.context.run, state.get("assessment")
    if assessment is None:
        async with run.trace.step("retrieve") as step:
            step.skip("there are no documents to search in")
    text = await say(no_answer_text(assessment, state["language"]), run)
    reason = assessment.reason if assessment else "there are no documents to search in"
    return {"answer": Answer(decision="NO_ANSWER", text=text, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    nodes = (
        route, greet, condense, rewrite, hyde, transform, first_search, retrieve, dedupe, judge, refine, generate,
        clarify, no_answer,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    graph.add_conditional_edges(
        "route", after_routing, ["greet", "no_answer", "condense", "rewrite", "hyde", "transform", "first_search"]
    )
    graph.add_edge(["condense", "rewrite", "hyde", "transform", "first_search"], "retrieve")
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
def is_worth_a_try(assessment: Assessment, numbers: CorrectiveSettings) -> bool:
    """Neither good nor weak, or the model and the model-free grader contradict each other: the writing model, told to
    say so when the passages don't answer, has the last word."""
    if not assessment.refused and assessment.best >= numbers.weak_score:
        return True
    return assessment.lexical_best >= numbers.clear_score


def model_may_judge(question: Question, tools: Toolbox, run: Run) -> bool:
    """Switched on, and a round is left for it and for generating."""
    enabled = reranking_is_on(question, tools)
    return enabled and run.trace.usage().llm_rounds + ROUND_OF_GENERATION < tools.settings.corrective.max_rounds


def search_request(state: State, queries: tuple[Query, ...], tools: Toolbox) -> SearchRequest:
    settings = tools.settings
    wanted = state["question"].options.top_k or settings.corrective.context_passages
    top_k = min(max(wanted, settings.rerank.max_candidates), settings.search.max_top_k)
    return SearchRequest(queries=queries, scope=state["question"].scope, filters=state["filters"], top_k=top_k)
