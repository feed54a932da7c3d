"""A gate before a server: how many calls at once, and none while it keeps failing.

The circuit breaker follows Nygard, "Release It!", 2007: closed → open after FAILURES failures in a row → after RESET_S
one call is let through as a probe; its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragsite.core.wording import worded
from retrieval.errors import ModelError, ModelTimeoutError, ModelUnavailableError

FAILURES, RESET_S = 3, 20.0


class CircuitBreaker:
    """Belongs to one event loop. The server may queue without limit, so `limit` bounds the calls at once."""

    def __init__(self, *, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._failures, self._failed_at, self._probing, self._reason = 0, 0.0, False, ""

    @property
    def is_open(self) -> bool:
        """Whether the server failed several times in a row and has not answered since."""
        return self._failures >= FAILURES

    @asynccontextmanager
    async def call(self, *, wait_s: float) -> AsyncIterator[None]:
        """One call; one that is cancelled tells nothing about the server.

        Raises ModelUnavailableError (circuit open), ModelTimeoutError (no slot within `wait_s`).
        """
        self._check()
        try:
            async with asyncio.timeout(wait_s):
                await self._slots.acquire()
        except TimeoutError as error:
            reason = worded("all places for model calls were taken for {wait_s:g} s", wait_s=wait_s)
            raise ModelTimeoutError(reason) from error
        try:
            self._check()  # once more: the calls before this one may have opened the circuit
            is_probe = self._probing = self.is_open
            try:
                yield
                self._failures = 0
            except ModelError as error:
                self._failures = self._failures + 1 if error.is_server_failure else 0
                self._failed_at, self._reason = time.monotonic(), error.reason
                raise
            finally:
                self._probing = self._probing and not is_probe
        finally:
            self._slots.release()

    def _check(self) -> None:
        if self.is_open and (self._probing or time.monotonic() < self._failed_at + RESET_S):
            reason = worded(
                "{reason} (failed {failed} times in a row; trying again shortly)",
                reason=self._reason,
                failed=self._failures,
            )
            raise ModelUnavailableError(reason)
