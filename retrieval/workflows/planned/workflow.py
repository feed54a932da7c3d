"""Planned RAG (seed 002 §8): plan the search as a graph of tasks, run it, reflect on what it found; then answer.

    START → route ─┬─ small talk ────────► greet ─► END
                   ├─ nothing to search ─► no_answer ─► END
                   ├─► condense ─────┐
                   ├─► plan ─────────┼─► execute ─► reflect ─┬─ good, or nothing left to try ─► generate ─► check ─► END
                   └─► first_search ─┘      ▲                ├─ several readings ─────────────► clarify ─► END
                                            │                ├─ weak to the last ─────────────► no_answer ─► END
                                            └──── mend ◄─────┴─ < 0.8, and a retry is left ◄──── check: not borne out

`plan` gives way where the search with the user's own words is clearly good; a plan by rules serves then, as it does
without a model. `execute` runs independent tasks side by side. `reflect` scores relevance, completeness and factuality;
`mend` adds the tasks that its remedies ask for, at most `max_retries` times, and the best result so far is used. So an
answer takes three model rounds before its first token (plan; reflect; generate), two when the first search is good, and
one or two more for each retry. The answer is shown from its first borne-out statement on, and judged as a whole if
there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.answerability.grading import LIST_LENGTH, grade_passages
from retrieval.errors import IndexUnavailableError
from retrieval.ports import SearchRequest
from retrieval.steps.answer.clarify import open_readings
from retrieval.steps.answer.generate import Generate
from retrieval.steps.answer.no_answer import no_answer_text
from retrieval.steps.judge.judge import Assessment
from retrieval.steps.memory import ConsolidateMemory, RecallMemory, quote_memories
from retrieval.steps.query.condense import Condense, condense_without_model, takes_up
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe
from retrieval.steps.retrieve.retrieve import Retrieve
from retrieval.steps.retrieve.web_search import may_search_web
from retrieval.steps.toolbox import Toolbox
from retrieval.text.answer_language import Language, answer_language
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows import base
from retrieval.workflows.base import (
    Context,
    Rounds,
    ask_back,
    has_documents,
    is_small_talk,
    is_worth_a_try,
    reranking_is_on,
    run_graph,
    say,
    small_talk_answer,
    was_offered,
)
from retrieval.workflows.corrective import CorrectiveWorkflow
from retrieval.workflows.planned.answer_check import AnswerCheck, CheckedAnswer
from retrieval.workflows.planned.held_answer import HeldAnswer
from retrieval.workflows.planned.mending import Mending
from retrieval.workflows.planned.plan import SEARCHES, Plan, Planner, show
from retrieval.workflows.planned.reflect import Reflect, Reflection, Remedy
from retrieval.workflows.planned.task_graph import TaskRecord, run_tasks
from retrieval.workflows.planned.tasks import Finding, PlanTasks, pool

TIMEOUT_S = 180.0  # a whole answer
MAX_CONCURRENCY = 4  # tasks at once
TASK_TIMEOUT_S = 45.0  # one task
CHECK_ANSWER = True  # show the answer once a statement of it is borne out; else search again

GAIN = 0.02  # of a reflection's score; a retry that adds less was in vain
TIME_FOR_ANSWERING = 0.4  # share of the time limit that no retry may begin in


class State(TypedDict, total=False):
    question: Question  # the user's words: this is what is answered
    language: Language
    draft: str  # made self-contained without a model
    standalone: str  # made self-contained by the model, or the draft
    filters: SearchFilters
    first: tuple[ScoredChunk, ...]  # found with the user's own words
    plan: Plan  # the first one, or the last mending of it
    goals: tuple[str, ...]  # what the first plan searched for
    findings: dict[str, Finding]  # short-term memory: what each task of this answer came to
    tried: frozenset[Remedy]
    retries: int
    reflection: Reflection
    best: Reflection
    in_vain: bool  # the last retry bettered nothing
    readings: tuple[ScoredChunk, ...]  # one for each document that the question may be about, where that is open
    held: HeldAnswer
    checked: CheckedAnswer
    answer: Answer


# ------------------------------------------------------------------------------------------------ understanding
async def route(state: State, runtime: Runtime[Context]) -> State:
    question, tools, run = state["question"], runtime.context.tools, runtime.context.run
    draft = await asyncio.to_thread(condense_without_model, question)
    language = answer_language(draft if question.open_clarification else question.text)
    prepared: State = {"language": language, "draft": draft, "standalone": draft, "filters": question.filters}
    prepared |= {"findings": {}, "tried": frozenset(), "retries": 0}
    if is_small_talk(question) or not has_something_to_search(question, tools):
        return prepared
    return {**prepared, "filters": await Route(tools).route(question, draft, run=run)}


def after_routing(
    state: State, runtime: Runtime[Context]
) -> Literal["greet", "no_answer"] | Sequence[Literal["condense", "plan", "first_search"]]:
    if is_small_talk(state["question"]):
        return "greet"
    if not has_something_to_search(state["question"], runtime.context.tools):
        return "no_answer"
    return ["condense", "plan", "first_search"]


async def condense(state: State, runtime: Runtime[Context]) -> State:
    step = Condense(runtime.context.tools)
    standalone = await step.condense(
        state["question"], state["draft"], run=runtime.context.run, language=state["language"]
    )
    return {"standalone": standalone}


async def plan(state: State, runtime: Runtime[Context]) -> State:
    """Long-term memory is background for the planner, never a source."""
    tools, run, question = runtime.context.tools, runtime.context.run, state["question"]
    facts = await RecallMemory(tools).recall(question, state["draft"], run=run)
    made = await Planner(tools).plan(
        question,
        state["draft"],
        run=run,
        language=state["language"],
        web=may_search_web(question, tools),
        memories=quote_memories(facts),
    )
    return {"plan": made, "goals": made.sub_questions}


async def first_search(state: State, runtime: Runtime[Context]) -> State:
    """The user's own words, while the plan is made. When this is clearly good, the planner gives way."""
    tools, run = runtime.context.tools, runtime.context.run
    good = False
    try:
        if not has_documents(state["question"]):
            return {"first": ()}
        found = await Retrieve(tools).retrieve(_own_words(state, tools), run=run, purpose="own words: ")
        shown, semantic = found.candidates[:LIST_LENGTH], state["question"].scope.semantic
        grading = await asyncio.to_thread(grade_passages, state["draft"], shown, semantic=semantic)
        good = grading.holds_answer >= base.CLEAR_SCORE
        return {"first": found.candidates}
    finally:
        run.first_search.finish(good=good)


