"""A run begins: its rows are stored off the event loop, and it outlives the request that asked for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from asgiref.sync import sync_to_async

from chat.runs.detached import detach
from chat.runs.draining import RestartingError, is_draining
from chat.runs.run import Run
from ragsite.runtime import live_settings


class EarlyRun:
    """The run of a question that nothing speaks against, which works while its rows are being stored."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._run: Run | None = None

    def begin(self, run: Run) -> None:
        """From the thread that stores them."""
        self._run = run
        self._loop.call_soon_threadsafe(run.work_early)

    def give_up(self) -> None:
        if self._run:
            self._run.give_up()


async def run_begin(create: Callable[[], Run], *, early: EarlyRun | None = None) -> Run:
    """Begin the run that `create` makes; it is called off the event loop. Raises RestartingError.

    early: given up where `create` fails.
    """
    if is_draining():
        raise RestartingError

    def created() -> Run:
        live_settings.refresh()
        return create()

    async def begin() -> Run:
        try:
            run = await sync_to_async(created)()
        except BaseException:
            if early:
                early.give_up()
            raise
        await run.start()
        return run

    # The request may be cancelled at any moment; what is stored gets its run all the same.
    return await asyncio.shield(detach(begin()))
