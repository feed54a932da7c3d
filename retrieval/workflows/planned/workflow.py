"""Planned RAG (seed 002 §8): plan the search as a graph of tasks, run it, reflect on what it found; then answer.

    START → route ─┬─ small talk ────────► greet ─► END
                   ├─ nothing to search ─► no_answer ─► END
                   ├─► condense ─────┐
                   ├─► plan ─────────┼─► execute ─► reflect ─┬─ good, or nothing left to try ─► generate ─► check ─► END
                   └─► first_search ─┘      ▲                ├─ refused to the last ──────────► no_answer ─► END
                                            └──── mend ◄─────┴─ < 0.8, and a retry is left ◄──── check: not borne out

`plan` gives way where the search with the user's own words is clearly good; a plan by rules serves then, as it does
without a model. `execute` runs independent tasks side by side. `reflect` scores relevance, completeness and factuality;
`mend` adds the tasks that its remedies ask for, at most `max_retries` times, and the best result so far is used. So an
answer takes two model rounds before its first token when the first search is good (reflect; generate), else three with
the plan, and one or two more for each retry. Only a model's word refuses. The answer is
shown from its first borne-out statement on, and judged as a whole if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import worded
from retrieval.errors import IndexUnavailableError
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge.assessment import AnswerAssessment, WrittenAnswer
from retrieval.steps.memory import consolidate_memory, quote_memories, recall_memory
from retrieval.steps.query.condense import Condense
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.web_search import may_search_web
from retrieval.steps.schemas import SEARCHES, TASK_WORDS
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import Trace
from retrieval.values import Answer, Question, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    greet,
    has_documents,
    is_small_talk,
    reranking_is_on,
    say_no_answer,
    search_own_words,
)
from retrieval.workflows.corrective import CorrectiveWorkflow
from retrieval.workflows.planned.answer_check import AnswerCheck
from retrieval.workflows.planned.held_answer import HeldAnswer
from retrieval.workflows.planned.mending import Mending
from retrieval.workflows.planned.plan import Plan, Planner, ToPlan, show
from retrieval.workflows.planned.reflect import Findings, Reflect, Reflection, Remedy
from retrieval.workflows.planned.task_graph import STATES, Records, TaskRecord, run_tasks
from retrieval.workflows.planned.tasks import Finding, PlanTasks, pool

TIMEOUT_S = 180.0  # a whole answer
MAX_CONCURRENCY = 4  # tasks at once
TASK_TIMEOUT_S = 45.0  # one task
CHECK_ANSWER = True  # show the answer once one of its statements is supported; else search again
GAIN = 0.02  # of a reflection's score; a retry that adds less was in vain
TIME_FOR_ANSWERING = 0.4  # share of the time limit that no retry may begin in


class State(Asking, total=False):
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
    in_vain: bool  # the last retry improved nothing
    held: HeldAnswer
    checked: AnswerAssessment


# ------------------------------------------------------------------------------------------------ understanding
async def route(state: State, runtime: Runtime[Context]) -> State:
    question, draft, tools = state["question"], state["draft"], runtime.context.tools
    prepared: State = {"standalone": draft, "filters": question.filters}
    prepared |= {"findings": {}, "tried": frozenset(), "retries": 0}
    if is_small_talk(question) or not has_something_to_search(question, tools):
        return prepared
    return {**prepared, "filters": await Route(runtime.context)(Asked(question, draft))}


def after_routing(
    state: State, runtime: Runtime[Context]
) -> Literal["greet", "no_answer"] | Sequence[Literal["condense", "plan", "first_search"]]:
    if is_small_talk(state["question"]):
        return "greet"
    if not has_something_to_search(state["question"], runtime.context.tools):
        return "no_answer"
    return ["condense", "plan", "first_search"]


async def condense(state: State, runtime: Runtime[Context]) -> State:
    return {"standalone": await Condense(runtime.context)(Asked(state["question"], state["draft"]))}


async def plan(state: State, runtime: Runtime[Context]) -> State:
    """Long-term memory is background for the planner, never a source."""
    tools, question = runtime.context.tools, state["question"]
    asked = Asked(question, state["draft"])
    memories = quote_memories(await recall_memory(runtime.context.deps, asked.condensed))
    made = await Planner(runtime.context)(ToPlan(asked=asked, web=may_search_web(question, tools), memories=memories))
    return {"plan": made, "goals": made.sub_questions}


async def first_search(state: State, runtime: Runtime[Context]) -> State:
    """While the plan is made. When this is clearly good, the planner gives way."""
    if not has_documents(state["question"]):
        runtime.context.run.first_search.finish(good=False)
        return {"first": ()}
    return {"first": (await search_own_words(state, runtime.context, state["filters"])).candidates}


# ------------------------------------------------------------------------------------------------ the plan at work
async def execute(state: State, runtime: Runtime[Context]) -> State:
    """Raises IndexUnavailableError when nothing at all could be looked up: that is not "nothing found"."""
    tools, run = runtime.context.tools, runtime.context.run
    made = state["plan"]
    tasks = PlanTasks(
        context=runtime.context,
        question=state["question"],
        standalone=state["standalone"],
        filters=state["filters"],
        judges=reranking_is_on(state["question"], tools),
        first=state["first"] if state["standalone"] == state["draft"] else (),
    )

    async def watch(record: TaskRecord[Finding], records: Records[Finding]) -> None:
        if record.result is not None:
            record.note = record.result.note
        show(made, [record.as_dict() for record in records.values()])
        text = worded(
            "{id}, {type}: {state}",
            id=record.task.id,
            type=TASK_WORDS.get(record.task.type, record.task.type),
            state=record.note or STATES[record.state],
        )
        await run.trace.sink.tool_called("plan", text, made.entry)

    records = await run_tasks(
        made.tasks,
        tasks.work,
        at_once=MAX_CONCURRENCY,
        limit_s=lambda: run.deadline.limit(TASK_TIMEOUT_S),
        known=state["findings"],
        watch=watch,
    )
    show(made, [record.as_dict() for record in records.values()])
    done = {name: record.result for name, record in records.items() if record.result is not None}
    findings = {**state["findings"], **done}
    errors = [record.error for record in records.values() if record.task.type in SEARCHES]
    away = next((error for error in errors if isinstance(error, IndexUnavailableError)), None)
    if away and not any(finding.candidates for finding in findings.values()):
        raise away
    return {"findings": findings}


async def reflect(state: State, runtime: Runtime[Context]) -> State:
    """On what the last tasks found: after a retry, only what is new in it."""
    tools, before = runtime.context.tools, state.get("reflection")
    own = {task.id for task in state["plan"].tasks}
    findings = [finding for name, finding in state["findings"].items() if finding.candidates and name in own]
    listed = pool([finding.candidates for finding in findings])
    known = before.candidates if before else ()
    passages = await Dedupe(runtime.context)(Hits(listed, known)) if listed else ()
    judged = next((finding.assessment for finding in reversed(findings) if finding.assessment), None)
    evidence = Findings(
        question=state["standalone"],
        parts=state["goals"] if len(state["goals"]) > 1 else (),
        passages=passages,
        judged=judged,
        before=before,
        use_model=reranking_is_on(state["question"], tools),
        semantic=state["question"].scope.semantic,
    )
    reflection = await Reflect(runtime.context)(evidence)
    best = state.get("best")
    in_vain = best is not None and reflection.score <= best.score + GAIN
    best = reflection if best is None or reflection.score >= best.score else best
    return {"reflection": reflection, "best": best, "in_vain": in_vain}


def after_reflection(state: State, runtime: Runtime[Context]) -> Literal["generate", "mend", "no_answer"]:
    """The seed's table: pass, else mend while a retry and time are left, else the best result so far. A medium result
    that tuning did not improve is used for the answer."""
    outcome = state["reflection"].outcome
    is_settled = outcome == "pass" or (outcome == "tune" and state["in_vain"])
    if not is_settled and may_retry(state, runtime.context) and _mending(state, runtime.context).remedies:
        return "mend"
    best = state["best"]
    return "no_answer" if best.refused or not best.candidates else "generate"


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
        answer = await write_answer(
            runtime.context, Asked(state["question"], state["standalone"]), state["best"].candidates
        )
    return {"answer": replace(answer, reason=(answer.reason or state["best"].reason)), "held": held}


async def check(state: State, runtime: Runtime[Context]) -> State:
    """An answer that is being read is only counted; one that was held back is judged, and released unless it fails."""
    held, answer = state["held"], state["answer"]
    written = WrittenAnswer(answer=answer, question=state["standalone"], released=held.released)
    checked = await AnswerCheck(runtime.context)(written)
    if not checked.accepted and not held.released:
        if may_retry(state, runtime.context) and _mending({**state, "checked": checked}, runtime.context).remedies:
            return {"checked": checked}
        if checked.baseless:
            candidates, reason = state["best"].candidates, checked.reason
            refusal = await say_no_answer(runtime.context, state["standalone"], candidates, reason=reason)
            return {"checked": checked, "answer": refusal}
    await held.release()
    asked = Asked(state["question"], state["standalone"])
    await consolidate_memory(runtime.context.deps, asked.condensed, answer)
    return {"checked": checked, "answer": answer}


def after_check(state: State, runtime: Runtime[Context]) -> Literal["mend", "__end__"]:
    unseen = not state["held"].released and bool(state["answer"].model)  # what the site itself says has been sent
    return "mend" if unseen else "__end__"


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    best = state.get("best")
    candidates, reason = (best.candidates, best.reason) if best else (None, "")
    return {"answer": await say_no_answer(runtime.context, state["standalone"], candidates, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    nodes = (
        route, greet, condense, plan, first_search, execute, reflect, mend, generate, check, no_answer,
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
    for last in ("greet", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="planned")


class PlannedWorkflow(GraphWorkflow):
    """Plans the search, and reflects on what it found."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=20,
        notes="reflect and generate when the search with the user's own words is clearly good; three with a plan of "
        "searches that do not wait for each other. A task that waits for another may add one (eight tasks at "
        "most), a retry (two at most) a reflection and a rewording, and an answer that was held back its check. A "
        "greeting takes one.",
    )

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """As `GraphWorkflow.answer`; by the corrective workflow where planning is switched off."""
        if self.tools.settings.planned.enabled:
            return await super().answer(question, trace=trace)
        async with trace.step("plan") as step:
            step.skip(worded("planning is switched off: answered by the corrective workflow"))
        return await CorrectiveWorkflow(self.tools).answer(question, trace=trace)


# ------------------------------------------------------------------------------------------------ small decisions
def has_something_to_search(question: Question, tools: Toolbox) -> bool:
    return has_documents(question) or may_search_web(question, tools)


def may_retry(state: State, context: Context) -> bool:
    time_left = context.run.deadline.remaining() > TIME_FOR_ANSWERING * TIMEOUT_S
    return state["retries"] < context.tools.settings.planned.max_retries and time_left


def _mending(state: State, context: Context) -> Mending:
    checked = state.get("checked")
    return Mending(
        standalone=state["standalone"],
        reflection=state["reflection"],
        # The reflection passed but the answer failed: the passages look better than they are.
        extra=("unclear", "incomplete") if checked and not checked.accepted else (),
        known=tuple(name for name, finding in state["findings"].items() if finding.candidates),
        tried=state["tried"],
        retry=state["retries"] + 1,
        web=may_search_web(state["question"], context.tools),
        judged=any(finding.assessment for finding in state["findings"].values()),
    )
