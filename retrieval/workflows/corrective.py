"""Corrective RAG (seed 003): search, write, and where the writing model says that the passages don't answer, correct.

    START → route ─┬─ small talk ──────────► greet ─────► END
                   ├─ nothing to search in ► no_answer ─► END
                   └─► search ─┬─► write ─┬─ answered, or no model ──────────────► END
                               │    ▲     ├─ unclear ──► judge
                   asked for   │    │     └─ not ──────► improve ─► judge
                   beforehand  │    │                                 ▲
                               ▼    │ yes, or in doubt                │
                             judge ─┼─ readings that differ ► clarify ┼──────────► END
                                    │ no                              │
                                    ├──────────────► refine ──────────┘
                                    └─ nothing left ► no_answer ─────────────────► END

`write` begins with a mark, which is held back until it is read: the passages answer, they do not, or the question is
unclear among what they say (`retrieval.steps.answer.mark`). So a question whose answer the first search found takes one
model round. `improve` looks for better words (condense, rewrite, HyDE, side by side; begun beside the first writing
where the estimate is low) and searches for all of them at once. `judge` reranks and gives a verdict in one short call;
the writing model still has the last word on its yes. `refine` searches by text alone, then wider and with the question
taken apart, then on the web where that is configured and wanted. Passages that a model has refused are not judged anew.

Only a model's word refuses or asks back. The estimate saves calls, and labels what is quoted without a model.
Simplified from Yan et al., 2024, arXiv:2401.15884; the mark: Asai et al., 2024, arXiv:2310.11511.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import worded
from retrieval.ports import SearchRequest
from retrieval.steps.answer.clarify import ask_back
from retrieval.steps.answer.generate import select_passages, write_from
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.judge import Judge, estimated, rerank
from retrieval.steps.query.better_words import BetterWords, look_for_better_words
from retrieval.steps.query.condense import takes_up
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.refine import Refinement, Stage, search_again, stages
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.retrieve.web_search import may_search_web
from retrieval.steps.step import Asked, Context
from retrieval.values import Query, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    greet,
    has_documents,
    has_model,
    is_small_talk,
    reranking_is_on,
    say_no_answer,
)

AHEAD_AFTER_S = 0.15  # that the writing has before better words are looked for beside it


class State(Asking, total=False):
    standalone: str  # made self-contained by the model, or the draft
    filters: SearchFilters  # the request's, and those that the question names
    queries: tuple[Query, ...]
    words: BetterWords  # once they have been looked for
    hits: tuple[ScoredChunk, ...]  # what was found so far, merged, each said once; the last search's first
    passages: tuple[ScoredChunk, ...]  # what models are given of it
    nearest: tuple[ScoredChunk, ...]  # what the first search gave them
    refused: frozenset[str]  # ids of chunks that a model has said not to answer
    assessment: Assessment
    tried: tuple[Stage, ...]
    offline: bool  # no model can be asked


# ------------------------------------------------------------------------------------------------ search
async def route(state: State, runtime: Runtime[Context]) -> State:
    question, draft = state["question"], state["draft"]
    begun: State = {"standalone": draft, "refused": frozenset(), "tried": (), "hits": (), "filters": question.filters}
    if is_small_talk(question) or not has_documents(question):
        return begun
    return {**begun, "filters": await Route(runtime.context)(Asked(question, draft))}


def after_routing(state: State) -> Literal["greet", "no_answer", "search"]:
    if is_small_talk(state["question"]):
        return "greet"
    return "search" if has_documents(state["question"]) else "no_answer"


async def search(state: State, runtime: Runtime[Context]) -> State:
    """With the user's own words; a request that names rewriting or HyDE gets them at once."""
    context, options = runtime.context, state["question"].options
    context.run.first_search.finish(good=False)  # no call has begun that would give way to it
    offline = not await has_model(context.tools)
    if options.rewrite or options.hyde:
        found = await improve(state, runtime)
    else:
        own_words = (Query(state["draft"]),)
        found = await _found(own_words, state["filters"], state, context, purpose=worded("own words: "))
        found["queries"] = own_words
    return {**found, "nearest": found["passages"], "offline": offline}