# ------------------------------------------------------------------------------------------------ the plan at work
async def execute(state: State, runtime: Runtime[Context]) -> State:
    """Raises IndexUnavailableError when nothing at all could be looked up: that is not "nothing found"."""
    tools, run = runtime.context.tools, runtime.context.run
    made = state["plan"]
    tasks = PlanTasks(
        tools=tools,
        question=state["question"],
        standalone=state["standalone"],
        filters=state["filters"],
        language=state["language"],
        run=run,
        judges=reranking_is_on(state["question"], tools),
        first=state["first"] if state["standalone"] == state["draft"] else (),
    )
    records: dict[str, TaskRecord[Finding]] = {}

    async def watch(record: TaskRecord[Finding]) -> None:
        if record.result is not None:
            record.note = record.result.note
        show(made, [one.as_dict() for one in records.values()])
        text = f"{record.task.id}, {record.task.type.replace('_', ' ')}: {record.note or record.state}"
        await run.trace.sink.tool_called("plan", text, made.entry)

    await run_tasks(
        made.tasks,
        tasks.work,
        at_once=MAX_CONCURRENCY,
        limit_s=lambda: run.deadline.limit(TASK_TIMEOUT_S),
        known=state["findings"],
        records=records,
        watch=watch,
    )
    show(made, [one.as_dict() for one in records.values()])
    found = {name: record.result for name, record in records.items() if record.result is not None}
    findings = {**state["findings"], **found}
    searched = [record for record in records.values() if record.task.type in SEARCHES]
    away = next((one.error for one in searched if isinstance(one.error, IndexUnavailableError)), None)
    if away and not any(finding.candidates for finding in findings.values()):
        raise away
    return {"findings": findings}


