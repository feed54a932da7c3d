"""The nodes of `planned`, and how they follow one another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import PlanDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.refuse import refuse
from retrieval.engine.steps.answer.second_answer import (
    with_another,
    write_from_more,
)
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.answer.write import write_answer
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.grounding.second_look import second_look
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.judge.scores import judging_is_on
from retrieval.engine.steps.memory import (
    consolidate_memory,
    quote_memories,
    recall_memory,
)
from retrieval.engine.steps.query.condense import condense
from retrieval.engine.steps.retrieve.web import may_search_web
from retrieval.engine.values import Answer, Question
from retrieval.engine.workflows.base import Workflow, WorkflowState, has_documents
from retrieval.engine.workflows.planned.plan import (
    Plan,
    Task,
    make_plan,
    noted_plan,
)
from retrieval.engine.workflows.planned.reflection import (
    Problem,
    Reflection,
    Remedy,
    reflect,
)
from retrieval.engine.workflows.planned.runner import (
    Findings,
    PlanRunner,
    pool,
    standing_candidates,
)

GAIN = 0.02  # of a reflection's score; a retry that adds less was in vain
TIME_FOR_ANSWERING = 0.4  # share of the time limit that no retry may begin in


class State(WorkflowState, total=False):
    plan: Plan  # the first one, or the last mending of it
    goals: tuple[str, ...]  # what the first plan searched for
    findings: Findings  # short-term memory: what each task of this answer came to
    tried: tuple[Remedy, ...]
    reflection: Reflection
    best: Reflection
    in_vain: bool  # the last retry improved nothing
    refused: Reason | None  # why the writing model did not answer from the best result
    unconfirmed: Answer  # what has been written and read, which the second look does not confirm


# ------------------------------------------------------------------------------------------------ planning
def where_to_begin(state: State, runtime: Runtime[Deps]) -> Literal["no_answer", "plan"]:
    question = state["question"]
    return (
        "plan"
        if has_documents(question) or may_search_web(runtime.context, question)
        else "no_answer"
    )


async def plan(state: State, runtime: Runtime[Deps]) -> State:
    """Long-term memory is background for the planner, never a source."""
    deps = runtime.context
    question = state["question"]
    begun: State = {"findings": {}, "tried": (), "in_vain": False, "refused": None}
    memories, condensed = await asyncio.gather(
        recall_memory(deps, question), condense(deps, question)
    )
    web = may_search_web(deps, question)
    made = await make_plan(deps, condensed, web=web, memories=quote_memories(memories))
    return {**begun, "question": condensed, "plan": made, "goals": made.goals}


async def execute(state: State, runtime: Runtime[Deps]) -> State:
    runner = PlanRunner(runtime.context, state["question"], state["plan"], state["findings"])
    return {"findings": await runner.run()}


# ------------------------------------------------------------------------------------------------ reflection
async def reflect_on_findings(state: State, runtime: Runtime[Deps]) -> State:
    """On all that was found; the latest findings come first where they are equal."""
    deps = runtime.context
    question = state["question"]
    lists = standing_candidates(state["findings"])
    passages = await rerank(deps, question, await dedupe(deps, pool(lists))) if lists else ()
    parts = state["goals"] if len(state["goals"]) > 1 else ()
    reflection = await reflect(deps, question, passages, parts=parts)
    best = state.get("best")
    in_vain = best is not None and reflection.score <= best.score + GAIN
    best = reflection if best is None or reflection.score >= best.score else best
    return {
        "reflection": reflection,
        "best": best,
        "in_vain": in_vain,
        "refused": None,
    }


def after_reflection(
    state: State, runtime: Runtime[Deps]
) -> Literal["generate", "mend", "no_answer"]:
    """Pass, else mend while a retry, time and a remedy are left, else the best result so far. What would pass but is
    out of date is looked up on the web, where that is wanted. For an answer that is not confirmed, one search more."""
    if "unconfirmed" in state:
        return "generate"
    way = next_way(runtime.context, state)
    is_good = state["reflection"].outcome == "pass"
    if way and (not is_good or way == ("outdated", "web_search")):
        return "mend"
    return "no_answer" if state["best"].refused or not state["best"].candidates else "generate"


async def mend(state: State, runtime: Runtime[Deps]) -> State:
    """A plan of the tasks that search another way, with an entry of its own in the decision path."""
    way = next_way(runtime.context, state)
    if way is None:
        raise AssertionError("the routers lead here only while a remedy is left")
    problem, remedy = way
    tried = state["tried"]
    name = f"r{len(tried) + 1}"
    # A rerank puts in order what every task has found.
    before = tuple(state["findings"]) if remedy == "rerank" else ()
    tasks = [
        Task(
            id=f"{name}.1",
            type=remedy,
            input=state["question"].standalone,
            depends_on=before,
        )
    ]
    if remedy == "rewrite":
        tasks.append(Task(id=f"{name}.2", type="retrieve", depends_on=(tasks[0].id,)))
    async with runtime.context.trace.step("plan"):
        details = PlanDetails(
            problem=problem or "not_enough",
            remedy=remedy,
            retry=len(tried) + 1,
        )
        made = noted_plan(tasks, "plan_mended", details)
    return {"plan": made, "tried": (*tried, remedy)}


def next_way(deps: Deps, state: State) -> tuple[Problem | None, Remedy] | None:
    """What is tried next, and against what; None: no retry is left, no time, or no other way.

    Against a problem of a medium result something else is tried only where the last attempt improved it.
    """
    settings = deps.settings.planned
    tried = state["tried"]
    if (
        len(tried) >= settings.max_retries
        or deps.deadline.remaining() <= TIME_FOR_ANSWERING * settings.timeout_s
    ):
        return None
    reflection = state["reflection"]
    web = may_search_web(deps, state["question"])
    settled: set[Problem | None] = set()
    if state["in_vain"] and reflection.outcome == "tune":
        settled = {problem for problem, remedy in reflection.ways if remedy in tried} | {None}
    for problem, remedy in reflection.ways:
        if remedy not in tried and problem not in settled and (web or remedy != "web_search"):
            return problem, remedy
    return None


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """The answer, or why the writing model says that the best passages don't answer.

    One that the second look does not confirm is searched for once more, and rewritten behind it.
    """
    deps = runtime.context
    question = state["question"]
    best = state["best"]
    if "unconfirmed" in state:
        return {
            "answer": await _confirmed(deps, question, state["unconfirmed"], state["reflection"])
        }
    way_out: WayOut = "none" if best.outcome == "pass" else "refuse"
    answer = await write_answer(deps, question, best.candidates, way_out=way_out)
    if not answer.text:
        return {"refused": answer.reason}
    if judging_is_on(question):
        answer = await second_look(deps, answer, question=question.standalone)
    if answer.support == "none" and next_way(deps, state):
        return {"unconfirmed": answer}
    await consolidate_memory(deps, question, answer)
    return {"answer": answer}


async def _confirmed(
    deps: Deps, question: Question, read: Answer, reflection: Reflection
) -> Answer:
    """With another answer behind it, which a second look confirms; as it is where there is none."""
    another = await write_from_more(deps, question, read, reflection.candidates)
    if another is None:
        return read
    another = await second_look(deps, another, question=question.standalone)
    if another.support not in ("full", "partly"):
        return read
    answer = replace(await with_another(deps, read, another), support="partly")
    await consolidate_memory(deps, question, answer)
    return answer


def after_generating(
    state: State, runtime: Runtime[Deps]
) -> Literal["mend", "no_answer", "__end__"]:
    if "answer" in state:
        return "__end__"
    return "mend" if next_way(runtime.context, state) else "no_answer"


async def no_answer(state: State, runtime: Runtime[Deps]) -> State:
    if "unconfirmed" in state:  # no time was left to search once more
        return {"answer": state["unconfirmed"]}
    candidates = state["best"].candidates if "best" in state else None
    reason = state.get("refused")
    return {"answer": await refuse(runtime.context, state["question"], candidates, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    nodes: Mapping[str, Any] = {
        "plan": plan,
        "execute": execute,
        "reflect": reflect_on_findings,
        "mend": mend,
        "generate": generate,
        "no_answer": no_answer,
    }
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_conditional_edges(START, where_to_begin)
    graph.add_edge("plan", "execute")
    graph.add_edge("execute", "reflect")
    graph.add_conditional_edges("reflect", after_reflection)
    graph.add_edge("mend", "execute")
    graph.add_conditional_edges("generate", after_generating)
    graph.add_edge("no_answer", END)
    return graph.compile(name="planned")


WORKFLOW = Workflow(
    graph=build_graph(),
    timeout_s=lambda settings: settings.planned.timeout_s,
    looks_itself=True,
)
