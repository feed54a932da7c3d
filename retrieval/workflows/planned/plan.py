"""Plan: which tasks answer a question, in which order. A model plans; rules do where it can't, or need not.

Source: seed 002 §8.3: facts get one search, comparisons searches side by side, chained questions searches that build on
each other. What a model plans is mended before it runs: nothing unknown, no cycle, no more tasks than allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import StepRecord
from retrieval.values import Question
from retrieval.workflows.planned.question_profile import COMPLEXITIES, QUESTION_TYPES, Profile, understand
from retrieval.workflows.planned.task_graph import Task, TaskRecord, most_urgent_first, sorted_by_dependency

MAX_TASKS = 8  # of one plan

REWORDINGS = ("rewrite", "decompose", "step_back", "hyde")
SEARCHES = ("retrieve", "text_search", "vector_search", "wide_search", "web_search")
JUDGEMENTS = ("rerank", "evaluate")
TASK_TYPES = (*REWORDINGS, *SEARCHES, *JUDGEMENTS)
_OTHER_NAMES = {"search": "web_search", "web": "web_search", "retrieval": "retrieve", "keyword_search": "text_search"}
INPUT_CHARS = 400


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else "" if value is None else value


def _list(value: Any) -> Any:
    return [] if value is None else [value] if isinstance(value, str | int) else value


_Text = Annotated[str, BeforeValidator(_text)]


class DraftedTask(BaseModel):
    """Lenient: what is wrong is mended afterwards, where a refusal would cost another model call."""

    id: _Text = Field(description="t1, t2, …")
    type: _Text = Field(description="What to do", json_schema_extra={"enum": list(TASK_TYPES)})
    input: _Text = Field(default="", description="The query or question that the task works on")
    depends_on: Annotated[list[_Text], BeforeValidator(_list)] = Field(default_factory=list)
    priority: float = Field(default=0, description="Higher ones start first")


class DraftedPlan(BaseModel):
    query_type: _Text = Field(default="", json_schema_extra={"enum": list(QUESTION_TYPES)})
    complexity: _Text = Field(default="", json_schema_extra={"enum": list(COMPLEXITIES)})
    tasks: list[DraftedTask]


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
    def sub_questions(self) -> tuple[str, ...]:
        """What is searched for independently of other findings; more than one where the question has several sides."""
        searches = {task.id for task in self.tasks if task.type in SEARCHES}
        inputs = (task.input for task in self.tasks if task.id in searches and not searches & set(task.depends_on))
        return tuple(dict.fromkeys(filter(None, inputs)))


@dataclass(frozen=True, slots=True)
class Planner:
    tools: Toolbox

    async def plan(
        self, question: Question, draft: str, *, run: Run, language: Language, web: bool, memories: str = "-"
    ) -> Plan:
        """`draft`: the self-contained question. `web`: whether tasks may search the web. `memories`: what is remembered
        of earlier answers, quoted. Never raises a ModelError."""
        async with run.trace.step("plan") as step:
            profile = await asyncio.to_thread(understand, draft)
            drafted = await attempt(
                step,
                self._ask_model(question, draft, language, web=web, memories=memories),
                fallback=lambda: None,
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
                # Two halves of a comparison are not found by a search that one of them satisfies.
                first_search=None if profile.parts else run.first_search,
            )
            plan = self._made(step, profile, drafted, draft, web=web)
            show(plan)
            return plan

    def _made(self, step: StepRecord, profile: Profile, drafted: DraftedPlan | None, draft: str, *, web: bool) -> Plan:
        own = tuple(tasks_without_model(profile, draft, web=web))
        if drafted is None:
            return Plan(profile=profile, tasks=own, entry=step)
        tasks, repairs = mended(drafted.tasks, question=draft, web=web, most=MAX_TASKS)
        if not tasks:
            step.degrade("the model's plan could not be used: " + ("; ".join(repairs) or "it was empty"))
            return Plan(profile=profile, tasks=own, entry=step, repairs=tuple(repairs))
        return Plan(
            profile=_as_told(profile, drafted), tasks=tuple(tasks), entry=step, by_model=True, repairs=tuple(repairs)
        )

    async def _ask_model(
        self, question: Question, draft: str, language: Language, *, web: bool, memories: str
    ) -> DraftedPlan | None:
        planned = self.tools.settings.planned
        return await self.tools.complete(
            "fast",
            "plan",
            DraftedPlan,
            language=language,
            model_name=planned.planner_model,
            history=quote_history(question.history),
            memories=memories,
            max_tasks=MAX_TASKS,
            web="yes" if web else "no",
            question=one_line(draft),
        )


def _as_told(profile: Profile, drafted: DraftedPlan) -> Profile:
    """The rules' profile with the model's type and complexity, where it named ones that there are."""
    told: dict[str, Any] = {}
    if drafted.query_type in QUESTION_TYPES:
        told["type"] = drafted.query_type
    if drafted.complexity in COMPLEXITIES:
        told["complexity"] = drafted.complexity
    return replace(profile, **told)


def show(plan: Plan, states: Sequence[dict[str, Any]] = ()) -> None:
    """Write the plan, or the tasks' `states` as they are now, into the decision path."""
    rows = list(states) or [TaskRecord(task=task).as_dict() for task in plan.tasks]
    step, profile = plan.entry, plan.profile
    step.detail |= {"type": profile.type, "complexity": profile.complexity, "entities": list(profile.entities)}
    step.detail |= {"by_model": plan.by_model, "repairs": list(plan.repairs), "tasks": rows}
    order = " → ".join(" + ".join(wave) for wave in waves(plan.tasks))
    step.summary = f"{plan.why or profile.type.replace('_', ' ') + ', ' + profile.complexity}: {order}"


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
@dataclass(slots=True)
class _Mender:
    """A model's tasks on their way to ones that can run; `repairs` says what was wrong."""

    question: str
    web: bool
    repairs: list[str] = field(default_factory=list)

    def known(self, drafted: Sequence[DraftedTask]) -> list[Task]:
        """Tasks of types that there are, with ids of their own."""
        tasks: list[Task] = []
        taken: set[str] = set()
        for number, draft in enumerate(drafted, start=1):
            kind = draft.type.strip().lower()
            kind = _OTHER_NAMES.get(kind, kind)
            if kind not in TASK_TYPES:
                self.repairs.append(f"left out {draft.id or number}: there is no task '{one_line(draft.type)[:40]}'")
                continue
            if kind == "web_search" and not self.web:
                self.repairs.append(f"left out {draft.id or number}: the web may not be searched")
                continue
            name = one_line(draft.id)[:20] or f"t{number}"
            if name in taken:
                name = next(f"{name}-{copy}" for copy in range(2, len(drafted) + 2) if f"{name}-{copy}" not in taken)
                self.repairs.append(f"two tasks were called {draft.id}: the second one is {name}")
            taken.add(name)
            tasks.append(self._task(name, kind, draft))
        return tasks

    def _task(self, name: str, kind: str, draft: DraftedTask) -> Task:
        text = one_line(draft.input)[:INPUT_CHARS]
        priority = round(max(-99.0, min(99.0, draft.priority))) if draft.priority == draft.priority else 0
        # A search that follows a rewording searches for its outcome; every other task needs words of its own.
        text = text or ("" if draft.depends_on and kind in SEARCHES else self.question)
        names = tuple(dict.fromkeys(one_line(other)[:20] for other in draft.depends_on))
        return Task(id=name, type=kind, input=text, depends_on=names, priority=priority)

    def linked(self, tasks: Sequence[Task]) -> list[Task]:
        """Without dependencies on what is not there, and without cycles: the dependency that closes one is cut."""
        there = {task.id for task in tasks}
        kept: dict[str, Task] = {}
        for task in tasks:
            names = [name for name in task.depends_on if name in there and name != task.id]
            if len(names) < len(task.depends_on):
                self.repairs.append(f"{task.id} depended on tasks that are not there")
            free = [name for name in names if not _is_circular([*kept.values(), replace(task, depends_on=(name,))])]
            if len(free) < len(names):
                self.repairs.append(f"{task.id} waited for itself in a circle")
            kept[task.id] = replace(task, depends_on=tuple(free))
        return list(kept.values())


def mended(drafted: Sequence[DraftedTask], *, question: str, web: bool, most: int) -> tuple[list[Task], list[str]]:
    """Tasks that can run, in an order in which they could, and what had to be mended. No tasks at all when no search is
    among them: such a plan finds nothing."""
    mender = _Mender(question=question, web=web)
    tasks = mender.linked(mender.known(drafted))
    ordered = [task for wave in _waves(tasks) for task in wave]
    if len(ordered) > most:
        mender.repairs.append(f"{len(ordered)} tasks were planned, {most} are allowed")
        ordered = ordered[:most]
    if not any(task.type in SEARCHES for task in ordered):
        mender.repairs.append("no task searches for anything")
        return [], mender.repairs
    return ordered, mender.repairs


def waves(tasks: Sequence[Task]) -> list[list[str]]:
    """What runs side by side, in order, for people: types of tasks."""
    return [[task.type for task in wave] for wave in _waves(tasks)]


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
