"""Corrective RAG (seed 003): search, write, and where the writing model says that the passages don't answer, correct.

    START ─┬─ nothing to search in ► no_answer ─► END
           └─► search ─┬─► write ─┬─ answered, or no model ──────────────► END
                       │    ▲     ├─ unclear ──► judge
           asked for   │    │     └─ not ──────► improve ─┬─ whole documents, or none ─► END
           beforehand  │    │                              └─► judge
                       │    │                                  ▲
                       ▼    │ yes, or in doubt                │
                     judge ─┼─ readings that differ ► clarify ┼──────────► END
                            │ no                              │
                            ├──────────────► refine ──────────┘
                            └─ nothing left ► no_answer ─────────────────► END

`write` streams an answer, or it is one word: the passages do not answer, or the question is unclear among what they say
(`retrieval.engine.steps.answer.verdict_token`). So a question whose answer the first search found takes one model
round. A refusal in other words, of which no passage supports a sentence, has been read by then; what a second search
finds stands behind it. `improve` looks for better words (condense, rewrite, HyDE, side by side) and searches for all of
them at once; where the model that routes says that whole documents are to be read, they are
(`retrieval.engine.workflows.documents`), that all of them are to be counted, they are
(`retrieval.engine.workflows.counts`), and a greeting is replied to.
`judge` gives a verdict in one short call; a refusal needs two, so after its yes the writing model is not offered one.
`refine` searches by text alone, then wider, then on the web where that is configured and wanted. What the writing model
has refused is judged with all that the better words found, in their order; of what the judge has refused no more than
fills up SECOND_LOOK passages is shown again.

With the eight criteria (`rerank.evaluator`) the passages are judged before the first writing; only good ones are
written from, and while too few are, the web is searched in new words (`retrieval.engine.steps.judge.correct`).

Only a model's word refuses or asks back.
Simplified from Yan et al., 2024, arXiv:2401.15884.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import append_text, behind
from retrieval.engine.steps.answer.clarify import ask_back
from retrieval.engine.steps.answer.direct import respond_directly
from retrieval.engine.steps.answer.generate import select_passages
from retrieval.engine.steps.answer.refuse import refuse
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.answer.write import (
    is_unsupported,
    show_judged,
    with_nearest,
    write_from,
)
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.assessment import Assessment
from retrieval.engine.steps.judge.correct import judge_and_correct
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.judge.scores import judging_is_on
from retrieval.engine.steps.judge.verdict import judge as judge_passages
from retrieval.engine.steps.query.expansion import (
    QueryExpansion,
    expand_query,
)
from retrieval.engine.steps.query.queries import initial_queries
from retrieval.engine.steps.retrieve.refine import Stage, search_again, stages
from retrieval.engine.steps.retrieve.web import may_search_web
from retrieval.engine.text.phrases import phrase
from retrieval.engine.values import (
    Answer,
    DocumentTask,
    Query,
    Question,
    ScoredChunk,
    SearchFilters,
)
from retrieval.engine.workflows.base import (
    Workflow,
    WorkflowState,
    has_documents,
    may_ask_back,
    search_for,
)
from retrieval.engine.workflows.counts import try_to_count
from retrieval.engine.workflows.documents import answer_from_documents

SECOND_LOOK = 5  # passages that the judge is shown once it has refused others


class State(WorkflowState, total=False):
    filters: SearchFilters  # the request's, and those that a model reads from the question
    queries: tuple[Query, ...]
    words: QueryExpansion  # once they have been looked for
    hits: tuple[
        ScoredChunk, ...
    ]  # what was found so far, merged, each said once; the last search's first
    ranked: tuple[ScoredChunk, ...]  # these, in the order of the reranker where there is one
    passages: tuple[ScoredChunk, ...]  # what models are given of it
    nearest: tuple[ScoredChunk, ...]  # what the first search gave them
    refused: frozenset[str]  # ids of chunks that the judge has said not to answer
    assessment: Assessment
    web_queries: tuple[
        str, ...
    ]  # that the web was asked while too few passages were good by the eight criteria
    tried: tuple[Stage, ...]
    read: str  # a refusal in the model's own words, which the reader has seen, and that it is looked again
    offline: bool  # no model can be asked


# ------------------------------------------------------------------------------------------------ search
def where_to_begin(state: State) -> Literal["no_answer", "search"]:
    return "search" if has_documents(state["question"]) else "no_answer"


async def search(state: State, runtime: Runtime[Deps]) -> State:
    """With the user's own words; a request that names rewriting or HyDE gets them at once."""
    deps = runtime.context
    question = state["question"]
    if question.options.rewrite or question.options.hyde:
        found = await improve(state, runtime)
    else:
        queries = initial_queries(question)
        result = await search_for(deps, question, queries, question.filters, purpose="own_words")
        found = {
            "queries": queries,
            "filters": question.filters,
            **await _with_found(deps, state, result.candidates),
        }
    return {
        **found,
        "nearest": found["passages"],
        "offline": await is_offline(deps),
    }


