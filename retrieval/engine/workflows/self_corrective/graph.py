"""The nodes of `self_corrective`, and how they follow one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import AssessDetails, OrderDetails
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.refuse import refuse
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.answer.write import write_answer
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.grades import DocumentGrade, Graded, grade_key
from retrieval.engine.steps.judge.grades import grade as grade_documents
from retrieval.engine.steps.judge.rerank import rerank, reranking_is_on
from retrieval.engine.steps.query.condense import condense as condense_question
from retrieval.engine.steps.query.queries import initial_queries
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.steps.retrieve.web import may_search_web
from retrieval.engine.steps.retrieve.web import web_search as search_web
from retrieval.engine.values import Query, ScoredChunk
from retrieval.engine.workflows.base import Workflow, WorkflowState, has_documents
from retrieval.engine.workflows.self_corrective.limits import (
    TOP_K,
    LoopLimits,
    limits_of,
)
from retrieval.engine.workflows.self_corrective.retry import rewrite_to_retry

TIMEOUT_S = 180.0  # a whole answer
LEAST_TIME_LEFT = 1 / 3  # of the whole answer's, for another search to begin
Verdict = Literal["generate", "rewrite", "web_search", "no_answer"]


class State(WorkflowState, total=False):
    tried: tuple[str, ...]  # the queries so far: the question, then its rewrites
    words_are_left: bool  # unless a rewrite found none
    candidates: tuple[
        ScoredChunk, ...
    ]  # the documents of the last search: neighbours joined, each said once
    graded: Graded  # of the last search
    grades: Mapping[str, DocumentGrade]  # of every search
    documents: tuple[ScoredChunk, ...]  # of every search, each once, best first
    web_searched: bool
    verdict: Verdict


async def condense(state: State, runtime: Runtime[Deps]) -> State:
    question = state["question"]
    if has_documents(question):
        question = await condense_question(runtime.context, question)
    return {"question": question, "tried": (question.standalone,)}


def after_condensing(
    state: State, runtime: Runtime[Deps]
) -> Literal["no_answer", "web_search", "retrieve"]:
    question = state["question"]
    if has_documents(question):
        return "retrieve"
    return "web_search" if may_search_web(runtime.context, question) else "no_answer"


async def retrieve(state: State, runtime: Runtime[Deps]) -> State:
    """The current query alone: a rewritten one takes the place of the one before."""
    deps = runtime.context
    question = state["question"]
    rewrites = len(state["tried"]) - 1
    limits = limits_of(deps, question)
    queries = (
        (Query(state["tried"][-1], kind="rewrite"),) if rewrites else initial_queries(question)
    )
    reranks = reranking_is_on(deps, question)
    request = SearchRequest(
        queries=queries,
        scope=question.scope,
        filters=question.filters,
        top_k=breadth(question, deps.settings, default=TOP_K) if reranks else limits.top_k,
    )
    found = await search_documents(deps, request)
    near = similar(
        found,
        limits.min_similarity,
        for_all=question.options.min_similarity is not None,
    )
    if left_out := len(found.candidates) - len(near):
        async with deps.trace.step("order") as entry:
            entry.note(
                "too_far",
                OrderDetails(left_out=left_out, least=limits.min_similarity),
            )
    ranked = await rerank(deps, question, await dedupe(deps, near))
    return {"candidates": ranked[: limits.top_k]}


def similar(found: SearchResult, least: float, *, for_all: bool) -> tuple[ScoredChunk, ...]:
    """The candidates that are near enough by their cosine. for_all: a request says how near, as the seed has it; else
    what words found stays. One without a cosine is no nearer than the last of those that have one; where no vectors
    were searched, there is no reason to leave anything out."""
    cosines = [hit.scores.dense for hit in found.candidates if hit.scores.dense is not None]
    farthest = min(cosines, default=1.0)

    def is_near(hit: ScoredChunk) -> bool:
        dense = hit.scores.dense if hit.scores.dense is not None else farthest
        return dense >= least or (bool(hit.scores.bm25) and not for_all)

    return tuple(filter(is_near, found.candidates))


async def web_search(state: State, runtime: Runtime[Deps]) -> State:
    """Its pages are graded as documents are, and by themselves: what was found before keeps its grades."""
    results = await search_web(runtime.context, state["question"])
    return {"candidates": results.candidates, "web_searched": True}


async def grade(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    question = state["question"]
    graded = await grade_documents(
        deps, question, state["candidates"], known=state.get("grades", {})
    )
    documents = with_graded(state.get("documents", ()), graded)
    weighed: State = {
        "graded": graded,
        "grades": graded.grades,
        "documents": documents,
    }
    verdict = await decide(deps, {**state, **weighed})
    return {**weighed, "verdict": verdict}


async def decide(deps: Deps, state: State) -> Verdict:
    """The seed's rule, with its reason in the decision path."""
    limits = limits_of(deps, state["question"])
    graded = state["graded"]
    passed = passing(state["documents"], state["grades"])
    async with deps.trace.step("assess") as entry:
        if passed and graded.pass_rate >= limits.pass_rate:
            stop = "enough"
        else:
            stop = reason_to_stop(deps, state, limits)
        verdict: Verdict = "rewrite"
        if stop:
            refused = not state["documents"] or (graded.by_model and not passed)
            verdict = "no_answer" if refused else "generate"
            if not passed and web_is_left(deps, state):
                verdict = "web_search"
            elif refused and state["documents"] and limits.force_generate:
                verdict = "generate"
                stop = "forced_to_generate"
        details = AssessDetails(
            pass_rate=round(graded.pass_rate, 3),
            pass_count=len(graded.passed),
            total_count=len(graded.documents),
            pass_threshold=limits.pass_rate,
            passed_in_all=len(passed),
            verdict=verdict,
            stop=Reason(stop).text if stop else "",
        )
        entry.note("pass_rate_stop" if stop else "pass_rate", details)
    return verdict


