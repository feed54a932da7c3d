"""The time that an answer has, and the race between its first search and the calls that would improve on it."""

from __future__ import annotations

import asyncio
import time


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
