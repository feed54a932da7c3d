"""The runs of this process, and how they end with it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings

from chat.runs.detached import detached_tasks, optional_tasks

if TYPE_CHECKING:
    from chat.runs.run import Run

logger = logging.getLogger(__name__)
SHUT_DOWN_S = 4.0  # what all runs of a process that stops have together, the storing of their answers included
_runs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Run]] = WeakKeyDictionary()
_writing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = WeakKeyDictionary()


def running() -> dict[UUID, Run]:
    """By the id of the message that each writes."""
    return _runs.setdefault(asyncio.get_running_loop(), {})


def run_entered(run: Run) -> None:
    """It is written from now on."""
    running()[run.message.pk] = run
    _is_writing().set()


def run_left(message_id: UUID) -> None:
    running().pop(message_id, None)
    if not running():
        _is_writing().clear()


async def answer_is_written() -> None:
    """Return as soon as this process writes an answer."""
    await _is_writing().wait()


def _is_writing() -> asyncio.Event:
    return _writing.setdefault(asyncio.get_running_loop(), asyncio.Event())


def run_find(message_id: UUID) -> Run | None:
    """The run, if this process has it."""
    return running().get(message_id)


async def runs_drain(*, within_s: float) -> bool:
    """Wait until every answer of this process has ended, those included that are just being stored. False: not yet."""
    try:
        async with asyncio.timeout(within_s):
            while tasks := detached_tasks():
                await asyncio.wait(tasks)
    except TimeoutError:
        return False
    return True


def runs_interrupt() -> None:
    """Tell every run of this process to end. With Redis another process goes on with their answers; without, they
    become `interrupted` with the text they have."""
    for run in running().values():
        run.end("handed_over" if settings.REDIS_URL else "interrupted")


async def runs_shut_down() -> None:
    """End every run of this process and wait for their ends, `SHUT_DOWN_S` at most. What is optional is given up."""
    runs_interrupt()
    given_up = optional_tasks()
    for task in given_up:
        task.cancel()
    await asyncio.gather(*given_up, return_exceptions=True)
    if tasks := [run.task for run in running().values() if run.task]:
        _, pending = await asyncio.wait(tasks, timeout=SHUT_DOWN_S)
        if pending:
            logger.error("%d answers could not be stored before the process stopped", len(pending))
