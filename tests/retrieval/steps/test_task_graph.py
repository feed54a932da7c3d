from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from retrieval.errors import IndexUnavailableError
from retrieval.workflows.planned.task_graph import Task, run_tasks


def task(id_: str, *depends_on: str, priority: int = 0) -> Task:
    return Task(id=id_, type="retrieve", depends_on=depends_on, priority=priority)


class Worker:
    """Notes the order in which tasks start, how many run at once, and what each is given."""

    def __init__(self, *, fails: Mapping[str, Exception] | None = None) -> None:
        self.started: list[str] = []
        self.given: dict[str, Mapping[str, str]] = {}
        self.running = self.most = 0
        self._fails = fails or {}

    async def work(self, one: Task, given: Mapping[str, str]) -> str:
        self.started.append(one.id)
        self.given[one.id] = dict(given)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if one.id in self._fails:
            raise self._fails[one.id]
        return one.id.upper()


async def run(tasks, worker: Worker, *, at_once: int = 4, limit_s: float = 30.0):
    return await run_tasks(tasks, worker.work, at_once=at_once, limit_s=lambda: limit_s)


async def test_independent_tasks_run_at_the_same_time() -> None:
    together = asyncio.Barrier(3)

    async def work(one: Task, given: Mapping[str, str]) -> str:
        await together.wait()  # only passes when all three are running
        return one.id

    records = await run_tasks([task("a"), task("b"), task("c")], work, at_once=4, limit_s=lambda: 30.0)
    assert [record.state for record in records.values()] == ["done"] * 3


async def test_a_task_starts_after_those_that_it_depends_on_and_is_given_their_results() -> None:
    worker = Worker()
    await run([task("c", "a", "b"), task("a"), task("b")], worker)
    assert worker.started == ["a", "b", "c"]
    assert worker.given["c"] == {"a": "A", "b": "B"}


async def test_the_most_urgent_starts_first_where_not_all_may_run() -> None:
    worker = Worker()
    await run([task("low"), task("high", priority=5), task("middle", priority=3)], worker, at_once=1)
    assert worker.started == ["high", "middle", "low"]
    assert worker.most == 1


async def test_no_more_run_at_once_than_allowed() -> None:
    worker = Worker()
    await run([task(str(number)) for number in range(7)], worker, at_once=2)
    assert worker.most == 2


@pytest.mark.parametrize("error", [IndexUnavailableError(), ValueError("a bug")])
async def test_one_that_fails_stops_neither_the_others_nor_those_that_depend_on_it(error) -> None:
    worker = Worker(fails={"a": error})
    records = await run([task("a"), task("b"), task("c", "a", "b")], worker)
    assert {name: record.state for name, record in records.items()} == {"a": "failed", "b": "done", "c": "done"}
    assert worker.given["c"] == {"b": "B"}
    assert records["a"].error is error
    assert "bug" not in records["a"].note


async def test_a_slow_task_is_given_up_and_the_rest_goes_on() -> None:
    async def work(one: Task, given: Mapping[str, str]) -> str:
        await asyncio.sleep(600 if one.id == "slow" else 0)
        return one.id

    limits = {"slow": 0.01, "fast": 30.0}
    names = iter(limits.values())
    records = await run_tasks([task("slow"), task("fast")], work, at_once=2, limit_s=lambda: next(names))
    assert (records["slow"].state, records["fast"].state) == ("late", "done")


async def test_cancelling_cancels_what_runs() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(one: Task, given: Mapping[str, str]) -> str:
        try:
            begun.set()
            await asyncio.sleep(600)
        finally:
            ended.set()
        return ""

    running = asyncio.create_task(run_tasks([task("a")], work, at_once=1, limit_s=lambda: 600.0))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_tasks_in_a_circle_end_as_failed_instead_of_waiting_for_ever() -> None:
    records = await run([task("a", "b"), task("b", "a"), task("c")], Worker())
    assert {name: record.state for name, record in records.items()} == {"a": "failed", "b": "failed", "c": "done"}


async def test_whoever_watches_is_told_of_every_end() -> None:
    seen = []

    async def watch(record, records) -> None:
        seen.append((record.task.id, record.state))

    await run_tasks([task("a"), task("b", "a")], Worker().work, at_once=2, limit_s=lambda: 30.0, watch=watch)
    assert seen == [("a", "done"), ("b", "done")]


async def test_results_of_earlier_tasks_can_be_built_on() -> None:
    worker = Worker()
    await run_tasks([task("b", "a")], worker.work, at_once=1, limit_s=lambda: 30.0, known={"a": "found before"})
    assert worker.given["b"] == {"a": "found before"}
