"""Self-corrective RAG (seed 000): grade every document by itself, and search in other words while too few pass.

    START → condense ─┬─ small talk ───────────► greet ─────► END
                      ├─ nothing to search in ─► no_answer ─► END
                      └─► retrieve ─► grade ─┬─ passRate ≥ threshold, or rewrites used up ─► generate ──► END
                             ▲               ├─ the same, and nothing has passed ──────────► no_answer ► END
                             │               ├─ several readings, and no model ────────────► clarify ──► END
                             │               └─ passRate < threshold ─► rewrite ─┬─ no other words ► as above
                             └───────────────────────────────────────────────────┘

The grader judges each document against the question as it was asked, whatever was searched for, so a grade stands for
the whole answer; what has passed in any round is what the answer is written from. Searching on stops early when the
words run out, and when something has passed but searches in a row bring nothing new that passes.

Filters that the question names hold until it is searched for the last time. Without a model, the trained grader grades,
and its estimate for all documents says whether there is an answer, as in every other workflow; in the end the best ones
give it although none has passed. A question with several readings is answered for each, and asked back where no model
can write that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.answerability.grading import LIST_LENGTH
from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import Generate
from retrieval.steps.answer.no_answer import no_answer_text
from retrieval.steps.judge.grade import DocumentGrade, Grade, Graded, grade_key
from retrieval.steps.judge.judge import Assessment
from retrieval.steps.query.condense import Condense, condense_without_model
from retrieval.steps.query.retry_rewrite import QueryRewrite, RetryRewrite
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe
from retrieval.steps.retrieve.retrieve import Retrieve
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language, answer_language
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Context,
    Rounds,
    ask_back,
    has_documents,
    is_small_talk,
    is_worth_a_try,
    readings_to_ask_about,
    reranking_is_on,
    run_graph,
    say,
    small_talk_answer,
    was_offered,
)

TOP_K = 5  # documents that a search gives the grader
# cosine below which a document that only the vectors found is left out; not used with the lexical embedder
MIN_SIMILARITY = 0.3
# searches in a row that bring nothing new that passes, after which it answers from what has passed
REWRITES_LIMIT = 5  # the most that a request may ask for
STAGNANT_REWRITES = 2
TIMEOUT_S = 180.0  # a whole answer

LEAST_TIME_LEFT = 1 / 3  # of the whole answer's, for another search to begin

Verdict = Literal["generate", "rewrite", "clarify", "no_answer"]


class State(TypedDict, total=False):
    question: Question  # the user's words: never rewritten, this is what is answered
    language: Language
    standalone: str  # self-contained: what every document is graded against
    filters: SearchFilters  # the request's, and those that the question names
    history: tuple[QueryRewrite, ...]
    words_are_left: bool  # unless a rewrite found none
    listed: tuple[ScoredChunk, ...]  # the chunks of the last search, as found
    found: tuple[ScoredChunk, ...]  # the documents made of the first: neighbours joined, each said once
    graded: Graded  # of the last search
    grades: Mapping[str, DocumentGrade]  # of every search
    documents: tuple[ScoredChunk, ...]  # of every search, each once, best first
    holds_answer: float  # the trained grader's best estimate of a search's documents; 0 where it was not asked
    readings: tuple[ScoredChunk, ...]  # one for each document to ask back about
    stagnant: int  # searches in a row that brought nothing new that passes
    verdict: Verdict
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The seed's four numbers, of the request or of the settings."""

    top_k: int
    min_similarity: float
    pass_rate: float
    max_rewrites: int

    @classmethod
    def of(cls, question: Question, tools: Toolbox) -> Limits:
        asked, numbers = question.options, tools.settings.self_corrective
        return cls(
            top_k=asked.top_k or TOP_K,
            min_similarity=MIN_SIMILARITY if asked.min_similarity is None else asked.min_similarity,
            pass_rate=numbers.pass_rate if asked.pass_rate is None else asked.pass_rate,
            max_rewrites=numbers.max_rewrites if asked.max_rewrites is None else asked.max_rewrites,
        )


# ------------------------------------------------------------------------------------------------ retrieval
async def condense(state: State, runtime: Runtime[Context]) -> State:
    question, tools, run = state["question"], runtime.context.tools, runtime.context.run
    draft = await asyncio.to_thread(condense_without_model, question)
    language = answer_language(draft if question.open_clarification else question.text)
    if is_small_talk(question) or not has_documents(question):
        return {"language": language, "standalone": draft}
    standalone = await Condense(tools).condense(question, draft, run=run, language=language)
    filters = await Route(tools).route(question, standalone, run=run)
    return {"language": language, "standalone": standalone, "filters": filters}


def after_condensing(state: State) -> Literal["greet", "no_answer", "retrieve"]:
    if is_small_talk(state["question"]):
        return "greet"
    return "retrieve" if has_documents(state["question"]) else "no_answer"


