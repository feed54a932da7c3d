"""What every step shares: a time limit, a fallback that is written down, and giving way to a search that was good.

A step opens its decision-path entry with `trace.step(name)` and does its model call through `attempt`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from retrieval.errors import ModelError
from retrieval.trace import StepRecord

T = TypeVar("T")


class Deadline:
    """The moment by which the whole answer should stand; every step's own limit ends there too."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._ends - time.monotonic())

    def limit(self, seconds: float) -> float:
        return min(seconds, self.remaining())


class FirstSearch:
    """The race between the search with the user's own words and the calls that would improve on those words.

    The calls wait a head start for the search: on a small index it is done before they begin, and when it was clearly
    good they are never made. Begun ones are broken off the moment the search turns out good.
    """

    def __init__(self, head_start_s: float) -> None:
        self._head_start_s = head_start_s
        self._done = asyncio.Event()
        self._good = asyncio.Event()

    def finish(self, *, good: bool) -> None:
        if good:
            self._good.set()
        self._done.set()

    @property
    def good(self) -> bool:
        return self._good.is_set()

    async def head_start(self) -> None:
        try:
            async with asyncio.timeout(self._head_start_s):
                await self._done.wait()
        except TimeoutError:
            return

    async def until_good(self) -> None:
        await self._good.wait()


class GaveWayError(Exception):
    """The first search was clearly good: this call's result is not needed any more."""


async def attempt(
    step: StepRecord,
    work: Coroutine[Any, Any, T],
    *,
    fallback: Callable[[], T],
    timeout_s: float,
    first_search: FirstSearch | None = None,
) -> T:
    """The result of `work`, or of `fallback` with the reason in the step's entry.

    Falls back on a ModelError, when `timeout_s` is over, and (as skipped, not degraded) when the first search was good.
    Cancelling the caller cancels `work`, which closes the model's connection. `fallback` runs in a thread: what rules
    make of a long question may take a while.
    """
    try:
        return await _race(work, timeout_s=timeout_s, first_search=first_search)
    except GaveWayError:
        step.skip("the first search was good enough")
    except ModelError as error:
        step.degrade(error.reason)
    except TimeoutError:
        step.degrade(f"no result within {timeout_s:.1f} s")
    return await asyncio.to_thread(fallback)


async def _race(work: Coroutine[Any, Any, T], *, timeout_s: float, first_search: FirstSearch | None) -> T:
    async with asyncio.timeout(timeout_s):
        if first_search is None:
            return await work
        task = asyncio.ensure_future(_after_head_start(work, first_search))
        gives_way = asyncio.ensure_future(first_search.until_good())
        try:
            await asyncio.wait({task, gives_way}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise GaveWayError
        finally:
            task.cancel()
            gives_way.cancel()
            await asyncio.gather(task, gives_way, return_exceptions=True)


async def _after_head_start(work: Coroutine[Any, Any, T], first_search: FirstSearch) -> T:
    try:
        await first_search.head_start()
        if first_search.good:
            raise GaveWayError
    except BaseException:
        work.close()
        raise
    return await work
