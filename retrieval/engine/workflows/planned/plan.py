"""A plan: tasks, and which of them wait for which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import PlanDetails, PlannedTask
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import StepRecord, running_entry
from retrieval.engine.values import Question

MAX_TASKS = 8  # of one plan
INPUT_CHARS = 400
ID_CHARS = 20
NO_DETAILS = PlanDetails()

Search = Literal[
    "retrieve",
    "text_search",
    "vector_search",
    "wide_search",
    "web_search",
    "decompose",
]
TaskType = Literal[Search, "rewrite", "step_back", "hyde", "rerank", "evaluate"]
TaskState = Literal["waiting", "running", "done", "failed"]
QuestionType = Literal["factual", "multi_hop", "comparison", "multi_part", "troubleshooting"]
Complexity = Literal["simple", "medium", "complex"]
SEARCHES: tuple[Search, ...] = get_args(Search)
TASK_TYPES: Mapping[str, TaskType] = {name: name for name in get_args(TaskType)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Seed 002's Task. input: the words that it works on; empty: what the tasks before it found words for."""

    id: str
    type: TaskType
    input: str = ""
    depends_on: tuple[str, ...] = ()
    priority: int = 0


@dataclass(slots=True, kw_only=True)
class TaskStatus:
    """How far a task is. note: how much it found, or why it failed."""

    task: Task
    state: TaskState = "waiting"
    note: str = ""

    def as_row(self) -> PlannedTask:
        """As the decision path shows it."""
        return PlannedTask(
            id=self.task.id,
            type=self.task.type,
            input=self.task.input,
            depends_on=self.task.depends_on,
            priority=self.task.priority,
            state=self.state,
            note=self.note,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """entry: of the decision path, which shows the tasks while they run."""

    tasks: tuple[Task, ...]
    entry: StepRecord

    @property
    def goals(self) -> tuple[str, ...]:
        """What is searched for; more than one where the question has several sides."""
        return tuple(
            dict.fromkeys(task.input for task in self.tasks if task.type in SEARCHES and task.input)
        )


class DraftedTask(BaseModel):
    id: Annotated[str, limited(minLength=1, maxLength=4)]
    type: Annotated[str, limited(enum=list(TASK_TYPES))]
    input: Annotated[str, limited(maxLength=200)] = ""
    depends_on: Annotated[list[str], limited(maxItems=4)] = []
    priority: Annotated[int, limited(minimum=0, maximum=9)] = 0


class DraftedPlan(BaseModel):
    query_type: Annotated[str, limited(enum=list(get_args(QuestionType)))] = ""
    complexity: Annotated[str, limited(enum=list(get_args(Complexity)))] = ""
    tasks: Annotated[list[DraftedTask], limited(minItems=1)]


def single_search(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """One search with the user's own words."""
    return noted_plan([Task(id="t1", type="retrieve", input=question.standalone)], "plan_by_rule")


@step("plan", fallback=single_search)
async def make_plan(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """By the planner model. web: whether tasks may search the web. memories: what is remembered of earlier answers,
    quoted."""
    prompt = deps.prompt(
        "plan",
        history=quote_history(question.history),
        memories=memories,
        max_tasks=MAX_TASKS,
        web="yes" if web else "no",
        question=one_line(question.standalone),
    )
    model = await deps.models.chat("fast", name=deps.settings.planned.planner_model)
    reply = await model.complete_json(prompt, shaped(DraftedPlan, tasks={"maxItems": MAX_TASKS}))
    tasks = runnable(reply.tasks, question.standalone, web=web)
    if not any(task.type in SEARCHES for task in tasks):
        raise ModelOutputError("plan_without_search")
    details = PlanDetails(type=reply.query_type, complexity=reply.complexity)
    return noted_plan(tasks, "plan_by_model", details)


def noted_plan(tasks: Sequence[Task], code: str, details: PlanDetails = NO_DETAILS) -> Plan:
    """The plan, written into the running step's entry. details: what that says besides."""
    entry = running_entry()
    details = replace(
        details,
        tasks=tuple(TaskStatus(task=task).as_row() for task in tasks),
        order=tuple(f"{task.id} {task.type}" for task in tasks),
    )
    entry.note(code, details)
    return Plan(tasks=tuple(tasks), entry=entry)


def runnable(drafted: Iterable[DraftedTask], question: str, *, web: bool) -> list[Task]:
    """Tasks that can run, in the model's order: a task waits for those before it alone, so there is no circle."""
    tasks: dict[str, Task] = {}
    for draft in drafted:
        kind = TASK_TYPES.get(draft.type.strip().lower())
        name = one_line(draft.id)[:ID_CHARS]
        if kind is None or name in tasks or not name or (kind == "web_search" and not web):
            continue
        waits = tuple(
            dict.fromkeys(other for other in map(one_line, draft.depends_on) if other in tasks)
        )
        # A search that follows a rewording searches for its outcome; every other task needs words of its own.
        follows = bool(waits) and kind in SEARCHES and kind != "decompose"
        tasks[name] = Task(
            id=name,
            type=kind,
            input=one_line(draft.input)[:INPUT_CHARS] or ("" if follows else question),
            depends_on=waits,
            priority=draft.priority,
        )
    return list(tasks.values())[:MAX_TASKS]
