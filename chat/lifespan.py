"""What the chat does when a web process starts and when it stops (the ASGI lifespan protocol)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import Error as DatabaseError

from chat.runs.answers import answers_mark_interrupted
from chat.runs.draining import drain_begin
from chat.runs.event_log import close_event_log
from chat.runs.loading import loading_begin
from chat.runs.measuring import measure_lag
from chat.runs.running import runs_drain, runs_interrupt, runs_shut_down
from chat.services.take_over import answers_take_over
from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from ragsite.runtime import presence
from retrieval.compose import close_engine, get_engine, warm_up
from retrieval.engine.errors import ModelError
from retrieval.engine.providers.builtin import embed_texts
from retrieval.knowledge.ingest.reader import reader_warm_up

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 1.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """ASGI application of scope type `lifespan`."""
    await receive()  # lifespan.startup
    with _drained_at_signal():
        warm_up()
        try:
            await _start()
        except OtherProcessError as error:
            logger.error("%s", error)
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        # For the first page of a PDF that somebody opens, and for the first question.
        loading: list[asyncio.Future[Any]] = [
            loading_begin(asyncio.to_thread(reader_warm_up), _load_builtin_model()),
            asyncio.create_task(_load_models()),
            asyncio.create_task(_keep_showing()),
            asyncio.create_task(measure_lag()),
        ]
        if settings.REDIS_URL:
            loading.append(asyncio.create_task(answers_take_over()))
        await receive()  # lifespan.shutdown
        for task in loading:
            task.cancel()
        await _stop()
    await send({"type": "lifespan.shutdown.complete"})


@contextmanager
def _drained_at_signal() -> Iterator[None]:
    """At SIGTERM nothing new is begun, and the server stops once the answers have ended, or after
    RAGSITE_DRAIN_S. At SIGINT, and at a second signal, it stops at once.

    The server waits for open streams before it says that it stops; so the answers that are left end before that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    theirs = {
        number: handler for number in STOP_SIGNALS if callable(handler := signal.getsignal(number))
    }
    waiting: list[asyncio.Task[None]] = []

    def stop(number: signal.Signals, frame: FrameType | None) -> None:
        runs_interrupt()
        theirs[number](number, frame)

    async def drain(number: signal.Signals, frame: FrameType | None) -> None:
        logger.info(
            "no answer is begun any more; those that are being written have %g s",
            settings.SITE.drain_s,
        )
        if not await runs_drain(within_s=settings.SITE.drain_s):
            logger.warning("some answers did not end in time, and are left")
        stop(number, frame)

    def at_signal(number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        loop.call_soon_threadsafe(begin, received, frame)

    def begin(number: signal.Signals, frame: FrameType | None) -> None:
        drain_begin()
        if number == signal.SIGTERM and settings.SITE.drain_s and not waiting:
            waiting.append(loop.create_task(drain(number, frame)))
        else:
            stop(number, frame)

    for number in theirs:
        signal.signal(number, at_signal)
    try:
        yield
    finally:
        for task in waiting:
            task.cancel()
        for number, handler in theirs.items():
            signal.signal(number, handler)


async def _load_builtin_model() -> None:
    """Whatever embeds the documents, the citations of every written answer use it."""
    try:
        await asyncio.to_thread(embed_texts, ["ready"])
    except AppError as error:  # the first question tries again, and says what fails
        logger.warning("the built-in embedding model was not loaded: %s", error)


async def _load_models() -> None:
    try:
        await get_engine().models.load()
    except ModelError as error:  # pages and readiness say that there is none
        logger.info("no model was loaded beforehand: %s", error.reason)


class OtherProcessError(Exception):
    """Another web process serves this site, and nothing joins the two."""


async def _keep_showing() -> None:
    """That this process serves the site: `ragsite.checks` compares them."""
    while True:
        try:
            await database_call(presence.show, "web")
        except (DatabaseError, OSError) as error:  # a prompt that can't be read is one
            logger.warning("this process could not show itself: %s", error)
        await asyncio.sleep(presence.SHOWN_EVERY_S)


async def _alone() -> None:
    """Without Redis. One that was killed may still seem to be there for a while. Raises OtherProcessError."""
    until = asyncio.get_running_loop().time() + presence.GONE_AFTER_S
    while others := await database_call(presence.others, "web"):
        if asyncio.get_running_loop().time() > until:
            raise OtherProcessError(
                f"{others[0].name} serves this site already. Without REDIS_URL one web process alone may serve it: "
                "two would end each other's answers."
            )
        await asyncio.sleep(1)


async def _start() -> None:
    """Answers of a process that was killed become `interrupted`. Without Redis no other process has any running.

    Raises OtherProcessError.
    """
    try:
        if not settings.REDIS_URL:
            await _alone()
        count = await sync_to_async(answers_mark_interrupted)(at_start=not settings.REDIS_URL)
    except (
        DatabaseError
    ) as error:  # not migrated, or away: readiness says so; the next look marks them
        logger.warning("unfinished answers could not be looked for: %s", error)
        return
    if count:
        logger.info("%d unfinished answers marked as interrupted", count)


async def _stop() -> None:
    with contextlib.suppress(DatabaseError):  # others take it for gone after GONE_AFTER_S
        await database_call(presence.withdraw, "web")
    await runs_shut_down()
    await close_event_log()
    try:
        await asyncio.wait_for(close_engine(), CLOSE_TIMEOUT_S)
    except TimeoutError:
        logger.warning("the engine's connections did not close in %s s", CLOSE_TIMEOUT_S)
