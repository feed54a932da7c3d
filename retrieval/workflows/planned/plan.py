"""Plan: which tasks answer a question, in which order. A model plans; rules do where it can't, or need not.

Source: seed 002 §8.3: facts get one search, comparisons searches side by side, chained questions searches that build on
each other. What a model plans is mended before it runs: nothing unknown, no cycle, no more tasks than allowed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ragsite.core.wording import joined, worded
from retrieval.steps.schemas import (
    COMPLEXITIES,
    COMPLEXITY_WORDS,
    QUESTION_TYPES,
    QUESTION_WORDS,
    SEARCHES,
    TASK_TYPES,
    TASK_WORDS,
    DraftedPlan,
    DraftedTask,
    shaped,
)
from retrieval.steps.step import Asked, Step
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord
from retrieval.workflows.planned.question_profile import Profile, understand
from retrieval.workflows.planned.task_graph import Task, TaskRecord, most_urgent_first, sorted_by_dependency

_OTHER_NAMES = {"search": "web_search", "web": "web_search", "retrieval": "retrieve", "keyword_search": "text_search"}
INPUT_CHARS = 400
MAX_TASKS = 8  # of one plan
MAX_DRAFTED = 24  # of a model; looking for circles costs the square of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`entry`: its place in the decision path, where the tasks' states are shown as they change. `repairs`: what was
    wrong with a model's plan."""

    profile: Profile
    tasks: tuple[Task, ...]
    entry: StepRecord
    by_model: bool = False
    repairs: tuple[str, ...] = ()
    why: str = ""  # of a mended plan: what it is to remedy

    @property
    def mends(self) -> bool:
        return bool(self.why)

    @property
    def sub_questions(self) -> tuple[str, ...]:
        """What is searched for independently of other findings; more than one where the question has several sides."""
        searches = {task.id for task in self.tasks if task.type in SEARCHES}
        inputs = (task.input for task in self.tasks if task.id in searches and not searches & set(task.depends_on))
        return tuple(dict.fromkeys(filter(None, inputs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPlan:
    """`web`: whether tasks may search the web. `memories`: what is remembered of earlier answers, quoted."""

    asked: Asked
    web: bool
    memories: str = "-"


class Planner(Step[ToPlan, Plan]):
    """Never raises a ModelError."""

    name = "plan"

    async def act(self, given: ToPlan, entry: StepRecord) -> Plan:
        text, web = given.asked.text, given.web
        profile = await asyncio.to_thread(understand, text)
        # The first search may look good although it found only one half of a comparison.
        drafted = await self.attempt(entry, self._ask(given), fallback=lambda: None, gives_way=not profile.parts)
        plan = Plan(profile=profile, tasks=tuple(tasks_without_model(profile, text, web=web)), entry=entry)
        if drafted:
            tasks, repairs = await asyncio.to_thread(mended, drafted.tasks, question=text, web=web, most=MAX_TASKS)
            plan = replace(plan, repairs=tuple(repairs))
            if tasks:
                plan = replace(plan, profile=_as_named(profile, drafted), tasks=tuple(tasks), by_model=True)
            else:
                why_not = joined("; ", repairs) or worded("it was empty")
                entry.degrade(worded("the model's plan could not be used: {why_not}", why_not=why_not))
        show(plan)
        return plan

    async def _ask(self, given: ToPlan) -> DraftedPlan | None:
        return await self.tools.complete(
            "fast",
            "plan",
            shaped(DraftedPlan, tasks={"maxItems": MAX_TASKS}),
            language=self.context.language,
            model_name=self.settings.planned.planner_model,
            history=self.history(given.asked.question),
            memories=given.memories,
            max_tasks=MAX_TASKS,
            web="yes" if given.web else "no",
            question=one_line(given.asked.text),
        )


def _as_named(profile: Profile, drafted: DraftedPlan) -> Profile:
    """The rules' profile with the model's type and complexity, where it named ones that there are."""
    named: dict[str, Any] = {}
    if drafted.query_type in QUESTION_TYPES:
        named["type"] = drafted.query_type
    if drafted.complexity in COMPLEXITIES:
        named["complexity"] = drafted.complexity
    return replace(profile, **named)


def show(plan: Plan, states: Sequence[dict[str, Any]] = ()) -> None:
    """Write the plan, or the tasks' `states` as they are now, into the decision path."""
    rows = list(states) or [TaskRecord(task=task).as_dict() for task in plan.tasks]
    step, profile = plan.entry, plan.profile
    step.detail |= {"type": profile.type, "complexity": profile.complexity, "entities": list(profile.entities)}
    step.detail |= {"by_model": plan.by_model, "repairs": list(plan.repairs), "tasks": rows}
    order = joined(" → ", (joined(" + ", wave) for wave in waves(plan.tasks)))
    step.summary = worded(
        "{why}: {order}",
        why=plan.why or joined(", ", [QUESTION_WORDS[profile.type], COMPLEXITY_WORDS[profile.complexity]]),
        order=order,
    )


# ------------------------------------------------------------------------------------------------ plans by rules
def tasks_without_model(profile: Profile, question: str, *, web: bool) -> list[Task]:
    """One search for a simple question; for others one for each part, side by side, and one judgement over all."""
    texts = [*profile.parts, question] if profile.parts else [question, *filter(None, [profile.broader])]
    tasks = [Task(id=f"t{number}", type="retrieve", input=text, priority=2) for number, text in enumerate(texts, 1)]
    if web and profile.today:
        tasks.append(Task(id=f"t{len(tasks) + 1}", type="web_search", input=question, priority=2))
    if profile.complexity != "simple" or len(tasks) > 1:
        ids = tuple(task.id for task in tasks)
        tasks.append(Task(id=f"t{len(tasks) + 1}", type="rerank", input=question, depends_on=ids, priority=1))
    return tasks


# ------------------------------------------------------------------------------------------------ mending
def mended(drafted: Sequence[DraftedTask], *, question: str, web: bool, most: int) -> tuple[list[Task], list[str]]:
    """Tasks that can run, in an order in which they could, and what had to be mended. No tasks at all when no search is
    among them: such a plan finds nothing."""
    repairs: list[str] = []
    if len(drafted) > MAX_DRAFTED:
        repairs.append(
            worded("the plan had {count} tasks, the first {most} were read", count=len(drafted), most=MAX_DRAFTED)
        )
    tasks = _linked(_known(drafted[:MAX_DRAFTED], question, repairs, web=web), repairs)
    ordered = [task for wave in _waves(tasks) for task in wave]
    if len(ordered) > most:
        repairs.append(worded("{count} tasks were planned, {most} are allowed", count=len(ordered), most=most))
        ordered = ordered[:most]
    if not any(task.type in SEARCHES for task in ordered):
        repairs.append(worded("no task searches for anything"))
        return [], repairs
    return ordered, repairs


def _known(drafted: Sequence[DraftedTask], question: str, repairs: list[str], *, web: bool) -> list[Task]:
    """Tasks of types that there are, with ids of their own; what is left out or renamed is added to `repairs`."""
    tasks: dict[str, Task] = {}
    for number, draft in enumerate(drafted, start=1):
        kind = draft.type.strip().lower()
        kind = _OTHER_NAMES.get(kind, kind)
        if kind not in TASK_TYPES:
            repairs.append(
                worded(
                    "left out {id}: there is no task '{type}'", id=draft.id or number, type=one_line(draft.type)[:40]
                )
            )
            continue
        if kind == "web_search" and not web:
            repairs.append(worded("left out {id}: the web may not be searched", id=draft.id or number))
            continue
        name = one_line(draft.id)[:20] or f"t{number}"
        if name in tasks:
            name = next(f"{name}-{copy}" for copy in range(2, len(drafted) + 2) if f"{name}-{copy}" not in tasks)
            repairs.append(worded("two tasks were called {id}: the second one is {name}", id=draft.id, name=name))
        # A search that follows a rewording searches for its outcome; every other task needs words of its own.
        follows = bool(draft.depends_on) and kind in SEARCHES
        tasks[name] = Task(
            id=name,
            type=kind,
            input=one_line(draft.input)[:INPUT_CHARS] or ("" if follows else question),
            depends_on=tuple(dict.fromkeys(one_line(other)[:20] for other in draft.depends_on)),
            priority=0 if math.isnan(draft.priority) else round(max(-99.0, min(99.0, draft.priority))),
        )
    return list(tasks.values())


def _linked(tasks: Sequence[Task], repairs: list[str]) -> list[Task]:
    """Without dependencies on what is not there, and without cycles: the dependency that closes one is cut."""
    there = {task.id for task in tasks}
    kept: list[Task] = []
    for task in tasks:
        names = [name for name in task.depends_on if name in there and name != task.id]
        if len(names) < len(task.depends_on):
            repairs.append(worded("{id} depended on tasks that are not there", id=task.id))
        free = [name for name in names if not _is_circular([*kept, replace(task, depends_on=(name,))])]
        if len(free) < len(names):
            repairs.append(worded("{id} waited for itself in a circle", id=task.id))
        kept.append(replace(task, depends_on=tuple(free)))
    return kept


def waves(tasks: Sequence[Task]) -> list[list[str]]:
    """What runs side by side, in order, for people: types of tasks."""
    return [[TASK_WORDS.get(task.type, task.type) for task in wave] for wave in _waves(tasks)]


def _waves(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    order = sorted_by_dependency(tasks)
    while ready := order.get_ready():
        yield most_urgent_first(task for task in tasks if task.id in ready)
        order.done(*ready)


def _is_circular(tasks: Sequence[Task]) -> bool:
    try:
        TopologicalSorter({task.id: task.depends_on for task in tasks}).prepare()
    except CycleError:
        return True
    return False
