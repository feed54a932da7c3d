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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ragsite.core.errors import AppError
from retrieval.errors import ModelError

R = TypeVar("R")
TaskState = Literal["waiting", "running", "done", "failed", "late"]
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

    @property
    def has_ended(self) -> bool:
        return self.state in ("done", "failed", "late")

    def as_dict(self) -> dict[str, Any]:
        task = self.task
        return {
            "id": task.id, "type": task.type, "input": task.input, "depends_on": list(task.depends_on),
            "priority": task.priority, "state": self.state, "note": self.note, "started_ms": self.started_ms,
            "duration_ms": self.duration_ms,
        }  # fmt: skip


Work = Callable[[Task, Mapping[str, R]], Awaitable[R]]
Watch = Callable[["TaskRecord[R]"], Awaitable[None]]


async def run_tasks(
    tasks: Sequence[Task],
    work: Work[R],
    *,
    at_once: int,
    limit_s: Callable[[], float],
    known: Mapping[str, R] | None = None,
    records: dict[str, TaskRecord[R]] | None = None,
    watch: Watch[R] | None = None,
) -> dict[str, TaskRecord[R]]:
    """Run every task once; the records by id, in the tasks' order.

    `work(task, results)` is given the results of those dependencies that succeeded; `known` holds results of tasks that
    ran earlier and may be depended on. `records`: filled at once, for those who look on. `limit_s()`: seconds that a
    task which starts now may take. `watch` is told when a task ends. Cancelling cancels all that run. The tasks have to
    be free of cycles (`plan.mended`): those of a cycle fail.
    """
    board = _Board(tasks, work, dict(known or {}), limit_s, {} if records is None else records)
    running: dict[asyncio.Task[R], TaskRecord[R]] = {}
    try:
        while True:
            for record in board.ready()[: at_once - len(running)]:
                running[board.start(record)] = record
            if not running:
                break
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for future in ended:
                record = running.pop(future)
                board.note_end(record, future)
                if watch:
                    await watch(record)
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    board.give_up_waiting()
    return board.records


class _Board(Generic[R]):
    """The tasks and how far they are."""

    def __init__(
        self,
        tasks: Sequence[Task],
        work: Work[R],
        known: dict[str, R],
        limit_s: Callable[[], float],
        records: dict[str, TaskRecord[R]],
    ) -> None:
        self.records = records
        records.update({task.id: TaskRecord(task=task) for task in tasks})
        self._work = work
        self._results = known
        self._limit_s = limit_s
        self._began = time.perf_counter()

    def ready(self) -> list[TaskRecord[R]]:
        """Waiting tasks that may start, the most urgent first, else in the plan's order."""
        waiting = (record for record in self.records.values() if record.state == "waiting")
        return sorted(filter(self._may_start, waiting), key=lambda record: -record.task.priority)

    def _may_start(self, record: TaskRecord[R]) -> bool:
        return all(self.records[name].has_ended if name in self.records else True for name in record.task.depends_on)

    def start(self, record: TaskRecord[R]) -> asyncio.Task[R]:
        record.state, record.started_ms = "running", self._now_ms()
        return asyncio.ensure_future(self._run(record.task))

    async def _run(self, task: Task) -> R:
        given = {name: self._results[name] for name in task.depends_on if name in self._results}
        async with asyncio.timeout(self._limit_s()):
            return await self._work(task, given)

    def note_end(self, record: TaskRecord[R], future: asyncio.Task[R]) -> None:
        record.duration_ms = self._now_ms() - (record.started_ms or 0)
        error = future.exception()
        if error is None:
            record.state, record.result = "done", future.result()
            self._results[record.task.id] = future.result()
            return
        record.error = error
        record.state = "late" if isinstance(error, TimeoutError) else "failed"
        record.note = "its time was over" if record.state == "late" else _reason(error)
        if not isinstance(error, AppError | ModelError | TimeoutError):
            logger.error("Task %s (%s) failed", record.task.id, record.task.type, exc_info=error)

    def give_up_waiting(self) -> None:
        for record in self.records.values():
            if record.state == "waiting":
                record.state, record.note = "failed", "what it depends on never ended"

    def _now_ms(self) -> int:
        return round((time.perf_counter() - self._began) * 1000)


def _reason(error: BaseException) -> str:
    """For people: our own errors explain themselves, others give their kind alone."""
    return str(error)[:200] if isinstance(error, AppError | ModelError) else type(error).__name__
