"""Work for the pauses of a process: it is done while no answer is written here, and put aside as soon as one is.

Few model servers answer two prompts as fast as one, so that whoever asks never waits for work that nobody has asked
for. What other processes write is not known here; their calls queue in the model server, as those of two people do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from chat.runs.detached import detach, optional_tasks
from chat.runs.draining import is_draining
from chat.runs.running import answer_is_written, running

Result = TypeVar("Result")
PAUSE_S = 1.0  # that no answer has been written for
LOOK_EVERY_S = 0.05  # whether one is
MOST_WAITING = 8  # pieces of work of a process, the one that is done included
logger = logging.getLogger(__name__)
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def begin_in_pauses(
    work: Callable[[], Coroutine[Any, Any, None]], *, within_s: float, name: str
) -> bool:
    """Do the work later, one piece after the other. False: too much waits already, or the process is about to end.

    within_s: from now on, the waiting included; what is not done by then is given up. name: by which `give_up` knows it.
    """
    if is_draining() or len(optional_tasks()) >= MOST_WAITING:
        return False

    async def in_turn() -> None:
        try:
            async with asyncio.timeout(within_s):
                async with _turn():
                    await work()
        except TimeoutError:
            logger.info("work for a pause was given up: none was long enough in %g s", within_s)
        except Exception:  # nobody waits for it, and nobody else would tell
            logger.exception("work for a pause broke")

    detach(in_turn(), is_optional=True).set_name(name)
    return True


def give_up(name: str) -> None:
    """Nobody has a use for it any more."""
    for task in optional_tasks():
        if task.get_name() == name:
            task.cancel()


async def in_pause(call: Callable[[], Awaitable[Result]]) -> Result:
    """What the call gives. It is begun in a pause, and begun again in the next one where an answer came between: then
    it is cancelled, which closes a model's connection."""
    while True:
        await _pause()
        working = asyncio.ensure_future(call())
        looking = asyncio.ensure_future(answer_is_written())
        try:
            await asyncio.wait({working, looking}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
        finally:
            for task in (working, looking):
                task.cancel()
            await asyncio.gather(working, looking, return_exceptions=True)


def _turn() -> asyncio.Lock:
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())


async def _pause() -> None:
    loop = asyncio.get_running_loop()
    since = loop.time()
    while running() or loop.time() < since + PAUSE_S:
        if running():
            since = loop.time()
        await asyncio.sleep(LOOK_EVERY_S)
