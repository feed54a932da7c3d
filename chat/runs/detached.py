"""Work that outlives the request it was made in."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from opentelemetry.context import attach, get_current

from ragsite.core.database import own_database_thread
from ragsite.core.log_ids import current_request

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

_detached: set[asyncio.Task[Any]] = set()
_optional: set[asyncio.Task[Any]] = set()


def detach(work: Coroutine[Any, Any, Result], *, is_optional: bool = False) -> asyncio.Task[Result]:
    """Run it as a task that outlives the request it was made in, with a database thread of its own.

    is_optional: a process that stops does not wait for it.
    """

    async def with_own_thread() -> Result:
        async with own_database_thread():
            return await work

    # A fresh context, but for its trace and the request that the log names: the request's own database thread ends
    # with the request.
    context = contextvars.Context()
    context.run(attach, get_current())
    context.run(current_request.set, current_request.get())
    task = asyncio.create_task(with_own_thread(), context=context)
    kept = _optional if is_optional else _detached
    kept.add(task)
    task.add_done_callback(kept.discard)
    return task


async def cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel side tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("a run's side task ended with %s: %s", type(result).__name__, result)


def detached_tasks() -> list[asyncio.Task[Any]]:
    """Those of the running loop that have not ended and are to be waited for."""
    return _of_this_loop(_detached)


def optional_tasks() -> list[asyncio.Task[Any]]:
    """The others of the running loop that have not ended."""
    return _of_this_loop(_optional)


def _of_this_loop(tasks: set[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    loop = asyncio.get_running_loop()
    return [task for task in tasks if task.get_loop() is loop]
