"""Follow an answer's events from any point, whatever has become of its log.

While the log is there it is read, then waited on. When it is gone (expired, or its server was restarted) the end is
made from the database.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings

from chat import selectors
from chat.event_log import FINAL_TYPES, Event, EventLogGoneError
from chat.events import get_event_log
from chat.message_data import message_data
from chat.models import Message
from chat.runs import DELETED, INTERNAL, done_fields
from chat.services.answers import answers_mark_interrupted

POLL_S = 1.0


async def follow(message_id: UUID, *, after: int = 0) -> AsyncIterator[Event | None]:
    """Events with seq > after up to the final one; None at least every `heartbeat_s` in which nothing happened.

    The caller has checked that the reader may see the message.
    """
    limits = settings.RAG.limits
    idle_s = min(limits.heartbeat_s, limits.stale_after_s)
    seen = after
    try:
        async for event in get_event_log().read(str(message_id), after=after, idle_s=idle_s):
            if event is None:
                yield None
                if await _look(message_id) != Message.Status.STREAMING:
                    break  # its run died without a last event, or that event could not be logged
                continue
            seen = event["seq"]
            yield event
            if event["type"] in FINAL_TYPES:
                return
        else:
            return  # the reader had everything
    except EventLogGoneError:
        pass  # it expired, or its process ended: the database holds how the answer came out
    async for event in _from_database(message_id, after=seen):
        yield event


async def final_event(message_id: UUID) -> Event:
    """The `done` or `error` of an answer, as soon as there is one."""
    async for event in follow(message_id):
        if event and event["type"] in FINAL_TYPES:
            return event
    raise EventLogGoneError(str(message_id))


async def _from_database(message_id: UUID, *, after: int) -> AsyncIterator[Event | None]:
    quiet_since = time.monotonic()
    while await _look(message_id) == Message.Status.STREAMING:
        if time.monotonic() - quiet_since >= settings.RAG.limits.heartbeat_s:
            quiet_since = time.monotonic()
            yield None
        await asyncio.sleep(POLL_S)
    for event in await sync_to_async(_replay)(message_id, after):
        yield event


async def _look(message_id: UUID) -> str | None:
    await sync_to_async(answers_mark_interrupted)(pk=message_id)
    return await sync_to_async(selectors.message_status)(message_id)


def _replay(message_id: UUID, after: int) -> list[Event]:
    """What a finished message's log would come down to; a reader in the middle gets the end alone."""
    message = selectors.message_find(message_id)
    events: list[dict[str, Any]] = []
    if message is None:
        events.append({"type": "error", "done": True, "code": DELETED.code, "content": DELETED.message})
    else:
        data = message_data(message)
        if after <= 0:
            events += _beginning(message, data)
        events.append(_ending(data))
    start = max(0, after)
    return [
        {"type": event["type"], "seq": start + number, "message_id": str(message_id), **event}
        for number, event in enumerate(events, start=1)
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


def _ending(data: dict[str, Any]) -> dict[str, Any]:
    if data["status"] == Message.Status.FAILED:
        error = data["error"] or INTERNAL.as_dict()
        return {"type": "error", "done": True, "code": error["code"], "content": error["content"]}
    return {"type": "done", **done_fields(data)}
