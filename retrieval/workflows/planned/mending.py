"""Mending a plan: the tasks that a reflection's remedies ask for, to be run on top of what has been found.

Source: seed 002 §8.3.3, its table of remedies.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from ragsite.core.wording import joined, worded
from retrieval.steps.toolbox import Run
from retrieval.workflows.planned.plan import Plan, show
from retrieval.workflows.planned.reflect import REMEDY_WORDS, Problem, Reflection, Remedy, choose_remedies
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
        """Those that are left; none: a retry would not help."""
        problems = (*self.reflection.problems, *self.extra)
        done: Set[Remedy] = self.tried | ({"rerank"} if self.judged or not self.known else set())
        return choose_remedies(problems, tried=done, web=self.web, tune=self.reflection.outcome == "tune")

    async def mend(self, plan: Plan, *, run: Run) -> Plan:
        """A plan of the new tasks, with an entry of its own in the decision path."""
        async with run.trace.step("plan") as entry:
            why = worded(
                "retry {retry}, {remedies}",
                retry=self.retry,
                remedies=joined(", ", (REMEDY_WORDS[name] for name in self.remedies)),
            )
            mended = Plan(profile=plan.profile, tasks=tuple(self._tasks()), entry=entry, why=why)
            show(mended)
            entry.detail |= {"retry": self.retry, "remedies": list(self.remedies)}
            return mended

    def _tasks(self) -> list[Task]:
        tasks: list[Task] = []

        def add(kind: str, text: str = "", depends_on: tuple[str, ...] = ()) -> tuple[str]:
            task = Task(id=f"r{self.retry}.{len(tasks) + 1}", type=kind, input=text, depends_on=depends_on)
            tasks.append(task)
            return (task.id,)

        for remedy in self.remedies:
            match remedy:
                case "web":
                    add("web_search", self.standalone)
                case "switch":
                    add("text_search", self.standalone)
                    add("vector_search", self.standalone)
                case "reword":
                    add("retrieve", depends_on=add("rewrite", self.standalone))
                case "widen":
                    add("wide_search", self.standalone)
                case "more_queries":
                    add("retrieve", depends_on=add("decompose", self.standalone))
                case "rerank":
                    add("rerank", self.standalone, depends_on=self.known)
        return tasks
