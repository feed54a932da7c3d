"""Stop an answer that is being written, in whichever process its run is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from redis.exceptions import RedisError

from chat import selectors
from chat.models import Message
from chat.runs.answers import answer_stop_silent
from chat.runs.detached import detach
from chat.runs.event_log import FINAL_TYPES, Event
from chat.runs.following import final_event, follow
from chat.runs.run import Run
from chat.runs.running import run_find
from chat.runs.stopping import stop_ask
from chat.services.ask import ask
from ragsite.accounts.auth import key_of
from ragsite.accounts.credentials import Credential, while_signed_in
from ragsite.core.database import database_call
from ragsite.core.errors import AppError

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 8.0


async def message_stop(*, user: User, message_id: UUID) -> None:
    """Return when the answer has ended and is stored; an answer that has ended already is left as it is.

    Raises MessageNotFoundError.
    """
    message = await database_call(selectors.message_get, user=user, message_id=message_id)
    if message.status == Message.Status.STREAMING or message.lease_token:
        await run_stop(message_id)


async def ask_or_stop(*, user: User, **arguments: Any) -> Run:
    """As `ask`, for a program that owns the answer: one that leaves meanwhile stops it, too. The conversation is kept
    only where the owner of the API key wants it."""
    key = key_of(user)
    asking = asyncio.create_task(
        ask(user=user, kept=key is not None and key.keeps_conversations, **arguments)
    )
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        detach(_stop_begun(asking))
        raise


async def _stop_begun(asking: asyncio.Task[Run]) -> None:
    with suppress(AppError):  # refused: there is nothing to stop
        await run_stop((await asking).message.pk)


async def follow_or_stop(
    message_id: UUID, credential: Credential | None
) -> AsyncIterator[Event | None]:
    """As `follow`, for a caller that owns the answer: who leaves before its end stops it. Raises SignedOutError."""
    ended = False
    try:
        async for event in while_signed_in(follow(message_id), credential):
            ended = event is not None and event["type"] in FINAL_TYPES
            yield event
    finally:
        if not ended:
            detach(run_stop(message_id))


async def run_stop(message_id: UUID) -> None:
    """Stop its run, here or elsewhere, and wait for its end; does not check whose it is."""
    if run := run_find(message_id):
        run.end("stopped")
        if run.task:
            await asyncio.wait({run.task}, timeout=STOP_TIMEOUT_S)
        return
    if settings.REDIS_URL:
        try:
            await stop_ask(message_id)
            await asyncio.wait_for(final_event(message_id), STOP_TIMEOUT_S)
        except (RedisError, OSError) as error:  # OSError: TimeoutError too
            logger.warning(
                "message %s could not be stopped elsewhere: %s", message_id, type(error).__name__
            )
    await database_call(answer_stop_silent, message_id=message_id)
