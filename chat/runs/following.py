"""Follow an answer's events from any point, whatever has become of its log.

While the log is there it is read, then waited on. When it is gone (expired, or its server was flushed or restarted) the
database is looked at, and the log again, until either has the end. A run that stalls, and a database that is away,
delay the end; they don't make one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from uuid import UUID

from django.db import Error as DatabaseError

from chat import selectors
from chat.messages.data import message_data
from chat.runs import answers, event_log
from chat.runs.answers import answer_has_ended, answers_mark_interrupted
from chat.runs.endings import DELETED, ending, error_event
from chat.runs.event_log import FINAL_TYPES, Event, EventLogGoneError, get_event_log
from chat.runs.running import run_find
from ragsite.core.database import database_call, is_database_away

logger = logging.getLogger(__name__)
POLL_S = 1.0


async def follow(message_id: UUID, *, after: int = 0) -> AsyncIterator[Event | None]:
    """Events with seq > after up to the final one; None at least every HEARTBEAT_S in which nothing happened.

    The caller has checked that the reader may see the message.
    """
    idle_s = min(event_log.HEARTBEAT_S, answers.STALE_AFTER_S)
    seen = after
    while True:
        ended: list[Event] = []
        try:
            async for event in get_event_log().read(str(message_id), after=seen, idle_s=idle_s):
                if event is None:
                    if ended := await _end(message_id, seen):
                        break  # its run died without a last event
                    yield None
                    continue
                seen = event["seq"]
                yield event
                if event["type"] in FINAL_TYPES:
                    return
            else:
                return  # the reader had everything
        except EventLogGoneError:
            ended = await _end(message_id, seen)
        for event in ended:
            yield event
        if ended:
            return
        yield None
        await asyncio.sleep(min(POLL_S, event_log.HEARTBEAT_S))


async def final_event(message_id: UUID) -> Event:
    """The `done` or `error` of an answer, as soon as there is one."""
    async for event in follow(message_id):
        if event and event["type"] in FINAL_TYPES:
            return event
    raise EventLogGoneError(str(message_id))


async def _end(message_id: UUID, seen: int) -> list[Event]:
    """What an answer that has ended, or gone, still has for a reader who has seen so much. Empty while its run lives,
    and while the database is away, since it can't be known then."""
    if run_find(message_id):
        return []

    def look() -> list[Event]:
        answers_mark_interrupted(pk=message_id)
        return end_of(message_id, seen)

    try:
        return await database_call(look)
    except DatabaseError as error:
        if not is_database_away(error):
            raise
        logger.warning("a reader of message %s waits for the database: %s", message_id, error)
        return []


def end_of(message_id: UUID, seen: int) -> list[Event]:
    """What an answer still has for a reader who has seen so much. Empty where more is to be waited for."""
    return _replay(message_id, seen) if answer_has_ended(message_id) else []


def _replay(message_id: UUID, after: int) -> list[Event]:
    """What a finished message's log would come down to; a reader in the middle gets the end alone."""
    stored = selectors.message_find(message_id)
    if stored is None:
        events = [error_event(DELETED)]
    elif after > 0:
        events = ending(message_data(stored))[-1:]
    else:
        message = message_data(stored)
        started = {name: message[name] for name in ("session_id", "workflow")}
        events = [{"type": "started", **started, "user_message_id": message["reply_to"]}]
        if message["answer"]:
            events.append({"type": "sources", "sources": message["sources"]})
            events.append({"type": "chunk", "content": message["answer"]})
        events += ending(message)
    first = max(0, after) + 1
    return [
        {"seq": seq, "message_id": str(message_id), **event}
        for seq, event in enumerate(events, first)
    ]
