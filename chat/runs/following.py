"""Follow an answer's events from any point, whatever has become of its log.

While the log is there it is read, then waited on. When it is gone (expired, or its server was flushed or restarted) the
database is looked at, and the log again, until either has the end. A run that stalls, and a database that is away,
delay the end; they don't make one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.db import Error as DatabaseError

from chat import selectors
from chat.messages.data import message_data
from chat.models import Message
from chat.runs import answers, event_log
from chat.runs.answers import answer_has_ended, answers_mark_interrupted
from chat.runs.event_log import FINAL_TYPES, Event, EventLogGoneError
from chat.runs.events import get_event_log
from chat.runs.run import DELETED, ending, run_find
from ragsite.core.database import database_call, is_database_away

logger = logging.getLogger(__name__)
POLL_S = 1.0


async def follow(message_id: UUID, *, after: int = 0) -> AsyncIterator[Event | None]:
    """Events with seq > after up to the final one; None at least every HEARTBEAT_S in which nothing happened.

    The caller has checked that the reader may see the message.
    """
    idle_s = min(event_log.HEARTBEAT_S, answers.STALE_AFTER_S)
    seen, quiet_since = after, time.monotonic()
    while True:
        try:
            async for event in get_event_log().read(str(message_id), after=seen, idle_s=idle_s):
                quiet_since = time.monotonic()
                if event is None:
                    yield None
                    if await _has_ended(message_id):
                        break  # its run died without a last event
                    continue
                seen = event["seq"]
                yield event
                if event["type"] in FINAL_TYPES:
                    return
            else:
                return  # the reader had everything
        except EventLogGoneError:
            pass
        if await _has_ended(message_id) and (events := await _from_database(message_id, after=seen)):
            for event in events:
                yield event
            return
        if time.monotonic() - quiet_since >= event_log.HEARTBEAT_S:
            quiet_since = time.monotonic()
            yield None
        await asyncio.sleep(min(POLL_S, event_log.HEARTBEAT_S))


async def final_event(message_id: UUID) -> Event:
    """The `done` or `error` of an answer, as soon as there is one."""
    async for event in follow(message_id):
        if event and event["type"] in FINAL_TYPES:
            return event
    raise EventLogGoneError(str(message_id))


async def _has_ended(message_id: UUID) -> bool:
    """False also while nobody knows: the database is away. A run of this process is known to live."""
    if run_find(message_id):
        return False
    try:
        await database_call(answers_mark_interrupted, pk=message_id)
        return await database_call(answer_has_ended, message_id)
    except DatabaseError as error:
        _waiting(message_id, error)
        return False


async def _from_database(message_id: UUID, *, after: int) -> list[Event]:
    """Empty while the database is away."""
    try:
        return await database_call(_replay, message_id, after)
    except DatabaseError as error:
        _waiting(message_id, error)
        return []


def _waiting(message_id: UUID, error: DatabaseError) -> None:
    """Raises what waiting can't mend."""
    if not is_database_away(error):
        raise error
    logger.warning("a reader of message %s waits for the database: %s", message_id, error)


def _replay(message_id: UUID, after: int) -> list[Event]:
    """What a finished message's log would come down to; a reader in the middle gets the end alone."""
    message = selectors.message_find(message_id)
    events: list[dict[str, Any]] = []
    if message is None:
        events.append({"type": "error", "done": True, "code": DELETED.code, "content": DELETED.message})
    else:
        data = message_data(message)
        if after <= 0:
            events += [*_beginning(message, data), *ending(data)]
        else:
            events += ending(data)[-1:]
    start = max(0, after)
    return [
        {"seq": start + number, "message_id": str(message_id), **event} for number, event in enumerate(events, start=1)
    ]


def _beginning(message: Message, data: dict[str, Any]) -> list[dict[str, Any]]:
    started = {
        "type": "started",
        "session_id": data["session_id"],
        "workflow": message.workflow,
        "user_message_id": data["reply_to"],
    }
    if not data["answer"]:
        return [started]
    return [
        started,
        {"type": "sources", "sources": data["sources"]},
        {"type": "chunk", "content": data["answer"]},
    ]