async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """The current query alone: a rewritten one takes the place of the one before. More is looked for than is graded: a
    list of ten is what the trained grader knows."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    limits, history = Limits.of(question, tools), state.get("history", ())
    query = Query(history[-1].rewritten, kind="rewrite") if history else Query(state["standalone"])
    last = bool(history) and len(history) >= limits.max_rewrites
    request = SearchRequest(
        queries=(query,),
        scope=question.scope,
        filters=question.filters if last else state["filters"],
        top_k=min(max(TOP_K, LIST_LENGTH), tools.settings.search.max_top_k),
    )
    result = await Retrieve(tools).retrieve(request, run=run, purpose=f"attempt {len(history)}: " if history else "")
    near = result.candidates
    if question.scope.semantic:
        near = tuple(one for one in near if is_similar(one, MIN_SIMILARITY))
    found = await Dedupe(tools).dedupe(near[:TOP_K], run=run)
    return {"listed": near, "found": found}


async def grade(state: State, runtime: Runtime[Context]) -> State:
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    graded = await Grade(tools).grade(
        state["standalone"],
        state["found"],
        run=run,
        language=state["language"],
        known=state.get("grades"),
        use_model=reranking_is_on(question, tools),
        beyond=state["listed"][Limits.of(question, tools).top_k :],
        listed=state["listed"],
        semantic=question.scope.semantic,
    )
    before = state.get("documents", ())
    documents = joined(before, graded.documents, graded.grades)
    gained = len(passing(documents, graded.grades)) > len(passing(before, graded.grades))
    weighed: State = {
        "graded": graded,
        "grades": graded.grades,
        "documents": documents,
        "holds_answer": max(graded.holds_answer, state.get("holds_answer", 0.0)),
        "stagnant": 0 if gained else state.get("stagnant", 0) + 1,
    }
    readings = await readings_to_ask_about(
        assessed({**state, **weighed}), state["standalone"], state["filters"], question=question,
        context=runtime.context,
    )  # fmt: skip
    verdict = await decide({**state, **weighed, "readings": readings}, tools=tools, run=run)
    return {**weighed, "readings": readings, "verdict": verdict}


async def decide(state: State, *, tools: Toolbox, run: Run) -> Verdict:
    """The seed's rule, with its reason in the decision path."""
    limits, graded = Limits.of(state["question"], tools), state["graded"]
    passed = passing(state["documents"], state["grades"])
    async with run.trace.step("assess") as step:
        verdict: Verdict = last_resort(state, tools)
        enough = verdict == "generate" and graded.pass_rate >= limits.pass_rate
        stop = "" if enough else reason_to_stop(state, tools, run)
        share = f"pass rate {graded.pass_rate:.2f}, {limits.pass_rate:.2f} wanted"
        if not graded.by_model:
            share += f", and without a model {assessed(state).reason}"
        verdict = verdict if enough or stop else "rewrite"
        if state["readings"]:
            verdict, stop = "clarify", "it may be about several documents"
        step.summary = f"{share}: {verdict.replace('_', ' ')}" + (f" ({stop})" if stop else "")
        step.detail |= {
            "pass_rate": round(graded.pass_rate, 3),
            "pass_count": len(graded.passed),
            "total_count": len(graded.documents),
            "pass_threshold": limits.pass_rate,
            "passed_in_all": len(passed),
            "holds_answer": round(state["holds_answer"], 3),
            "verdict": verdict,
            "stop": stop,
        }
    return verdict


def reason_to_stop(state: State, tools: Toolbox, run: Run) -> str:
    """Why no other search follows although too few documents passed; empty: one follows."""
    question = state["question"]
    rewrites, limits = len(state.get("history", ())), Limits.of(question, tools)
    if question.options.rewrite is False:
        return "rewriting is switched off"
    if rewrites >= limits.max_rewrites:
        return f"{rewrites} of {limits.max_rewrites} rewrites are used up"
    if not state.get("words_are_left", True):
        return "no other words are left to try"
    if run.deadline.remaining() < TIMEOUT_S * LEAST_TIME_LEFT:
        return "too little time is left to search again"
    if passing(state["documents"], state["grades"]) and state["stagnant"] >= STAGNANT_REWRITES:
        return f"{state['stagnant']} searches in a row brought nothing new that passes"
    return ""


def after_grading(state: State) -> Verdict:
    return state["verdict"]


async def rewrite(state: State, runtime: Runtime[Context]) -> State:
    history, graded = state.get("history", ()), state["graded"]
    failed = [(one, graded.of(one)) for one in graded.documents if not graded.of(one).relevant]
    made = await RetryRewrite(runtime.context.tools).rewrite(
        state["standalone"], history, failed, run=runtime.context.run, language=state["language"]
    )
    if made:
        return {"history": (*history, made)}
    verdict, own = last_resort(state, runtime.context.tools), state["question"].filters
    if verdict == "no_answer" and state["filters"] != own:
        # Those that were read from the question may have been the mistake.
        return {"filters": own, "words_are_left": False}
    return {"verdict": verdict}


