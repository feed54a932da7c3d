"""Corrective RAG (seed 003): search, estimate what was found, and ask a model where its word can change the outcome.

    START → route ─┬─ small talk ──────────► greet ─────► END
                   ├─ nothing to search in ► no_answer ─► END
                   └─► first_search ─┬─► dedupe ─► judge ─┬─ ANSWER ────► generate ──► END
                                     │     ▲              ├─ CLARIFY ───► clarify ───► END
                 wanted in any case  │     │              ├─ NO_ANSWER ─► no_answer ─► END
                                     │     ├── refine ◄───┼─ REFINE, by searching otherwise
                                     ▼     │              │
           condense, route_by_model,       │              │
           rewrite, hyde, transform ──► retrieve          │
                       ▲                                  │
                       └──────────────────────────────────┴─ REFINE, by better words

`judge` begins with the trained estimate. Where it is sure that the search with the user's own words found the answer,
that is written at once: one model round. Where it is unsure, and a model's word could change the outcome, the model is
asked for a short judgement, which is blended with the estimate. Only where neither says that the answer was found, the
calls that look for better words are made, side by side, and all words are searched for together; the same estimate
judges, and the model where a round is left. So an answer takes at most three model rounds before its first token.
`condense` comes before a model's judgement where the rules could not make a follow-up self-contained. `route_by_model`
reads filters that rules can't see (HR for Human Resources). `transform` decomposes a compound question or steps back
from a very specific one. Where the estimate is sure that nothing answers, no model is asked.

REFINE searches by text alone, then wider and with the question taken apart, then on the web where that is configured
and wanted; each time it is judged again. Two rounds without gain end the search in the documents. Simplified from Yan
et al., 2024, arXiv:2401.15884.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.rag_settings import CorrectiveSettings
from ragsite.core.wording import worded
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.answer.no_answer import WHY, nearest_documents, nearest_text, no_answer_text, why_no_answer
from retrieval.steps.judge.evaluator import Assessment
from retrieval.steps.judge.judge import Retrieved
from retrieval.steps.judge.judge import judge as judge_passages
from retrieval.steps.query.condense import Condense, chooses, points_back, takes_up
from retrieval.steps.query.hyde import Hyde
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.query.route import Route, filters_by_model
from retrieval.steps.query.transform import transform_question
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.refine import Refinement, Stage, search_again, stages
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.schemas import VERDICTS
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Toolbox
from retrieval.values import Answer, Query, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    ask_back,
    distinct_queries,
    greet,
    has_documents,
    is_small_talk,
    is_worth_a_try,
    nothing_to_search,
    readings_to_ask_about,
    reranking_is_on,
    say,
    was_offered,
)

MAX_ROUNDS = 3  # model rounds before the first token

ROUND_OF_GENERATION = 1
GAIN = 0.02  # of an assessment's score; a round that adds less was in vain
STAGNATION = 2  # rounds in vain, one after the other, that end the search in the documents


Improving = Literal["condense", "route_by_model", "rewrite", "hyde", "transform"]


class State(Asking, total=False):
    standalone: str  # made self-contained by the model, or the draft
    filters: SearchFilters
    more_filters: SearchFilters  # the same, and what the model read from the question beside them
    variants: tuple[Query, ...]
    hypothetical: tuple[Query, ...]
    transformed: tuple[Query, ...]
    improved: bool  # better words were looked for
    queries: tuple[Query, ...]
    result: SearchResult  # of the last search
    passages: tuple[ScoredChunk, ...]  # what was found, merged, each said once
    assessment: Assessment
    question_judged: str  # the words that it was about
    readings: tuple[ScoredChunk, ...]  # one candidate for each document that the question may be about
    tried: tuple[Stage, ...]
    in_vain: int  # refinements without gain, up to the last one


# ------------------------------------------------------------------------------------------------ before retrieval
async def route(state: State, runtime: Runtime[Context]) -> State:
    question, draft = state["question"], state["draft"]
    if is_small_talk(question) or not has_documents(question):
        return {"standalone": draft, "filters": question.filters}
    return {"standalone": draft, "filters": await Route(runtime.context)(Asked(question, draft))}


def after_routing(state: State) -> Literal["greet", "no_answer", "first_search"]:
    if is_small_talk(state["question"]):
        return "greet"
    return "first_search" if has_documents(state["question"]) else "no_answer"


async def first_search(state: State, runtime: Runtime[Context]) -> State:
    """With the user's own words."""
    context, own_words = runtime.context, Query(state["draft"])
    context.run.first_search.finish(good=False)  # no call has begun that would give way to it
    request = SearchRequest(
        queries=(own_words,),
        scope=state["question"].scope,
        filters=state["filters"],
        top_k=breadth(state["question"], context.tools.settings),
    )
    return {
        "queries": (own_words,),
        "result": await search_documents(context, request, purpose=worded("own words: ")),
        "improved": False,
    }


