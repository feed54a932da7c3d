"""A gate before the model server: how many calls at once, and none while it keeps failing.

The circuit breaker follows Nygard, "Release It!", 2007: closed → open after N consecutive failures → after a while
half open, when one probe is let through; its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from ragsite.core.wording import worded
from retrieval.errors import (
    ModelCutError,
    ModelError,
    ModelInterruptedError,
    ModelTimeoutError,
    ModelUnavailableError,
)


class ModelMissingError(ModelUnavailableError):
    """The server is well, but does not have this model, or the model can't do this."""


class WholeReplyTimeoutError(ModelTimeoutError):
    """A reply that comes in one piece was not there in time. The server sends no byte before its last token is written,
    so this tells nothing about the server."""


class CircuitBreaker:
    """Counts consecutive failures of one kind of call to one server."""

    def __init__(self, *, failures: int, reset_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._reset_s = reset_s
        self._clock = clock
        self._failed = 0
        self._opened_at: float | None = None
        self._probing = False
        self._reason = ""
        self.succeeded_at = float("-inf")  # by the clock

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        if self._opened_at is None:
            return "closed"
        return "open" if self._clock() < self._opened_at + self._reset_s else "half-open"

    def check(self) -> None:
        """Raises ModelUnavailableError while a call would not be let through."""
        if self.state == "open" or (self.state == "half-open" and self._probing):
            raise ModelUnavailableError(
                worded(
                    "{reason} (failed {failed} times in a row; trying again shortly)",
                    reason=self._reason,
                    failed=self._failed,
                )
            )

    def admit(self) -> None:
        """Let a call through, as the probe if the circuit is half open. Raises ModelUnavailableError."""
        self.check()
        self._probing = self.state == "half-open"

    def succeeded(self) -> None:
        self._failed, self._opened_at, self._probing = 0, None, False
        self.succeeded_at = self._clock()

    def failed(self, reason: str) -> None:
        self._failed += 1
        self._reason = reason
        if self._probing or self._failed >= self._limit:
            self._opened_at = self._clock()
        self._probing = False

    def undecided(self) -> None:
        """The call was given up without a result; the next one may be the probe."""
        self._probing = False


@dataclass(slots=True)
class Ticket:
    """One call inside the gate. `answered`: the server has shown that it is alive."""

    answered: bool = False


class Gate:
    """Bounds the calls at once (the server itself queues without limit) and tells the breaker how each call ended.

    Belongs to one event loop.
    """

    def __init__(self, *, limit: int, breaker: CircuitBreaker, clock: Callable[[], float] = time.monotonic) -> None:
        self.breaker = breaker
        self._slots = asyncio.Semaphore(limit)
        self._clock = clock

    @asynccontextmanager
    async def enter(self, *, wait_s: float, patience_s: float) -> AsyncIterator[Ticket]:
        """Wait at most `wait_s` for a slot.

        A call that is cancelled without an answer after `patience_s` counts as a failure: its caller's time was up.
        Raises ModelUnavailableError (circuit open), ModelTimeoutError (no slot).
        """
        self.breaker.check()
        await self._take_slot(wait_s)
        try:
            self.breaker.admit()  # once more: the calls before this one may have opened the circuit
            ticket, began = Ticket(), self._clock()
            try:
                yield ticket
            except ModelError as error:
                self._report(error)
                raise
            except BaseException:  # cancelled, or the iterator was closed
                if not ticket.answered and self._clock() - began >= patience_s:
                    self.breaker.failed(
                        worded("the model server gave no answer within {patience_s:g} s", patience_s=patience_s)
                    )
                else:
                    self.breaker.undecided()
                raise
            self.breaker.succeeded()
        finally:
            self._slots.release()

    def _report(self, error: ModelError) -> None:
        """Wrong output, a missing model and a cut answer are errors, but they show that the server is alive."""
        if isinstance(error, WholeReplyTimeoutError):
            self.breaker.undecided()
            return
        server_failed = isinstance(error, ModelTimeoutError | ModelUnavailableError | ModelInterruptedError)
        if server_failed and not isinstance(error, ModelMissingError | ModelCutError):
            self.breaker.failed(error.reason)
        else:
            self.breaker.succeeded()

    async def _take_slot(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise ModelTimeoutError(
                worded("all places for model calls were taken for {wait_s:g} s", wait_s=wait_s)
            ) from error
