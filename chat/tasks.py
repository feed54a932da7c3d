"""Celery's side of conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from chat.review.records import answers_catch_up
from chat.review.replay.replays import replays_queue, replays_work
from chat.services.attachments import attachments_sweep
from chat.services.retention import sessions_erase, temporary_over, unkept_over
from chat.services.starters import starters_make
from retrieval.compose import close_engine

# Of a round; the next one goes on two minutes after it began.
MOST = 20_000
WITHIN_S = 90.0
UNKEPT_FOR = timedelta(
    minutes=10
)  # so that an answer that asked back is known when its reply comes
STARTERS_S = 60.0  # as for replays; what is left waits for the next message
REPLAYS_S = 60.0  # then documents that wait to be read get their turn

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


@shared_task
def answer_reviews_catch_up() -> int:
    """The rows of the review desk that are missing. Returns how many were made; a second message makes none."""
    return answers_catch_up(most=MOST, within_s=WITHIN_S)


@shared_task
def replays_work_task() -> bool:
    """Replays that are open, as long as nobody else works on them. Whether some are left, for the next message."""
    left = _in_engine(replays_work(within_s=REPLAYS_S))
    if left:
        replays_queue()
    return left


@shared_task
def attachments_sweep_task() -> int:
    """Delete files that were attached to conversations which never began. Of how many."""
    return attachments_sweep()


@shared_task
def conversations_forget() -> int:
    """Delete conversations that are not to be kept. Returns how many."""
    unkept = sum(sessions_erase(lambda: unkept_over(timezone.now() - UNKEPT_FOR)))
    temporary = sum(sessions_erase(lambda: temporary_over(timezone.now())))
    return unkept + temporary


@shared_task
def starters_make_task() -> int:
    """Questions that documents answer which have changed. Returns how many are new; another message finds none."""
    return _in_engine(starters_make(within_s=STARTERS_S))


def _in_engine(work: Coroutine[Any, Any, Result]) -> Result:
    """In an event loop of its own, with the loop's clients and database connection closed after it."""

    async def main() -> Result:
        try:
            return await work
        finally:
            await close_engine()
            await sync_to_async(close_old_connections)()

    return asyncio.run(main())
