"""Calls into the database from async code that outlives a request, and what a lost connection means.

Django renews a thread's connection between requests. A run, a socket or a stream has no requests: the connection that
it left open may have been dropped since, and every later call on it would fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import InterfaceError, OperationalError, connections

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

DATABASE_AWAY = (OperationalError, InterfaceError)
# SQLite reports mistakes in a statement, or a schema that was not migrated, with the same class.
MISTAKES = ("no such ", "syntax error", "has no column", "ambiguous column", "too many SQL variables")


class DatabaseAwayError(UnavailableError):
    """503: the database refuses connections, or has dropped them."""

    code = "database_unavailable"
    message = worded("The database is not reachable at the moment; try again shortly.")


def is_database_away(error: BaseException | None) -> bool:
    """Whether the database could not be asked: refused, dropped, shut down, locked or full. Waiting may help."""
    return isinstance(error, DATABASE_AWAY) and not any(mistake in str(error) for mistake in MISTAKES)


@asynccontextmanager
async def own_database_thread() -> AsyncIterator[None]:
    """All synchronous calls in here run in one thread, one after the other, and so on one connection.

    A call that was given up may still run at the end, on a lock that somebody else holds: nobody waits for it. Tasks
    that outlive the block must not make such calls in its context.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix="database")
    try:
        async with ThreadSensitiveContext(executor=executor):
            try:
                yield
            finally:
                await sync_to_async(connections.close_all)()
    finally:
        executor.shutdown(wait=False)


async def database_call(
    function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Run `function` in the thread that holds this task's connection.

    Where the connection turns out to have been dropped, once more on a new one; so only for what may be done twice:
    a read, or one transaction that comes to the same the second time.
    """

    def call() -> Result:
        _drop_broken_connections()
        try:
            return function(*args, **kwargs)
        except DATABASE_AWAY:
            if not _drop_broken_connections():
                raise
            return function(*args, **kwargs)

    return await sync_to_async(call)()


def _drop_broken_connections() -> bool:
    """Close this thread's connections that failed and can't be used any more; the next query opens new ones."""
    dropped = False
    for connection in connections.all(initialized_only=True):
        if connection.connection is None or connection.in_atomic_block or not connection.errors_occurred:
            continue
        if connection.is_usable():
            connection.errors_occurred = False
        else:
            connection.close()
            dropped = True
    return dropped
