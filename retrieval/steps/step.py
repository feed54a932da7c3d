"""What every step is: an entry of the decision path, a time limit, and a fallback that needs no model.

    def no_passage(deps: Deps, question: Question) -> tuple[Query, ...]:
        return ()


    @step("hyde", fallback=no_passage, optional=True)
    async def hyde(deps: Deps, question: Question) -> tuple[Query, ...]:
        reply = await deps.complete("hyde", HypotheticalPassage, question=question.standalone)
        note("passage_imagined", passage=reply.hypothetical_passage)
        return (Query(reply.hypothetical_passage, kind="hyde", vector_only=True),)

    queries = await hyde(deps, question)

A step is an async function: `Deps` first, then plain arguments, a plain result. The class `Step` below is its older
form, which goes when the last step is a function.

class Condense(Step[Asked, str]):
    name = "condense"

    async def act(self, given: Asked, entry: StepRecord) -> str:
        ...
        return await self.attempt(entry, self._ask_model(given), fallback=lambda: given.text)

standalone = await Condense(context)(Asked(question, draft))
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import wraps
from inspect import isawaitable
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar

from ragsite.core.rag_settings import RagSettings
from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.path_texts import path_text
from retrieval.ports import Schema
from retrieval.steps.deps import Deps
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import quote_history
from retrieval.trace import StepName, StepRecord, degrade
from retrieval.values import Question

T = TypeVar("T")
Given = TypeVar("Given")
Result = TypeVar("Result")
P = ParamSpec("P")


def step(
    name: StepName,
    *,
    fallback: Callable[..., Any] | None = None,
    timeout_s: float | None = None,
    optional: bool = False,
) -> Callable[[Callable[Concatenate[Deps, P], Awaitable[Result]]], Callable[Concatenate[Deps, P], Awaitable[Result]]]:
    """Make a step of an async function: each call is timed and leaves an entry `name` in the decision path.

    fallback: called with the same arguments, in the same entry, when the function raises a ModelError or is late; the
    entry is then degraded, with the reason. Without one, the function has no limit here, and every error is the
    caller's. timeout_s: by default a structured call's; the answer's deadline comes first in any case.
    optional: answers are better with it, but right without; it gets less time, and is first to go without.
    """

    def decorate(
        function: Callable[Concatenate[Deps, P], Awaitable[Result]],
    ) -> Callable[Concatenate[Deps, P], Awaitable[Result]]:
        @wraps(function)
        async def run(deps: Deps, *args: P.args, **kwargs: P.kwargs) -> Result:
            async with deps.trace.step(name) as entry:
                if fallback is None:
                    return await function(deps, *args, **kwargs)
                limit_s = _limit_s(deps, timeout_s, optional=optional)
                try:
                    if limit_s <= 0:
                        raise ModelError("no_time_left")
                    async with asyncio.timeout(limit_s):
                        return await function(deps, *args, **kwargs)
                except ModelError as error:
                    entry.degrade(error.reason)
                except TimeoutError:
                    entry.degrade(path_text("too_late", {"limit_s": limit_s}))
                served = fallback(deps, *args, **kwargs)
                result: Result = await served if isawaitable(served) else served
                return result

        return run

    return decorate


async def try_call(
    deps: Deps, call: Coroutine[Any, Any, T], *, timeout_s: float | None = None, optional: bool = False
) -> T | None:
    """A model call within a step that has more to do: its result, or None and the reason in the step's entry, where it
    failed or was late. timeout_s, optional: as of `step`."""
    limit_s = _limit_s(deps, timeout_s, optional=optional)
    if limit_s <= 0:
        call.close()
        degrade("no_time_left")
        return None
    try:
        async with asyncio.timeout(limit_s):
            return await call
    except ModelError as error:
        degrade(error.reason)
    except TimeoutError:
        degrade(path_text("too_late", {"limit_s": limit_s}))
    return None


def _limit_s(deps: Deps, timeout_s: float | None, *, optional: bool) -> float:
    limit_s = deps.settings.ollama.structured_timeout_s if timeout_s is None else timeout_s
    writing = any(record.name == "generate" for record in deps.trace.steps)
    return deps.deadline.share(limit_s, optional=optional, writing=writing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`Deps` as steps that are classes know it: `tools` live as long as the engine, `run` as long as this answer."""

    tools: Toolbox
    run: Run
    language: Language = "en"  # to answer in

    @property
    def deps(self) -> Deps:
        """The same, for steps that are functions."""
        run = self.run
        return replace(
            self.tools, trace=run.trace, deadline=run.deadline, revision=run.revision, language=self.language
        )