async def after_search(state: State, runtime: Runtime[Context]) -> Literal["judge", "write", "refine"]:
    """A request may want a judgement before the writing. Without a model, what does not look like an answer is looked
    up on the web, where that is wanted, before it is quoted."""
    context, question = runtime.context, state["question"]
    if question.options.rerank or not state["passages"]:
        return "judge"
    if state["offline"] and may_search_web(question, context.tools):
        answered = await _estimated(state, context) >= context.tools.settings.corrective.good_score
        return "write" if answered else "refine"
    return "write"


async def _found(
    queries: tuple[Query, ...], filters: SearchFilters, state: State, context: Context, *, purpose: str = ""
) -> State:
    question = state["question"]
    request = SearchRequest(
        queries=queries, scope=question.scope, filters=filters, top_k=breadth(question, context.tools.settings)
    )
    return await _passages((await search_documents(context, request, purpose=purpose)).candidates, state, context)


async def _passages(candidates: Sequence[ScoredChunk], state: State, context: Context) -> State:
    """What is new comes first: of what a model has refused, only what fills the room that is left."""
    fresh = await Dedupe(context)(Hits(candidates, known=state["hits"]))
    refused = state["refused"]
    hits = (*fresh, *(hit for hit in state["hits"] if hit.chunk_id not in {one.chunk_id for one in fresh}))
    hits = tuple(sorted(hits, key=lambda hit: hit.chunk_id in refused))
    asked = Asked(state["question"], state["standalone"])
    on = reranking_is_on(state["question"], context.tools)
    ranked = await rerank(context, Evidence(question=asked.text, passages=hits, use_model=on))
    return {"hits": hits, "passages": tuple(await select_passages(context, asked, ranked))}


# ------------------------------------------------------------------------------------------------ write
async def write(state: State, runtime: Runtime[Context]) -> State:
    """The answer, or the mark that says why there is none. Where the estimate is low, better words are looked for
    beside the first writing; they are dropped the moment the model says that it answers."""
    context, question = runtime.context, state["question"]
    asked = Asked(question, state["standalone"])
    ahead = None
    if "words" not in state and await _looks_poor(state, context):
        ahead = asyncio.create_task(_words_ahead(state, context))
    try:
        answer = await write_from(
            context,
            asked,
            state["passages"],
            may_ask_back=may_ask_back(state),
            released=ahead.cancel if ahead else None,
        )
        if answer.text:
            if "assessment" in state and not answer.reason:
                answer = replace(answer, reason=state["assessment"].reason)
            return {"answer": answer}
        told: State = {"assessment": _said(answer.decision, answer.reason, state)}
        if answer.decision == "NO_ANSWER":
            told["refused"] = state["refused"] | {passage.chunk_id for passage in state["passages"]}
            if ahead:
                told["words"] = await ahead
        return told
    finally:
        if ahead:
            ahead.cancel()
            await asyncio.gather(ahead, return_exceptions=True)


def _said(decision: str, reason: str, state: State) -> Assessment:
    verdict: Literal["CLARIFY", "NO_ANSWER"] = "CLARIFY" if decision == "CLARIFY" else "NO_ANSWER"
    return Assessment(verdict=verdict, candidates=state["passages"], reason=reason)


async def _looks_poor(state: State, context: Context) -> bool:
    if state["offline"] or not reranking_is_on(state["question"], context.tools):
        return False
    return await _estimated(state, context) < context.tools.settings.corrective.weak_score


async def _estimated(state: State, context: Context) -> float:
    semantic = state["question"].scope.semantic
    evidence = Evidence(question=state["standalone"], passages=state["passages"], semantic=semantic)
    return await estimated(context, evidence)


async def _words_ahead(state: State, context: Context) -> BetterWords:
    """Behind the writing: a server that works on one call at a time is to begin with that."""
    await asyncio.sleep(AHEAD_AFTER_S)
    return await look_for_better_words(context, Asked(state["question"], state["draft"]), state["filters"])


def may_ask_back(state: State) -> bool:
    """Once for a question; from the first judgement on, that is the judge's to say."""
    return "assessment" not in state and not takes_up(state["standalone"], state["question"].open_clarification)


def after_writing(
    state: State, runtime: Runtime[Context]
) -> Literal["judge", "improve", "refine", "no_answer", "__end__"]:
    if "answer" in state:
        return "__end__"
    if state["assessment"].verdict == "CLARIFY":
        return "judge"
    return after_refusal(state, runtime)