def reason_to_stop(deps: Deps, state: State, limits: LoopLimits) -> str:
    """Why no other search follows although too few documents passed, as a code; empty: one follows."""
    if state.get("web_searched"):
        return "web_was_last"
    if state["question"].options.rewrite is False:
        return "switched_off"
    if len(state["tried"]) > limits.max_rewrites:
        return "rewrites_used_up"
    if not state.get("words_are_left", True):
        return "no_other_words"
    if deps.deadline.remaining() < TIMEOUT_S * LEAST_TIME_LEFT:
        return "no_time_to_search"
    return ""


def web_is_left(deps: Deps, state: State) -> bool:
    allowed = may_search_web(deps, state["question"]) and not state.get("web_searched")
    return allowed and deps.deadline.remaining() > 0


def after_grading(state: State) -> Verdict:
    return state["verdict"]


async def rewrite(state: State, runtime: Runtime[Deps]) -> State:
    deps = runtime.context
    graded = state["graded"]
    failed: list[tuple[ScoredChunk, str]] = []
    for document in graded.documents:
        grade = graded.grade_of(document)
        if not grade.relevant:
            failed.append((document, grade.reason))
    if queries := await rewrite_to_retry(
        deps, state["question"], tried=state["tried"], failed=failed
    ):
        return {"tried": (*state["tried"], queries[0].text)}
    # It was to be rewritten, and can not be: what follows from that is a decision of its own in the path.
    return {"verdict": await decide(deps, {**state, "words_are_left": False})}


def after_rewriting(
    state: State,
) -> Literal["retrieve", "web_search", "generate", "no_answer"]:
    verdict = state["verdict"]
    return "retrieve" if verdict == "rewrite" else verdict


def with_graded(before: tuple[ScoredChunk, ...], graded: Graded) -> tuple[ScoredChunk, ...]:
    """Every document once, those that passed first, best first; of one that came with other neighbours, the relevant or
    else the longer text."""

    def preference(document: ScoredChunk) -> tuple[bool, int]:
        return graded.grade_of(document).relevant, len(document.chunk.text)

    by_id = {document.chunk_id: document for document in before}
    for document in graded.documents:
        if document.chunk_id not in by_id or preference(document) > preference(
            by_id[document.chunk_id]
        ):
            by_id[document.chunk_id] = document

    def place(document: ScoredChunk) -> float:
        return -(document.scores.rerank or 0.0) if graded.grade_of(document).relevant else 0.0

    return tuple(sorted(by_id.values(), key=place))


def passing(
    documents: tuple[ScoredChunk, ...], grades: Mapping[str, DocumentGrade]
) -> tuple[ScoredChunk, ...]:
    return tuple(document for document in documents if grades[grade_key(document)].relevant)


async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """From the documents that passed, of whichever search, and no others; where none has, from the best."""
    deps = runtime.context
    question = state["question"]
    found = state["documents"]
    passed = passing(found, state["grades"])
    documents = passed or tuple(
        sorted(found, key=lambda document: -(document.scores.rerank or 0.0))
    )
    forced = (
        state["graded"].by_model and not passed
    )  # a model has refused each, and it is written all the same
    way_out: WayOut = "none" if forced or (passed and state["graded"].by_model) else "refuse"
    answer = await write_answer(deps, question, documents, way_out=way_out)
    if not answer.text:
        answer = await refuse(deps, question, documents, reason=answer.reason)
    reason = Reason("documents_passed", {"passed": len(passed), "found": len(found)})
    if forced and answer.decision == "ANSWER":
        reason = Reason("forced_to_generate")
    return {"answer": replace(answer, reason=answer.reason or reason)}


async def no_answer(state: State, runtime: Runtime[Deps]) -> State:
    documents = state.get("documents")
    reason = Reason("none_relevant", {"count": len(documents)}) if documents else None
    return {"answer": await refuse(runtime.context, state["question"], documents, reason=reason)}


def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    for node in (
        condense,
        retrieve,
        web_search,
        grade,
        rewrite,
        generate,
        no_answer,
    ):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "condense")
    graph.add_conditional_edges("condense", after_condensing)
    graph.add_edge("retrieve", "grade")
    graph.add_edge("web_search", "grade")
    graph.add_conditional_edges("grade", after_grading, list(get_args(Verdict)))
    graph.add_conditional_edges("rewrite", after_rewriting)
    for last in ("generate", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="self_corrective")


WORKFLOW = Workflow(graph=build_graph(), timeout_s=lambda settings: TIMEOUT_S)
