"""Ends processes that would not end or go on by themselves, and tells how late the event loop of a web process is.

Both ends are kept by a thread of `faulthandler`'s, which needs no GIL: it works while C code holds it, while threads
hang, and while the interpreter waits for them at its exit. The stacks of all threads go to standard error before.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TextIO

from prometheus_client import Gauge, Histogram

logger = logging.getLogger(__name__)

SAMPLE_S = 0.25
LATE_S = 1.0  # the log tells of it, with the stacks as they were then
QUIET_S = 60.0  # after stacks were written: a machine that is overloaded would fill the log with them
HANG_S = 30.0  # a loop that has not turned for this long does not come back: the process ends
REARM_S = 2.0
RECENT = int(60 / SAMPLE_S)

LAG = Histogram(
    "ragsite_loop_lag_seconds",
    "How late the event loop of the web process came back to a task that slept.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0),
)
LAG_LAST = Gauge("ragsite_loop_lag_last_seconds", "The last sample of ragsite_loop_lag_seconds.")
LAG_MAX = Gauge("ragsite_loop_lag_max_seconds", "The largest sample of ragsite_loop_lag_seconds of the last minute.")

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]
_exit_at: float | None = None  # by time.monotonic


def exit_within(seconds: float) -> None:
    """Whatever happens, this process ends within this time. A later call can only shorten it.

    May be called by a signal handler. The exit status is then 1, and nothing is cleaned up.
    """
    global _exit_at
    at = time.monotonic() + seconds
    if _exit_at is None or at < _exit_at:
        _exit_at = at
        _exit_later(seconds)


def bring_exit_forward(seconds: float) -> None:
    """The same, but only for a process that has been told to end."""
    if _exit_at is not None:
        exit_within(seconds)


def watched(lifespan: Application, *, ends_hung_process: bool) -> Application:
    """The lifespan application, with the event loop watched from its start to its end."""

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        watch = asyncio.create_task(LoopWatch(ends_hung_process=ends_hung_process).run())
        try:
            await lifespan(scope, receive, send)
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch

    return application


class LoopWatch:
    """Measures the loop's lag into the metrics.

    The stacks of a loop that is late are written at SIGALRM, by C code: a Python thread would wait for the GIL as long
    as the loop does.
    """

    def __init__(self, *, ends_hung_process: bool) -> None:
        self._ends_hung_process = ends_hung_process
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._quiet_until = self._armed_at = float("-inf")
        self._has_signals = threading.current_thread() is threading.main_thread()

    async def run(self) -> None:
        """Until cancelled. SIGALRM is its own meanwhile."""
        loop = asyncio.get_running_loop()
        if self._has_signals:
            faulthandler.register(signal.SIGALRM, file=_standard_error(), all_threads=True)
        try:
            while True:
                self._arm(loop.time())
                due = loop.time() + SAMPLE_S
                await asyncio.sleep(SAMPLE_S)
                self._note(max(0.0, loop.time() - due), loop.time())
        finally:
            self._disarm()

    def _arm(self, now: float) -> None:
        if self._has_signals:
            signal.setitimer(signal.ITIMER_REAL, SAMPLE_S + LATE_S if now >= self._quiet_until else 0.0)
        if self._ends_hung_process and _exit_at is None and now >= self._armed_at + REARM_S:
            self._armed_at = now
            _exit_later(HANG_S + REARM_S)

    def _note(self, lag_s: float, now: float) -> None:
        LAG.observe(lag_s)
        self._recent.append(lag_s)
        LAG_LAST.set(lag_s)
        LAG_MAX.set(max(self._recent))
        if lag_s >= LATE_S:
            stacks = "; the stacks above were written meanwhile" if now >= self._quiet_until else ""
            self._quiet_until = max(self._quiet_until, now + QUIET_S)
            logger.warning("the event loop was late by %.1f s: everybody waited%s", lag_s, stacks)

    def _disarm(self) -> None:
        if self._has_signals:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            faulthandler.unregister(signal.SIGALRM)
        if self._ends_hung_process and _exit_at is None:
            faulthandler.cancel_dump_traceback_later()


def _exit_later(seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=_standard_error())


def _standard_error() -> TextIO:
    """The process's own: Celery and others put objects in its place that are no files."""
    return sys.__stderr__ or sys.stderr
