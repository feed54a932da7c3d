"""Calls into the database from async code that outlives a request, and what a lost connection means.

Django renews a thread's connection between requests, and gives it back at their end. A run, a socket or a stream has
no requests, and most of its time is the model's: it gives its connection back after each call, so that a few
connections serve hundreds of answers at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import InterfaceError, OperationalError, connections, transaction

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

POOL_WAIT_S = 15.0  # that a call waits for a free connection
POOL_IDLE_S = 60.0  # after which one that nobody needs is closed
DATABASE_AWAY = (OperationalError, InterfaceError)
# SQLite reports mistakes in a statement, or a schema that was not migrated, with the same class.
MISTAKES = (
    "no such ",
    "syntax error",
    "has no column",
    "ambiguous column",
    "too many SQL variables",
)


class DatabaseAwayError(UnavailableError):
    """503: the database refuses connections, or has dropped them."""

    code = "database_unavailable"
    message = worded("The database is not reachable at the moment; try again shortly.")


def is_database_away(error: BaseException | None) -> bool:
    """Whether the database could not be asked: refused, dropped, shut down, locked or full. Waiting may help."""
    return isinstance(error, DATABASE_AWAY) and not any(
        mistake in str(error) for mistake in MISTAKES
    )


def after_commit(
    function: Callable[Parameters, object], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> None:
    """Call it once the transaction is committed; a failure is logged, and undoes nothing of what was stored.

    Django's log names what failed by its `__qualname__`, and fails itself where that is a partial.
    """

    @wraps(function)
    def call() -> None:
        function(*args, **kwargs)

    transaction.on_commit(call, robust=True)


@asynccontextmanager
async def own_database_thread() -> AsyncIterator[None]:
    """All synchronous calls in here run in one thread, one after the other, and so on one connection.

    A call that was given up may still run at the end, on a lock that somebody else holds: nobody waits for it. Tasks
    that outlive the block must not make such calls in its context.
    """
    executor = _GivingBack(1, thread_name_prefix="database")
    try:
        async with ThreadSensitiveContext(executor=executor):
            try:
                yield
            finally:
                await sync_to_async(connections.close_all)()
    finally:
        executor.shutdown(wait=False)


class _GivingBack(ThreadPoolExecutor):
    """Gives the thread's connections back after each call: with PostgreSQL to the pool of the process."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def call() -> Any:
            try:
                return function(*args, **kwargs)
            finally:
                give_back()

        return super().submit(call)


def give_back() -> None:
    """This thread's connections that are of no more use to it. SQLite's are kept: to open one costs more than to keep
    it, and no server counts them."""
    for connection in connections.all(initialized_only=True):
        if connection.vendor != "sqlite":
            connection.close_if_unusable_or_obsolete()


def pool_connections(*, at_most: int) -> None:
    """Keep up to so many connections of this process open, for all its threads together; a call waits for a free one.

    One that was dropped meanwhile is noticed before a call gets it. Call it before the first query. For processes that
    fork, as Celery's do, it is of no use. SQLite has no pool.
    """
    database = connections.settings["default"]
    if connections["default"].vendor == "postgresql":
        database["CONN_HEALTH_CHECKS"] = True
        options = database.setdefault("OPTIONS", {})
        options["pool"] = {
            "min_size": 0,
            "max_size": at_most,
            "timeout": POOL_WAIT_S,
            "max_idle": POOL_IDLE_S,
        }


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
        finally:
            give_back()  # a socket has no thread of its own, which would do it

    return await sync_to_async(call)()


def _drop_broken_connections() -> bool:
    """Close this thread's connections that failed and can't be used any more; the next query opens new ones."""
    dropped = False
    for connection in connections.all(initialized_only=True):
        if (
            connection.connection is None
            or connection.in_atomic_block
            or not connection.errors_occurred
        ):
            continue
        if connection.is_usable():
            connection.errors_occurred = False
        else:
            connection.close()
            dropped = True
    return dropped
