"""Runs a piece of the engine's asynchronous work from a round, which is synchronous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from asgiref.sync import async_to_sync

from retrieval.engine import Engine, close_engine, get_engine, has_engine

Result = TypeVar("Result")


def with_engine(work: Callable[[Engine], Awaitable[Result]]) -> Result:
    """On the running loop's engine where there is one (a round started from the admin), else on one made for it."""

    async def main() -> Result:
        own = not has_engine()
        try:
            return await work(get_engine())
        finally:
            if own:
                await close_engine()

    return async_to_sync(main)()
