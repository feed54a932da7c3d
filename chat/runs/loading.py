"""A web process that has just begun: until its models and parsers are loaded its first answers would stall."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary

logger = logging.getLogger(__name__)
_under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[Any]] = WeakKeyDictionary()


def loading_begin(*parts: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
    """Load these side by side. What fails is tried again by the first question or file that needs it."""
    loading = asyncio.gather(*parts, return_exceptions=True)
    loading.add_done_callback(_log_failures)
    _under_way[asyncio.get_running_loop()] = loading
    return loading


def is_loading() -> bool:
    loading = _under_way.get(asyncio.get_running_loop())
    return loading is not None and not loading.done()


def _log_failures(loading: asyncio.Future[list[Any]]) -> None:
    results = [] if loading.cancelled() else loading.result()
    for result in results:
        if isinstance(result, Exception):
            logger.warning("something could not be loaded beforehand: %r", result)
