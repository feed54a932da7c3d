"""Plan: which tasks answer a question, in which order. A model plans; without one the question is searched for.

Source: seed 002 §8.3: facts get one search, comparisons searches side by side, chained questions searches that build on
each other. Of a model's plan only what can run is kept: known types, and dependencies on tasks that stand before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from retrieval.errors import ModelOutputError
from retrieval.steps.deps import Deps
from retrieval.steps.schemas import SEARCHES, TASK_TYPES, DraftedPlan, DraftedTask, shaped
from retrieval.steps.step import step
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import note
from retrieval.values import Question

INPUT_CHARS = 400
MAX_TASKS = 8  # of one plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Seed 002's Task. input: the words that it works on; empty: what the tasks before it found words for."""

    id: str
    type: str
    input: str = ""
    depends_on: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rows: the tasks as the path shows them; a row's `state` and `note` change while they run."""

    tasks: tuple[Task, ...]
    rows: list[dict[str, Any]]

    @property
    def goals(self) -> tuple[str, ...]:
        """What is searched for; more than one where the question has several sides."""
        return tuple(dict.fromkeys(task.input for task in self.tasks if task.type in SEARCHES and task.input))


def single_search(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """One search with the user's own words."""
    return planned([Task(id="t1", type="retrieve", input=question.standalone)], why="plan_by_rule")


@step("plan", fallback=single_search)
async def make_plan(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """web: whether tasks may search the web. memories: what is remembered of earlier answers, quoted."""
    reply = await deps.complete(
        "plan",
        shaped(DraftedPlan, tasks={"maxItems": MAX_TASKS}),
        history=quote_history(question.history),
        memories=memories,
        max_tasks=MAX_TASKS,
        web="yes" if web else "no",
        question=one_line(question.standalone),
    )
    tasks = runnable(reply.tasks, question.standalone, web=web)
    if not any(task.type in SEARCHES for task in tasks):
        raise ModelOutputError("plan_without_search")
    return planned(tasks, why="plan_by_model", type=reply.query_type, complexity=reply.complexity)


def planned(tasks: Sequence[Task], *, why: str, **detail: object) -> Plan:
    """The plan, written into the running step's entry."""
    rows: list[dict[str, Any]] = [
        {
            "id": task.id, "type": task.type, "input": task.input, "depends_on": list(task.depends_on),
            "priority": task.priority, "state": "waiting", "note": "",
        }
        for task in tasks
    ]  # fmt: skip
    note(why, tasks=rows, order=[f"{task.id} {task.type}" for task in tasks], **detail)
    return Plan(tasks=tuple(tasks), rows=rows)


def runnable(drafted: Iterable[DraftedTask], question: str, *, web: bool) -> list[Task]:
    """Tasks that can run, in the model's order: a task waits for those before it alone, so there is no circle."""
    tasks: dict[str, Task] = {}
    for draft in drafted:
        kind, name = draft.type.strip().lower(), one_line(draft.id)[:20]
        if kind not in TASK_TYPES or name in tasks or not name or (kind == "web_search" and not web):
            continue
        waits = tuple(dict.fromkeys(other for other in map(one_line, draft.depends_on) if other in tasks))
        # A search that follows a rewording searches for its outcome; every other task needs words of its own.
        follows = bool(waits) and kind in SEARCHES
        tasks[name] = Task(
            id=name,
            type=kind,
            input=one_line(draft.input)[:INPUT_CHARS] or ("" if follows else question),
            depends_on=waits,
            priority=int(max(-99.0, min(99.0, draft.priority))) if draft.priority == draft.priority else 0,
        )
    return list(tasks.values())[:MAX_TASKS]
