"""A web process that has just begun: until its models and parsers are loaded its first answers would stall."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary

logger = logging.getLogger(__name__)
_under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Any]] = WeakKeyDictionary()


def loading_begin(*parts: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Load these side by side. What fails is tried again by the first question or file that needs it."""

    async def load() -> None:
        for result in await asyncio.gather(*parts, return_exceptions=True):
            if isinstance(result, Exception):
                logger.warning("something could not be loaded beforehand: %r", result)

    task = asyncio.create_task(load())
    _under_way[asyncio.get_running_loop()] = task
    return task


def is_loading() -> bool:
    task = _under_way.get(asyncio.get_running_loop())
    return task is not None and not task.done()
