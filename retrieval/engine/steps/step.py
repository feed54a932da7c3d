"""What every step is: an entry of the decision path, a time limit, and a fallback that needs no model.

    def no_passage(deps: Deps, question: Question) -> tuple[Query, ...]:
        return ()


    @step("hyde", fallback=no_passage, optional=True)
    async def hyde(deps: Deps, question: Question) -> tuple[Query, ...]:
        reply = await deps.complete("hyde", HypotheticalPassage, question=question.standalone)
        note("passage_imagined", HydeDetails(passage=reply.hypothetical_passage))
        return (Query(reply.hypothetical_passage, kind="hyde", vector_only=True),)

    queries = await hyde(deps, question)

A step is an async function: `Deps` first (the engine's parts, and what belongs to one answer), then plain arguments, a
plain result. Tests call it alone, with fakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from inspect import isawaitable, iscoroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError
from retrieval.engine.path_details import StepName
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.trace import degrade

T = TypeVar("T")
Result = TypeVar("Result")
P = ParamSpec("P")


def step(
    name: StepName,
    *,
    fallback: Callable[..., Any] | None = None,
    timeout_s: float | None = None,
    optional: bool = False,
) -> Callable[
    [Callable[Concatenate[Deps, P], Awaitable[Result]]],
    Callable[Concatenate[Deps, P], Awaitable[Result]],
]:
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
            async with deps.trace.step(name):
                if name == "generate":
                    deps.progress.writing = True
                if fallback is None:
                    return await function(deps, *args, **kwargs)
                done, outcome = await _in_time(
                    deps,
                    function(deps, *args, **kwargs),
                    timeout_s,
                    optional=optional,
                )
                if done:
                    return outcome
                served = fallback(deps, *args, **kwargs)
                result: Result = await served if isawaitable(served) else served
                return result

        return run

    return decorate


async def try_call(
    deps: Deps,
    call: Coroutine[Any, Any, T],
    *,
    timeout_s: float | None = None,
    optional: bool = False,
) -> T | None:
    """A model call within a step that has more to do: its result, or None and the reason in the step's entry, where it
    failed or was late. timeout_s, optional: as of `step`."""
    return (await _in_time(deps, call, timeout_s, optional=optional))[1]


async def _in_time(
    deps: Deps, call: Awaitable[Any], timeout_s: float | None, *, optional: bool
) -> tuple[bool, Any]:
    """Whether it succeeded, and its result; else the reason stands in the running step's entry."""
    limit_s = deps.settings.ollama.structured_timeout_s if timeout_s is None else timeout_s
    limit_s = deps.deadline.share(limit_s, optional=optional, writing=deps.progress.writing)
    if limit_s <= 0:
        if iscoroutine(call):
            call.close()
        degrade("no_time_left")
        return False, None
    try:
        async with asyncio.timeout(limit_s):
            return True, await call
    except ModelError as error:
        degrade(reason_of(error))
    except TimeoutError:
        degrade(Reason("too_late", {"limit_s": limit_s}))
    return False, None