def after_first_search(state: State) -> Literal["dedupe"] | Sequence[Improving]:
    """A request that names rewriting or HyDE gets them, however good the search was."""
    options = state["question"].options
    return get_args(Improving) if options.rewrite or options.hyde else "dedupe"


async def route_by_model(state: State, runtime: Runtime[Context]) -> State:
    return {"more_filters": await filters_by_model(runtime.context, asked(state), state["filters"])}


async def condense(state: State, runtime: Runtime[Context]) -> State:
    return {"standalone": await Condense(runtime.context)(asked(state))}


async def rewrite(state: State, runtime: Runtime[Context]) -> State:
    return {"variants": await Rewrite(runtime.context)(Wanted(asked=asked(state), tried=(state["draft"],)))}


async def hyde(state: State, runtime: Runtime[Context]) -> State:
    return {"hypothetical": await Hyde(runtime.context)(asked(state))}


async def transform(state: State, runtime: Runtime[Context]) -> State:
    return {"transformed": await transform_question(runtime.context, asked(state))}


# ------------------------------------------------------------------------------------------------ retrieval
async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """All query variants in one search; what was found before where no better words came."""
    question, own_words = state["question"], Query(state["draft"])
    condensed = Query(state["standalone"], kind="condensed")
    queries = distinct_queries(
        [own_words, condensed, *state["variants"], *state["transformed"], *state["hypothetical"]]
    )
    filters = state["more_filters"]
    if len(queries) == 1 and filters == state["filters"]:
        return {"improved": True}
    top_k = breadth(question, runtime.context.tools.settings)
    request = SearchRequest(queries=queries, scope=question.scope, filters=filters, top_k=top_k)
    result = await search_documents(runtime.context, request)
    return {"queries": queries, "result": result, "filters": filters, "improved": True}


async def dedupe(state: State, runtime: Runtime[Context]) -> State:
    """After a refinement, what was judged before is left out; other words are judged by all that they found."""
    judged = state["assessment"].candidates if "assessment" in state else ()
    no_other_words = state["improved"] and len(state["queries"]) == 1
    known = judged if state.get("tried") or no_other_words else ()
    return {"passages": await Dedupe(runtime.context)(Hits(state["result"].candidates, known))}