async def reflect(state: State, runtime: Runtime[Context]) -> State:
    tools, run = runtime.context.tools, runtime.context.run
    findings = [finding for finding in state["findings"].values() if finding.candidates]
    found = pool([finding.candidates for finding in findings])
    passages = await Dedupe(tools).dedupe(found, run=run) if found else ()
    judged = next((finding.assessment for finding in reversed(findings) if finding.assessment), None)
    reflection = await Reflect(tools).reflect(
        state["standalone"],
        state["goals"] if len(state["goals"]) > 1 else (),
        passages,
        run=run,
        language=state["language"],
        judged=judged,
        before=state.get("reflection"),
        use_model=reranking_is_on(state["question"], tools),
        listed=found,
        semantic=state["question"].scope.semantic,
    )
    best = state.get("best")
    in_vain = best is not None and reflection.score <= best.score + GAIN
    best = reflection if best is None or reflection.score >= best.score else best
    readings: tuple[ScoredChunk, ...] = ()
    worth_asking = best.assessment().worth >= tools.settings.corrective.weak_score
    if worth_asking and not takes_up(state["standalone"], state["question"].open_clarification):
        readings = await asyncio.to_thread(open_readings, best.assessment(), state["standalone"], state["filters"])
    return {"reflection": reflection, "best": best, "readings": readings, "in_vain": in_vain}


def after_reflection(state: State, runtime: Runtime[Context]) -> Literal["generate", "mend", "clarify", "no_answer"]:
    """The seed's table: pass, else mend while a retry and time are left, else the best result so far. A middling result
    that tuning did not better is answered from."""
    outcome = state["reflection"].outcome
    is_settled = outcome == "pass" or (outcome == "tune" and state["in_vain"])
    if not is_settled and may_retry(state, runtime.context) and _mending(state, runtime.context).helps:
        return "mend"
    if state["readings"]:
        return "clarify"
    best, numbers = state["best"].assessment(), runtime.context.tools.settings.corrective
    worth_a_try = is_worth_a_try(best, numbers) or was_offered(state["question"], best)
    return "generate" if state["best"].outcome == "pass" or worth_a_try else "no_answer"


async def mend(state: State, runtime: Runtime[Context]) -> State:
    """New tasks for what is wrong; they may build on what is there."""
    mending = _mending(state, runtime.context)
    made = await mending.mend(state["plan"], run=runtime.context.run)
    return {"plan": made, "tried": state["tried"] | set(mending.remedies), "retries": state["retries"] + 1}


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    tools, run = runtime.context.tools, runtime.context.run
    least = tools.settings.verify.supported_score if CHECK_ANSWER else 0.0
    held = HeldAnswer(run.trace, question=state["standalone"], least=least)
    async with held:
        answer = await Generate(tools).generate(
            state["question"], state["standalone"], state["best"].passages, run=run, language=state["language"]
        )
    return {"answer": answer, "held": held}


async def check(state: State, runtime: Runtime[Context]) -> State:
    """An answer that is being read is only counted; one that was held back is judged, and let go unless it fails."""
    tools, run = runtime.context.tools, runtime.context.run
    held, answer = state["held"], state["answer"]
    checked = await AnswerCheck(tools).check(
        answer, state["standalone"], shown=held.released, run=run, language=state["language"]
    )
    if checked.failed and not held.released:
        if may_retry(state, runtime.context) and _mending({**state, "checked": checked}, runtime.context).helps:
            return {"checked": checked}
        if checked.is_baseless:
            text = await say(no_answer_text(state["best"].assessment(), state["language"]), run)
            return {"checked": checked, "answer": Answer(decision="NO_ANSWER", text=text, reason=checked.reason)}
    await held.release()
    await ConsolidateMemory(tools).consolidate(state["question"], state["standalone"], answer, run=run)
    return {"checked": checked, "answer": answer}