async def after_search(state: State, runtime: Runtime[Deps]) -> Literal["judge", "write", "refine"]:
    """A request may want a judgement before the writing. Without a model nobody can say whether the documents answer:
    where the web is wanted, it is searched as well."""
    deps = runtime.context
    question = state["question"]
    judges_first = question.options.judge or (_by_criteria(deps, question) and not state["offline"])
    if judges_first or not state["passages"]:
        return "judge"
    return "refine" if state["offline"] and may_search_web(deps, question) else "write"


async def _with_found(deps: Deps, state: State, candidates: Sequence[ScoredChunk]) -> State:
    """In the order of the last search. What it did not find again comes behind, and last what a judge has refused.
    Without a model nothing compares pages of the web with the documents, which come first."""
    before = state.get("hits", ())
    refused = state.get("refused", frozenset())
    question = state["question"]
    fresh = await dedupe(deps, candidates, known=before)
    fresh_ids = {hit.chunk_id for hit in fresh}
    before = tuple(hit for hit in before if hit.chunk_id not in fresh_ids)
    if state.get("offline"):
        hits = (*before, *fresh)
    else:
        places = {hit.chunk_id: place for place, hit in enumerate(candidates)}

        def place(hit: ScoredChunk) -> tuple[bool, int]:
            return hit.chunk_id in refused, places.get(hit.chunk_id, len(places))

        hits = tuple(sorted((*fresh, *before), key=place))
    ranked = await rerank(deps, question, hits)
    if refused:  # however well it scores, it leaves its place to what nobody has judged
        ranked = tuple(sorted(ranked, key=lambda hit: hit.chunk_id in refused))[:SECOND_LOOK]
    settings = deps.settings.corrective
    most = settings.first_passages
    if "assessment" in state or question.options.judge:
        most = settings.context_passages
    passages = await select_passages(deps, question, ranked, most=most)
    return {"hits": hits, "ranked": ranked, "passages": tuple(passages)}


# ------------------------------------------------------------------------------------------------ write
async def write(state: State, runtime: Runtime[Deps]) -> State:
    """The answer, or the word that says why there is none."""
    deps = runtime.context
    question = state["question"]
    way_out = _way_out(state)
    answer = await write_from(deps, question, state["passages"], way_out=way_out)
    unsupported = is_unsupported(answer)
    if (
        way_out == "none" and answer.decision == "NO_ANSWER"
    ):  # two have to refuse, and the judge says yes
        return _finished(
            state,
            await show_judged(deps, question, answer, state["assessment"].named),
        )
    if unsupported and "read" in state:
        return _finished(state, await with_nearest(deps, question, answer))
    if answer.text and not unsupported:
        known = state["assessment"].reason if "assessment" in state else None
        return _finished(state, replace(answer, reason=answer.reason or known))
    verdict: Literal["CLARIFY", "NO_ANSWER"] = (
        "CLARIFY" if answer.decision == "CLARIFY" else "NO_ANSWER"
    )
    update: State = {
        "assessment": Assessment(
            verdict=verdict, candidates=state["passages"], reason=answer.reason
        )
    }
    if unsupported:
        more = await append_text(deps, answer, f"\n\n{phrase('looked_again', deps.language)}\n\n")
        update["read"] = more.text
    if verdict == "CLARIFY":  # there may be more readings than these
        update["passages"] = tuple(await select_passages(deps, question, state["ranked"]))
    return update


def _finished(state: State, answer: Answer) -> State:
    return {"answer": behind(state.get("read", ""), answer)}


def _way_out(state: State) -> WayOut:
    """A refusal needs two: once the judge has said yes, the writing model is not offered it."""
    if "assessment" not in state:
        return "ask_back" if may_ask_back(state["question"]) else "refuse"
    return "none" if state["assessment"].verdict == "ANSWER" else "refuse"


def _refused(state: State) -> frozenset[str]:
    return state.get("refused", frozenset()) | {passage.chunk_id for passage in state["passages"]}


async def is_offline(deps: Deps) -> bool:
    try:
        await deps.models.chat("answer")
    except ModelError:
        return True
    return False


def _found(state: State) -> list[str]:
    """Ids of the documents that were found so far."""
    return list(dict.fromkeys(hit.document_id for hit in state.get("hits", ())))


def after_writing(
    state: State, runtime: Runtime[Deps]
) -> Literal["judge", "improve", "refine", "no_answer", "__end__"]:
    if "answer" in state:
        return "__end__"
    return (
        "judge"
        if state["assessment"].verdict == "CLARIFY"
        else after_refusal(runtime.context, state)
    )


def after_refusal(deps: Deps, state: State) -> Literal["improve", "refine", "no_answer"]:
    if deps.deadline.remaining() <= 0:
        return "no_answer"
    if "words" not in state or state["queries"] != state["words"].queries:
        return "improve"
    return "refine" if next_stage(deps, state) else "no_answer"