async def judge(state: State, runtime: Runtime[Context]) -> State:
    """Rerank and assess; after a refinement, only what it newly found."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    before = state.get("assessment")
    if before and state["question_judged"] != state["standalone"]:
        before = None  # it was about other words
    reranking = reranking_is_on(question, tools)
    retrieved = Retrieved(
        question=state["standalone"],
        passages=state["passages"],
        before=before,
        may_raise=may_raise(state),
        listed=state["result"].candidates,
        semantic=question.scope.semantic,
        use_model=reranking and has_round_left(runtime.context) and not needs_condensing(state),
        insist=question.options.rerank is True,
        use_reranker=reranking,
    )
    assessment = await judge_passages(runtime.context, retrieved)
    # How the documents differ is known for certain, so readings are looked for whichever judge gave the verdict.
    readings = await readings_to_ask_about(
        assessment, state["standalone"], state["filters"], question=question, context=runtime.context
    )
    gained = before is None or assessment.retrieval_score > before.retrieval_score + GAIN
    in_vain = 0 if gained or not state.get("tried") else state.get("in_vain", 0) + 1
    if in_vain == STAGNATION and assessment.verdict != "ANSWER":
        async with run.trace.step("refine") as step:
            step.skip(
                worded("{stagnation} rounds without gain: the documents are not searched again", stagnation=STAGNATION)
            )
    return {
        "assessment": assessment,
        "question_judged": state["standalone"],
        "readings": readings,
        "in_vain": in_vain,
    }


def after_judging(
    state: State, runtime: Runtime[Context]
) -> Literal["generate", "clarify", "refine", "no_answer"] | Sequence[Improving]:
    context, assessment = runtime.context, state["assessment"]
    settings = context.tools.settings.corrective
    may_ask_back = not takes_up(state["standalone"], state["question"].open_clarification)
    in_time = context.run.deadline.remaining() > 0
    better_words = in_time and has_round_left(context) and may_improve(state, settings)
    if better_words and needs_condensing(state) and assessment.answerability < settings.sure_score:
        return get_args(Improving)
    if assessment.contradictory:
        return "no_answer"
    if may_ask_back and assessment.candidates and (state["readings"] or assessment.verdict == "CLARIFY"):
        return "clarify"
    good_enough = assessment.verdict == "CLARIFY" and assessment.retrieval_score >= settings.weak_score
    if assessment.verdict == "ANSWER" or good_enough:
        return "generate"
    if better_words:
        return get_args(Improving)
    if in_time and next_stage(state, context.tools):
        return "refine"
    worth_a_try = is_worth_a_try(assessment, settings) or was_offered(state["question"], assessment)
    return "generate" if worth_a_try else "no_answer"


async def refine(state: State, runtime: Runtime[Context]) -> State:
    tried, stage = state.get("tried", ()), next_stage(state, runtime.context.tools)
    if stage is None:
        raise AssertionError("after_judging leads here only while a stage is left")
    refinement = Refinement(
        question=state["question"],
        queries=state["queries"],
        filters=state["filters"],
        stage=stage,
        number=len(tried) + 1,
        missing=state["assessment"].missing,
        use_model=has_round_left(runtime.context),
    )
    return {"result": await search_again(runtime.context, refinement), "tried": (*tried, stage)}


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    context, assessment = runtime.context, state["assessment"]
    answer = await write_answer(context, Asked(state["question"], state["standalone"]), assessment.candidates)
    text = answer.text
    if answer.decision == "NO_ANSWER" and (nearest := nearest_text(assessment.candidates, context.language)):
        text += "\n\n" + nearest
        await context.run.trace.emit_chunk("\n\n" + nearest)
    return {"answer": replace(answer, text=text, reason=answer.reason or assessment.reason)}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(state["assessment"], state["readings"], runtime.context)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    context, assessment = runtime.context, state.get("assessment")
    if assessment is None:
        await nothing_to_search(context)
    why = why_no_answer(assessment)
    reason = (
        worded("{why}: {reason}", why=WHY[why], reason=assessment.reason)
        if assessment and assessment.candidates
        else WHY[why]
    )
    async with context.run.trace.step("assess") as step:
        step.summary = worded("{verdict}: {reason}", verdict=VERDICTS["NO_ANSWER"], reason=reason)
        nearest = nearest_documents(assessment.candidates if assessment else ())
        step.detail |= {"verdict": "NO_ANSWER", "why": why, "nearest": nearest}
        step.detail |= {"decision": "NO_ANSWER", "reason": reason}  # closes the path
    text = await say(no_answer_text(assessment, context.language, context.run.trace), context.run)
    return {"answer": Answer(decision="NO_ANSWER", text=text, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    nodes = (
        route, greet, first_search, condense, route_by_model, rewrite, hyde, transform, retrieve, dedupe, judge, refine,
        generate, clarify, no_answer,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    side_by_side = list(get_args(Improving))
    graph.add_conditional_edges("route", after_routing)
    graph.add_conditional_edges("first_search", after_first_search, ["dedupe", *side_by_side])
    graph.add_edge(side_by_side, "retrieve")
    graph.add_edge("retrieve", "dedupe")
    graph.add_edge("dedupe", "judge")
    graph.add_conditional_edges("judge", after_judging, ["generate", "clarify", "no_answer", "refine", *side_by_side])
    graph.add_edge("refine", "dedupe")
    for last in ("greet", "generate", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="corrective")


class CorrectiveWorkflow(GraphWorkflow):
    """The default workflow."""

    graph = build_graph()
    rounds = Rounds(
        best=1,
        worst=3,
        notes="generate alone where the trained estimate is sure that the user's own words found the answer; a short "
        "judgement where it is unsure, and calls that look for better words, side by side, where that says no. A "
        "greeting takes one.",
    )

    @property
    def timeout_s(self) -> float:
        return self.tools.settings.corrective.timeout_s


# ------------------------------------------------------------------------------------------------ small decisions
def asked(state: State) -> Asked:
    """For the calls that improve on the user's own words."""
    return Asked(state["question"], state["draft"])


def needs_condensing(state: State) -> bool:
    """Whether the rules made a follow-up self-contained as well as they can, and a model could do better."""
    question, opened = state["question"], state["question"].open_clarification
    if state["improved"] or not question.history or (opened and chooses(question.text, opened)):
        return False
    return points_back(question.text)


def may_improve(state: State, settings: CorrectiveSettings) -> bool:
    """Whether better words are to be looked for: once, and not where the estimate is sure that nothing answers, unless
    it may be the words of a follow-up that were not understood."""
    if state["improved"] or state.get("tried"):
        return False
    return needs_condensing(state) or state["assessment"].retrieval_score >= settings.hopeless_score


def may_raise(state: State) -> bool:
    """Whether the last search could make an answer likelier: in other words, without a filter, or in another source."""
    tried = state.get("tried", ())
    if not tried or tried[-1] == "web":
        return True
    return tried[-1] == "wide" and state["filters"] != state["question"].filters


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


def has_round_left(context: Context) -> bool:
    """For one more model call before generating."""
    used = context.run.trace.usage().llm_rounds
    return used + ROUND_OF_GENERATION < MAX_ROUNDS