def after_refusal(state: State, runtime: Runtime[Context]) -> Literal["improve", "refine", "no_answer"]:
    if runtime.context.run.deadline.remaining() <= 0:
        return "no_answer"
    if "words" not in state or state["queries"] != state["words"].queries:
        return "improve"
    return "refine" if next_stage(state, runtime.context) else "no_answer"


# ------------------------------------------------------------------------------------------------ correct
async def improve(state: State, runtime: Runtime[Context]) -> State:
    """All words in one search; the same passages where no better ones came."""
    context = runtime.context
    words = state.get("words") or await look_for_better_words(
        context, Asked(state["question"], state["draft"]), state["filters"]
    )
    told: State = {"words": words, "queries": words.queries, "filters": words.filters, "standalone": words.standalone}
    if words.standalone != state["standalone"]:
        told["refused"] = frozenset()  # what was refused was another question
    return {**told, **await _found(words.queries, words.filters, {**state, **told}, context)}


async def judge(state: State, runtime: Runtime[Context]) -> State:
    """Of passages that a model has refused already, no other is asked."""
    context, question = runtime.context, state["question"]
    fresh = [passage for passage in state["passages"] if passage.chunk_id not in state["refused"]]
    if state["refused"] and not fresh:
        reason = worded("nothing new was found")
        return {"assessment": Assessment(verdict="NO_ANSWER", candidates=state["passages"], reason=reason)}
    assessment = await Judge(context)(
        Evidence(
            question=state["standalone"],
            passages=state["passages"],
            semantic=question.scope.semantic,
            use_model=reranking_is_on(question, context.tools),
        )
    )
    if assessment.refused:
        refused = state["refused"] | {passage.chunk_id for passage in state["passages"]}
        return {"assessment": assessment, "refused": refused}
    return {"assessment": assessment}


def after_judging(
    state: State, runtime: Runtime[Context]
) -> Literal["write", "clarify", "improve", "refine", "no_answer"]:
    """Yes, and in doubt: it is written."""
    assessment = state["assessment"]
    if assessment.verdict == "CLARIFY" and not takes_up(state["standalone"], state["question"].open_clarification):
        return "clarify"
    return after_refusal(state, runtime) if assessment.refused or not state["passages"] else "write"


async def refine(state: State, runtime: Runtime[Context]) -> State:
    context, stage = runtime.context, next_stage(state, runtime.context)
    if stage is None:
        raise AssertionError("after_refusal leads here only while a stage is left")
    refinement = Refinement(
        question=state["question"],
        queries=state["queries"],
        filters=state["filters"],
        stage=stage,
        number=len(state["tried"]) + 1,
        missing=state["assessment"].missing if "assessment" in state else "",
        use_model=True,
    )
    found = await search_again(context, refinement)
    return {"tried": (*state["tried"], stage), **await _passages(found.candidates, state, context)}


def next_stage(state: State, context: Context) -> Stage | None:
    """Of the corrective search; none when all were tried, or the rounds are used up."""
    if len(state["tried"]) >= context.tools.settings.corrective.max_refine_rounds:
        return None
    found = state["offline"] and bool(state["passages"])  # then another source alone can add to it
    left = [stage for stage in stages(state["question"], context.tools) if stage == "web" or not found]
    return next((stage for stage in left if stage not in state["tried"]), None)


# ------------------------------------------------------------------------------------------------ other answers
async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(runtime.context, state["assessment"].named)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    context, assessment = runtime.context, state.get("assessment")
    candidates = state.get("nearest") or state.get("passages")
    reason = assessment.reason if assessment else ""
    return {"answer": await say_no_answer(context, state["standalone"], candidates, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    for node in (route, greet, search, write, improve, judge, refine, clarify, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    graph.add_conditional_edges("route", after_routing)
    graph.add_conditional_edges("search", after_search)
    graph.add_conditional_edges("write", after_writing)
    graph.add_edge("improve", "judge")
    graph.add_conditional_edges("judge", after_judging)
    graph.add_edge("refine", "judge")
    for last in ("greet", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="corrective")


class CorrectiveWorkflow(GraphWorkflow):
    """The default workflow."""

    graph = build_graph()
    rounds = Rounds(
        best=1,
        worst=9,
        notes="write alone where the first search found the answer; where it did not, better words (one round, begun "
        "beside the first writing where the estimate is low), a judgement and the writing; a judgement more for each "
        "corrective search that finds something new. A greeting takes one.",
    )

    @property
    def timeout_s(self) -> float:
        return self.tools.settings.corrective.timeout_s
