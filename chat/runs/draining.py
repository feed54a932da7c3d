"""A web process that is to end: it begins no answer any more, and ends once those that it writes have ended."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded

_begun: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = WeakKeyDictionary()


class RestartingError(UnavailableError):
    """503: this process is about to end, and another one answers in its place."""

    code = "restarting"
    retry_after_s = 1
    message = worded("The site is being restarted; try again in a moment.")


def drain_begin() -> None:
    """From now on the running loop's process takes up nothing new."""
    _event().set()


def is_draining() -> bool:
    return _event().is_set()


async def drain_begun() -> None:
    """Return when it begins."""
    await _event().wait()


def _event() -> asyncio.Event:
    return _begun.setdefault(asyncio.get_running_loop(), asyncio.Event())