def context_of(deps: Deps) -> Context:
    """The other way round."""
    run = Run(trace=deps.trace, deadline=deps.deadline, revision=deps.revision)
    return Context(tools=deps, run=run, language=deps.language)


@dataclass(frozen=True, slots=True)
class Asked:
    """A user's question, and its `text` made self-contained."""

    question: Question
    text: str

    @property
    def to_search(self) -> str:
        """For a prompt that quotes the conversation, too: the user's own words. A reply to a question asked back is
        searched for together with that question."""
        return self.text if self.question.open_clarification else self.question.text

    @property
    def condensed(self) -> Question:
        """The same as one question."""
        return replace(self.question, condensed=self.text)


def asked(question: Question) -> Asked:
    return Asked(question, question.standalone)


@dataclass(frozen=True, slots=True)
class Step(ABC, Generic[Given, Result]):
    """One act of a workflow: called with its input, it gives its output and writes one entry into the decision path.

    `name` is the entry's. A subclass does its work in `act`; each model call goes through `attempt`, so that it ends
    at the step's own limit and at the answer's deadline, and has a fallback that is written down. A step never raises
    a ModelError.

    `optional`: answers are better with it, but right without; it gets less time, and is first to go without a model.
    """

    context: Context
    name: ClassVar[StepName]
    optional: ClassVar[bool] = False

    async def __call__(self, given: Given) -> Result:
        async with self.run.trace.step(self.name) as entry:
            return await self.act(given, entry)

    @abstractmethod
    async def act(self, given: Given, entry: StepRecord) -> Result: ...

    @property
    def tools(self) -> Toolbox:
        return self.context.tools

    @property
    def run(self) -> Run:
        return self.context.run

    @property
    def settings(self) -> RagSettings:
        return self.context.tools.settings

    async def attempt(
        self,
        entry: StepRecord,
        work: Coroutine[Any, Any, T],
        *,
        fallback: Callable[[], T],
        limit_s: float | None = None,
    ) -> T:
        """See `attempt`. `limit_s`: by default a structured call's."""
        limit_s = self.settings.ollama.structured_timeout_s if limit_s is None else limit_s
        writing = any(step.name == "generate" for step in self.run.trace.steps)
        return await attempt(
            entry,
            work,
            fallback=fallback,
            timeout_s=self.run.deadline.share(limit_s, optional=self.optional, writing=writing),
        )

    async def complete(self, prompt: str, schema: type[Schema], **variables: Any) -> Schema:
        """One structured call of the fast model with the prompt of this name. Raises ModelError."""
        return await self.context.deps.complete(prompt, schema, **variables)

    def history(self, question: Question) -> str:
        """The last messages of the conversation, quoted for a prompt."""
        return quote_history(question.history)


async def attempt(
    step: StepRecord,
    work: Coroutine[Any, Any, T],
    *,
    fallback: Callable[[], T],
    timeout_s: float,
) -> T:
    """The result of `work`, or of `fallback` with the reason in the step's entry.

    Falls back on a ModelError and when `timeout_s` is over. Cancelling the caller cancels `work`, which closes the
    model's connection. `fallback` runs in a thread: what rules make of a long question may take a while.
    """
    if timeout_s <= 0:
        work.close()
        step.degrade(worded("no time was left for the model"))
        return await asyncio.to_thread(fallback)
    try:
        async with asyncio.timeout(timeout_s):
            return await work
    except ModelError as error:
        step.degrade(error.reason)
    except TimeoutError:
        step.degrade(worded("no result within {timeout_s:.1f} s", timeout_s=timeout_s))
    return await asyncio.to_thread(fallback)
