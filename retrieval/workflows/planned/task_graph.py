"""A graph of tasks: those whose dependencies have ended run side by side, the most urgent first.

    t1 ──┐
         ├─► t3 ──► t4        t1, t2 and t5 run at once, t3 when t1 and t2 have ended, t4 after it
    t2 ──┘
    t5

Source: seed 002 §8.3 (Task {id, type, input, depends_on, priority}, orchestrator). A task that fails does not stop the
others: those that depend on it are given what is left, and see for themselves whether that is enough.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, Generic, Literal, TypeVar

from ragsite.core.errors import AppError
from ragsite.core.wording import Sentence, worded
from retrieval.errors import ModelError

R = TypeVar("R")
TaskState = Literal["waiting", "running", "done", "failed", "late"]
STATES: dict[TaskState, Sentence] = {  # as the decision path says them
    "waiting": worded("waiting"), "running": worded("running"), "done": worded("done"), "failed": worded("failed"),
    "late": worded("late"),
}  # fmt: skip
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """`depends_on`: ids of tasks that end before it begins. `priority`: the higher one starts first."""

    id: str
    type: str
    input: str = ""
    depends_on: tuple[str, ...] = ()
    priority: int = 0


@dataclass(slots=True, kw_only=True)
class TaskRecord(Generic[R]):
    """How a task went. `late`: its time was over. Times in ms; `started_ms` counts from the graph's start."""

    task: Task
    state: TaskState = "waiting"
    result: R | None = None
    error: BaseException | None = None
    note: str = ""
    started_ms: int | None = None
    duration_ms: int | None = None

    def as_dict(self) -> dict[str, Any]:
        times = {"started_ms": self.started_ms, "duration_ms": self.duration_ms}
        depends_on = list(self.task.depends_on)
        return {**asdict(self.task), "depends_on": depends_on, "state": self.state, "note": self.note, **times}


Work = Callable[[Task, Mapping[str, R]], Awaitable[R]]
Records = dict[str, TaskRecord[R]]
Watch = Callable[[TaskRecord[R], Records[R]], Awaitable[None]]


async def run_tasks(
    tasks: Sequence[Task],
    work: Work[R],
    *,
    at_once: int,
    limit_s: Callable[[], float],
    known: Mapping[str, R] | None = None,
    watch: Watch[R] | None = None,
) -> Records[R]:
    """Run every task once; the records by id, in the tasks' order.

    `work(task, results)` is given the results of those dependencies that succeeded; `known` holds results of tasks that
    ran earlier and may be depended on. `limit_s()`: seconds that a task which starts now may take. `watch(record,
    records)` is called when a task ends. Cancelling cancels all that run. The tasks have to be free of cycles
    (`plan.mended`): those of a cycle fail.
    """
    records: Records[R] = {task.id: TaskRecord(task=task) for task in tasks}
    results = dict(known or {})
    began = time.perf_counter()

    def now_ms() -> int:
        return round((time.perf_counter() - began) * 1000)

    async def run(record: TaskRecord[R]) -> TaskRecord[R]:
        task = record.task
        try:
            async with asyncio.timeout(limit_s()):
                record.result = await work(task, {name: results[name] for name in task.depends_on if name in results})
            record.state, results[task.id] = "done", record.result
        except Exception as error:
            is_late = isinstance(error, TimeoutError)
            record.state, record.error = "late" if is_late else "failed", error
            record.note = worded("its time was over") if is_late else _reason(error)
            if not isinstance(error, AppError | ModelError | TimeoutError):
                logger.exception("Task %s (%s) failed", task.id, task.type)
        record.duration_ms = now_ms() - (record.started_ms or 0)
        return record

    order = sorted_by_dependency(tasks)
    ready: set[str] = set()
    running: set[asyncio.Task[TaskRecord[R]]] = set()
    try:
        while True:
            ready.update(order.get_ready())
            urgent = most_urgent_first(task for task in tasks if task.id in ready)
            for task in urgent[: at_once - len(running)]:
                ready.remove(task.id)
                record = records[task.id]
                record.state, record.started_ms = "running", now_ms()
                running.add(asyncio.create_task(run(record)))
            if not running:
                break
            ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for record in [future.result() for future in ended]:
                order.done(record.task.id)
                if watch:
                    await watch(record, records)
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    for record in records.values():
        if record.state == "waiting":
            record.state, record.note = "failed", worded("what it depends on never ended")
    return records


def sorted_by_dependency(tasks: Sequence[Task]) -> TopologicalSorter[str]:
    """The tasks' ids; dependencies on other tasks than these count as ended. Tasks of a cycle never get ready."""
    ids = {task.id for task in tasks}
    order = TopologicalSorter({task.id: ids.intersection(task.depends_on) for task in tasks})
    with suppress(CycleError):
        order.prepare()
    return order


def most_urgent_first(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: -task.priority)


def _reason(error: BaseException) -> str:
    """For people: our own errors explain themselves, others give their kind alone."""
    if isinstance(error, AppError):
        return error.message
    return error.reason if isinstance(error, ModelError) else type(error).__name__