def after_check(state: State, runtime: Runtime[Context]) -> Literal["mend", "__end__"]:
    unseen = not state["held"].released and state["answer"].decision == "ANSWER"
    return "mend" if unseen else "__end__"


async def greet(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await small_talk_answer(state["question"], runtime.context, state["language"])}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    best = state["best"].assessment()
    return {"answer": await ask_back(best, state["readings"], runtime.context, state["language"])}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    run, assessment = runtime.context.run, _best_assessment(state)
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
        route, greet, condense, plan, first_search, execute, reflect, mend, generate, check, clarify, no_answer,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "route")
    graph.add_conditional_edges("route", after_routing, ["greet", "no_answer", "condense", "plan", "first_search"])
    graph.add_edge(["condense", "plan", "first_search"], "execute")
    graph.add_edge("execute", "reflect")
    graph.add_conditional_edges("reflect", after_reflection)
    graph.add_edge("mend", "execute")
    graph.add_edge("generate", "check")
    graph.add_conditional_edges("check", after_check)
    for last in ("greet", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="planned")


class PlannedWorkflow:
    """`graph` feeds the picture on the page, `rounds` the table in docs/workflows.md."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=20,
        notes="reflect and generate when the search with the user's own words is clearly good; three with a plan of "
        "searches that do not wait for each other. A task that waits for another may add one (eight tasks at most), a "
        "retry (two at most) a reflection and a rewording, and an answer that was held back its check. A greeting "
        "takes one.",
    )

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """Raises IndexUnavailableError when nothing can be searched, UnavailableError when the time limit is passed, or
        when there is no model and the site may not answer without one (RAG_OFFLINE=0)."""
        numbers = self._tools.settings.planned
        if not numbers.enabled:
            async with trace.step("plan") as step:
                step.skip("planning is switched off: answered by the corrective workflow")
            return await CorrectiveWorkflow(self._tools).answer(question, trace=trace)
        return await run_graph(self.graph, question, tools=self._tools, trace=trace, timeout_s=TIMEOUT_S)


# ------------------------------------------------------------------------------------------------ small decisions
def has_something_to_search(question: Question, tools: Toolbox) -> bool:
    return has_documents(question) or may_search_web(question, tools)


def may_retry(state: State, context: Context) -> bool:
    numbers = context.tools.settings.planned
    time_left = context.run.deadline.remaining() > TIME_FOR_ANSWERING * TIMEOUT_S
    return state["retries"] < numbers.max_retries and time_left


def _mending(state: State, context: Context) -> Mending:
    checked = state.get("checked")
    return Mending(
        standalone=state["standalone"],
        reflection=state["reflection"],
        # A passed reflection whose answer failed: the passages promise more than they hold.
        extra=("unclear", "incomplete") if checked and checked.failed else (),
        known=tuple(name for name, finding in state["findings"].items() if finding.candidates),
        tried=state["tried"],
        retry=state["retries"] + 1,
        web=may_search_web(state["question"], context.tools),
        judged=any(finding.assessment for finding in state["findings"].values()),
    )


def _own_words(state: State, tools: Toolbox) -> SearchRequest:
    settings = tools.settings
    wanted = state["question"].options.top_k or settings.corrective.context_passages
    return SearchRequest(
        queries=(Query(state["draft"]),), scope=state["question"].scope, filters=state["filters"],
        top_k=min(max(wanted, settings.rerank.max_candidates), settings.search.max_top_k),
    )  # fmt: skip


def _best_assessment(state: State) -> Assessment | None:
    best = state.get("best")
    return best.assessment() if best else None
