"""Mending a plan: the tasks that a reflection's remedies ask for, to be run on top of what has been found.

Source: seed 002 §8.3.3, its table of remedies.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from retrieval.steps.toolbox import Run
from retrieval.workflows.planned.plan import Plan, show
from retrieval.workflows.planned.reflect import Problem, Reflection, Remedy, choose_remedies
from retrieval.workflows.planned.task_graph import Task


@dataclass(frozen=True, kw_only=True)
class Mending:
    """`extra`: problems that the answer showed, where the passages did not. `known`: ids of tasks that found passages.
    `judged`: a model or cross-encoder has ordered the passages already."""

    standalone: str
    reflection: Reflection
    extra: tuple[Problem, ...]
    known: tuple[str, ...]
    tried: Set[Remedy]
    retry: int
    web: bool
    judged: bool

    @cached_property
    def remedies(self) -> tuple[Remedy, ...]:
        problems = (*self.reflection.problems, *self.extra)
        done: Set[Remedy] = self.tried | ({"rerank"} if self.judged or not self.known else set())
        return choose_remedies(problems, tried=done, web=self.web, tune=self.reflection.outcome == "tune")

    @property
    def helps(self) -> bool:
        """Whether there is a remedy left that has not been tried."""
        return bool(self.remedies)

    async def mend(self, plan: Plan, *, run: Run) -> Plan:
        """A plan of the new tasks, with an entry of its own in the decision path."""
        async with run.trace.step("plan") as step:
            why = f"retry {self.retry}, {', '.join(self.remedies).replace('_', ' ')}"
            mended = Plan(profile=plan.profile, tasks=tuple(self._tasks()), entry=step, why=why)
            show(mended)
            step.detail |= {"retry": self.retry, "remedies": list(self.remedies)}
            return mended

    def _tasks(self) -> list[Task]:
        tasks: list[Task] = []
        for remedy in self.remedies:
            tasks.extend(self._tasks_of(remedy, f"r{self.retry}.{len(tasks) + 1}", f"r{self.retry}.{len(tasks) + 2}"))
        return tasks

    def _tasks_of(self, remedy: Remedy, first: str, second: str) -> list[Task]:
        wanted = " ".join(filter(None, [self.standalone, self.reflection.missing]))
        match remedy:
            case "web":
                return [Task(id=first, type="web_search", input=self.standalone)]
            case "switch":
                return [
                    Task(id=first, type="text_search", input=wanted),
                    Task(id=second, type="vector_search", input=wanted),
                ]
            case "reword":
                return [
                    Task(id=first, type="rewrite", input=self.standalone),
                    Task(id=second, type="retrieve", depends_on=(first,)),
                ]
            case "widen":
                return [Task(id=first, type="wide_search", input=wanted)]
            case "more_queries":
                return [
                    Task(id=first, type="decompose", input=self.standalone),
                    Task(id=second, type="retrieve", depends_on=(first,)),
                ]
            case "rerank":
                return [Task(id=first, type="rerank", input=self.standalone, depends_on=self.known)]