# ------------------------------------------------------------------------------------------------ correct
async def improve(state: State, runtime: Runtime[Deps]) -> State:
    """All words in one search; the same passages where no better ones came."""
    deps = runtime.context
    question = state["question"]
    words = state.get("words") or await expand_query(
        deps, question, question.filters, found=_found(state)
    )
    route = words.route
    if route.task and (answer := await _from_whole_documents(deps, words.question, route.task)):
        return {
            **_finished(state, answer),
            "question": replace(words.question, task=route.task),
        }
    if route.direct and (reply := await respond_directly(deps, question, ())):
        return _finished(state, reply)
    update: State = {
        "words": words,
        "queries": words.queries,
        "filters": route.filters,
        "question": words.question,
    }
    if words.question.standalone != question.standalone:
        update["refused"] = frozenset()  # what was refused was another question
    result = await search_for(deps, words.question, words.queries, route.filters)
    return {
        **update,
        **await _with_found(deps, {**state, **update}, result.candidates),
    }


async def _from_whole_documents(
    deps: Deps, question: Question, task: DocumentTask
) -> Answer | None:
    """None: a count was wanted and can't be had, so that the search goes on; the path says why."""
    if not task.counts:
        return await answer_from_documents(deps, question, task)
    counted = await try_to_count(deps, question)
    return counted if isinstance(counted, Answer) else None


def after_improving(state: State) -> Literal["judge", "__end__"]:
    return "__end__" if "answer" in state else "judge"


async def judge(state: State, runtime: Runtime[Deps]) -> State:
    """Passages that it has refused already are not judged again."""
    deps = runtime.context
    question = state["question"]
    refused = state.get("refused", frozenset())
    passages = state["passages"]
    if refused and all(passage.chunk_id in refused for passage in passages):
        refusal = Assessment(
            verdict="NO_ANSWER",
            candidates=passages,
            reason=Reason("nothing_new"),
        )
        return {"assessment": refusal}
    if _by_criteria(deps, question):
        before = state.get("web_queries", ())
        assessment, web_queries = await judge_and_correct(deps, question, passages, tried=before)
        passages = tuple(await select_passages(deps, question, assessment.candidates))
    else:
        assessment = await judge_passages(deps, question, passages)
        web_queries = ()
    update: State = {
        "assessment": assessment,
        "passages": passages,
        "web_queries": web_queries,
    }
    if assessment.refused:
        refused = _refused({**state, **update})
    return {**update, "refused": refused}


def _by_criteria(deps: Deps, question: Question) -> bool:
    return deps.settings.rerank.evaluator == "eight_criteria" and judging_is_on(question)


def after_judging(
    state: State, runtime: Runtime[Deps]
) -> Literal["write", "clarify", "improve", "refine", "no_answer"]:
    """Yes, and in doubt: it is written."""
    assessment = state["assessment"]
    if assessment.verdict == "CLARIFY" and may_ask_back(state["question"]):
        return "clarify"
    if assessment.refused or not state["passages"]:
        return after_refusal(runtime.context, state)
    return "write"


async def refine(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    stage = next_stage(runtime.context, state)
    tried = state.get("tried", ())
    if stage is None:
        raise AssertionError("after_refusal leads here only while a stage is left")
    found = await search_again(
        deps,
        state["question"],
        state["queries"],
        stage,
        filters=state["filters"],
        number=len(tried) + 1,
    )
    return {
        "tried": (*tried, stage),
        **await _with_found(deps, state, found.candidates),
    }


def next_stage(deps: Deps, state: State) -> Stage | None:
    """Of the corrective search; none when all were tried, or the rounds are used up."""
    tried = state.get("tried", ())
    if len(tried) >= deps.settings.corrective.max_refine_rounds:
        return None
    found = state["offline"] and bool(state["passages"])  # then another source alone can add to it
    left = [stage for stage in stages(deps, state["question"]) if stage == "web" or not found]
    return next((stage for stage in left if stage not in tried), None)


# ------------------------------------------------------------------------------------------------ other answers
async def clarify(state: State, runtime: Runtime[Deps]) -> State:
    assessment = state["assessment"]
    answer = await ask_back(runtime.context, assessment.named, asks=assessment.asks)
    return _finished(state, answer)


async def no_answer(state: State, runtime: Runtime[Deps]) -> State:
    candidates = state.get("nearest") or state.get("passages")
    reason = state["assessment"].reason if "assessment" in state else None
    answer = await refuse(runtime.context, state["question"], candidates, reason=reason)
    return _finished(state, answer)


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    for node in (search, write, improve, judge, refine, clarify, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_conditional_edges(START, where_to_begin)
    graph.add_conditional_edges("search", after_search)
    graph.add_conditional_edges("write", after_writing)
    graph.add_conditional_edges("improve", after_improving)
    graph.add_conditional_edges("judge", after_judging)
    graph.add_edge("refine", "judge")
    for last in ("clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="corrective")


WORKFLOW = Workflow(graph=build_graph())
