"""How the chat's calls answer: JSON, Server-Sent Events, or JSON once the answer is complete.

A handler that waits for a run is async; one that only reads or writes rows is a plain method.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

from adrf.views import APIView
from django.http import StreamingHttpResponse
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from chat.errors import MessageNotFoundError
from chat.models import Message
from chat.runs.endings import error_event
from chat.runs.event_log import Event
from chat.runs.following import final_event, follow
from ragsite.accounts.credentials import (
    SignedOutError,
    credential_of_request,
    unless_signed_out,
    while_signed_in,
)
from ragsite.core.api.schema import EVENT_STREAM
from ragsite.core.database import database_call
from ragsite.core.errors import AppError

KEEP_ALIVE = ": keep-alive\n\n"
# An event's id and data as another front has them; None where it leaves the event out.
Translation = Callable[[Event], tuple[str, Event] | None]


class JsonOrEvents(DefaultContentNegotiation):
    """What is not streamed is JSON, whatever `Accept` says: errors too. `?format=` is left to the calls themselves."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = JSONRenderer()
        return renderer, renderer.media_type


class ChatView(APIView):
    """JSON in, JSON or events out."""

    scope = "ask"
    content_negotiation_class = JsonOrEvents


def wants_events(request: Request, *, stream: bool = False) -> bool:
    """`stream`: what the body says; `Accept: text/event-stream` says the same."""
    return stream or EVENT_STREAM in request.headers.get("Accept", "")


def event_stream(
    request: Request, message_id: UUID, *, after: int = 0, translate: Translation | None = None
) -> StreamingHttpResponse:
    """The answer's events with a number > `after` as SSE, live to its end; comments while nothing happens.

    `id:` is the number, `data:` the JSON, unless `translate` makes others of them. When the request's session or token
    ends, the stream does, too, with an `error` event.
    """

    credential = credential_of_request(request)

    async def lines() -> AsyncIterator[str]:
        yield KEEP_ALIVE  # headers go out at once, before the first event
        seen = after
        try:
            async for event in while_signed_in(follow(message_id, after=after), credential):
                if event is None:
                    yield KEEP_ALIVE
                    continue
                seen = event["seq"]
                if entry := translate(event) if translate else (str(seen), event):
                    yield f"id: {entry[0]}\ndata: {json.dumps(entry[1], ensure_ascii=False)}\n\n"
        except SignedOutError as error:
            last = error_event(error)
            if translate is None:
                last |= {"seq": seen + 1, "message_id": str(message_id)}
            # Without an id: the answer goes on, and who signs in again may follow it from the last event that has one.
            yield f"data: {json.dumps(last, ensure_ascii=False)}\n\n"

    return streamed(lines())


def streamed(lines: AsyncIterator[str]) -> StreamingHttpResponse:
    """Server-Sent Events, sent as they come."""
    response = StreamingHttpResponse(lines, content_type=f"{EVENT_STREAM}; charset=utf-8")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"  # proxies would hold the chunks back
    return response


def event_number(text: str) -> int:
    """The number in a `Last-Event-ID`; what is not one of ours counts as 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


async def finished_message(request: Request, message_id: UUID) -> dict[str, Any]:
    """Wait for the answer's end; its `message_data`.

    Raises AppError with the failure's own status, MessageNotFoundError, SignedOutError.
    """
    return await message_of_end(
        message_id, await unless_signed_out(final_event(message_id), credential_of_request(request))
    )


async def message_of_end(message_id: UUID, event: Event) -> dict[str, Any]:
    """Of an answer's last event. Raises AppError, MessageNotFoundError."""
    if event["type"] == "done":
        message: dict[str, Any] = event["message"]
        return message
    failures = Message.objects.filter(pk=message_id).values_list("error", flat=True)
    failure = await database_call(failures.first)
    if failure is None:
        raise MessageNotFoundError
    raise AppError(
        event["content"],
        code=event["code"],
        status=failure.get("status", 500),
        retry_after_s=failure.get("retry_after_s"),
    )
