"""The time that an answer has, and the race between its first search and the calls that would improve on it."""

from __future__ import annotations

import asyncio
import time

KEPT_FOR_WRITING = 0.3  # of the whole time, until the writing has begun
NEEDED_SHARE, OPTIONAL_SHARE = 0.6, 0.25  # of what is left besides, for one step


class Deadline:
    """The moment by which the whole answer should stand; every step's own limit ends there too."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._ends - time.monotonic())

    def limit(self, seconds: float) -> float:
        return min(seconds, self.remaining())

    def share(self, seconds: float, *, optional: bool, writing: bool) -> float:
        """Seconds for one step's model call. What only improves an answer gets less, and falls away first.

        writing: the answer's own text has been begun, so that no time is kept for it any more; what is needed may take
        all that is left.
        """
        if writing:
            return min(seconds, self.remaining() * (OPTIONAL_SHARE if optional else 1.0))
        left = self.remaining() - KEPT_FOR_WRITING * self._seconds
        return max(0.0, min(seconds, left * (OPTIONAL_SHARE if optional else NEEDED_SHARE)))


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