def after_rewriting(state: State) -> Literal["retrieve", "generate", "no_answer"]:
    verdict = state["verdict"]
    return verdict if verdict in ("generate", "no_answer") else "retrieve"


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    """From the documents that passed, of whichever search, and no others; where none has, from the best."""
    graded = state["graded"]
    answer = await Generate(runtime.context.tools).generate(
        state["question"],
        state["standalone"],
        passing(state["documents"], state["grades"]) or best_first(state["documents"]),
        run=runtime.context.run,
        language=state["language"],
    )
    reason = f"{len(graded.passed)} of {len(graded.documents)} documents passed"
    return {"answer": replace(answer, reason=answer.reason or reason)}


async def greet(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await small_talk_answer(state["question"], runtime.context, state["language"])}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(assessed(state), state["readings"], runtime.context, state["language"])}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    run = runtime.context.run
    if "documents" not in state:
        async with run.trace.step("retrieve") as step:
            step.skip("there are no documents to search in")
        text = await say(no_answer_text(None, state["language"]), run)
        return {"answer": Answer(decision="NO_ANSWER", text=text, reason="there are no documents to search in")}
    count = len(state["documents"])
    reason = f"none of {count} documents is relevant" if count else "nothing was found"
    nearest = Assessment(verdict="NO_ANSWER", candidates=state["documents"], reason=reason)
    text = await say(no_answer_text(nearest, state["language"]), run)
    return {"answer": Answer(decision="NO_ANSWER", text=text, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    for node in (condense, retrieve, grade, rewrite, generate, greet, clarify, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "condense")
    graph.add_conditional_edges("condense", after_condensing)
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grading, ["generate", "rewrite", "clarify", "no_answer"])
    graph.add_conditional_edges("rewrite", after_rewriting)
    for last in ("generate", "greet", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="self_corrective")


class SelfCorrectiveWorkflow:
    """`graph` feeds the picture on the page, `rounds` the table in docs/workflows.md."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=9,
        notes="grade and generate when enough documents pass at once; a follow-up is condensed first (+1), and each of "
        "at most 3 rewrites adds two: rewrite and grade. All documents are graded side by side: one round.",
    )

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """Raises IndexUnavailableError when nothing can be searched, UnavailableError when the time limit is passed, or
        when there is no model and the site may not answer without one (RAG_OFFLINE=0).

        """
        return await run_graph(self.graph, question, tools=self._tools, trace=trace, timeout_s=TIMEOUT_S)


# ------------------------------------------------------------------------------------------------ small decisions
def is_similar(one: ScoredChunk, least: float) -> bool:
    """Words found it, or it is near enough; without a dense score there is nothing to hold against it."""
    return bool(one.scores.bm25) or one.scores.dense is None or one.scores.dense >= least


def joined(
    before: tuple[ScoredChunk, ...], found: tuple[ScoredChunk, ...], grades: Mapping[str, DocumentGrade]
) -> tuple[ScoredChunk, ...]:
    """Every document once, those that passed first, best first; of one that came with other neighbours, the relevant or
    else the longer text."""

    def worth(one: ScoredChunk) -> tuple[bool, int]:
        return grades[grade_key(one)].relevant, len(one.chunk.text)

    kept = {one.chunk_id: one for one in before}
    for one in found:
        if one.chunk_id not in kept or worth(one) > worth(kept[one.chunk_id]):
            kept[one.chunk_id] = one

    def place(one: ScoredChunk) -> float:
        return -(one.scores.rerank or 0.0) if grades[grade_key(one)].relevant else 0.0

    return tuple(sorted(kept.values(), key=place))


def passing(documents: tuple[ScoredChunk, ...], grades: Mapping[str, DocumentGrade]) -> tuple[ScoredChunk, ...]:
    return tuple(one for one in documents if grades[grade_key(one)].relevant)


def best_first(documents: tuple[ScoredChunk, ...]) -> tuple[ScoredChunk, ...]:
    return tuple(sorted(documents, key=lambda one: -(one.scores.rerank or 0.0)))


def assessed(state: State) -> Assessment:
    """All that was found, for the decisions that the workflows share."""
    documents, holds_answer = best_first(state["documents"]), state["holds_answer"]
    reason = f"P(the documents hold the answer) = {holds_answer:.2f}"
    return Assessment(
        verdict="REFINE", candidates=documents, reason=reason, holds_answer=holds_answer, worth=holds_answer
    )


def last_resort(state: State, tools: Toolbox) -> Literal["generate", "no_answer"]:
    """With no other search to come. What a model graded is answered from if anything has passed. Without one, the
    estimate for all documents decides: a single one that looks well among poor ones is no answer, and one of several
    that share the question's words seldom passes by itself."""
    if state["graded"].by_model:
        return "generate" if passing(state["documents"], state["grades"]) else "no_answer"
    found = assessed(state)
    worth_a_try = is_worth_a_try(found, tools.settings.corrective) or was_offered(state["question"], found)
    return "generate" if worth_a_try else "no_answer"
