"""Until when the running call may take: set by the step that makes it, read by the provider that serves it.

A provider that knows how fast its model is need not begin what cannot end in time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ends: ContextVar[float] = ContextVar("retrieval_call_ends", default=float("inf"))


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """What is called inside, also in tasks started there, ends within these seconds; the earliest of limits counts."""
    token = _ends.set(min(_ends.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _ends.reset(token)


def seconds_left() -> float:
    """Infinite where nothing limits the call; never negative."""
    return max(0.0, _ends.get() - time.monotonic())
