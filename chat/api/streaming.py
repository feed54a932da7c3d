"""Answers as Server-Sent Events, and as plain JSON once they are complete."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.errors import AnswerFailedError, MessageNotFoundError
from chat.messages.data import message_data
from chat.models import Message
from chat.runs.event_log import Event
from chat.runs.following import final_event, follow
from ragsite.accounts.credentials import (
    Credential,
    SignedOutError,
    credential_of_request,
    unless_signed_out,
    while_signed_in,
)
from ragsite.core.database import database_call

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = ": keep-alive\n\n"


class JsonOrEvents(BaseContentNegotiation):
    """What is not streamed is JSON, whatever `Accept` says: errors too. `?format=` is left to the calls themselves."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return next((parser for parser in parsers if _is_json(request, parser)), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = JSONRenderer()
        return renderer, renderer.media_type


def _is_json(request: Request, parser: Any) -> bool:
    content_type = (request.content_type or "").partition(";")[0].strip().lower()
    return content_type == parser.media_type


def wants_events(request: Request, *, stream: bool = False) -> bool:
    return stream or EVENT_STREAM in request.headers.get("Accept", "")


def event_stream(request: Request, message_id: UUID, *, after: int = 0) -> StreamingHttpResponse:
    """The events as SSE: `id:` is the number, `data:` the JSON; comments while nothing happens.

    When the request's session or token ends, the stream does, too, with an `error` event.
    """
    lines = _lines(message_id, after, credential_of_request(request))
    response = StreamingHttpResponse(lines, content_type=f"{EVENT_STREAM}; charset=utf-8")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"  # proxies would hold the chunks back
    return response


async def _lines(message_id: UUID, after: int, credential: Credential | None) -> AsyncIterator[str]:
    yield KEEP_ALIVE  # headers go out at once, before the first event
    seen = after
    try:
        async for event in while_signed_in(follow(message_id, after=after), credential):
            seen = event["seq"] if event else seen
            yield KEEP_ALIVE if event is None else sse(event)
    except SignedOutError as error:
        told = {"type": "error", "seq": seen + 1, "message_id": str(message_id), "done": True}
        told |= {"code": error.code, "content": error.message}
        # Without an id: the answer goes on, and who signs in again may follow it from the last event that has one.
        yield f"data: {json.dumps(told)}\n\n"


def sse(event: Event) -> str:
    return f"id: {event['seq']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


async def finished_response(request: Request, message_id: UUID) -> Response:
    """The answer once it is there. Raises as `finished_message` does."""
    return Response(await finished_message(request, message_id))


async def finished_message(request: Request, message_id: UUID) -> dict[str, Any]:
    """Wait for the answer's end. Raises AnswerFailedError with the failure's own status, SignedOutError."""
    event = await unless_signed_out(final_event(message_id), credential_of_request(request))
    if event["type"] == "done":
        message: dict[str, Any] = event["message"]
        return message
    raise await database_call(_failure, message_id, event)


def _failure(message_id: UUID, event: Event) -> AnswerFailedError | MessageNotFoundError:
    stored = Message.objects.filter(pk=message_id).values_list("error", flat=True).first()
    if stored is None:
        return MessageNotFoundError()
    return AnswerFailedError(
        code=event["code"],
        message=event["content"],
        status=stored.get("status", 500),
        retry_after_s=stored.get("retry_after_s"),
    )


def message_response_data(*, user: Any, message_id: UUID) -> dict[str, Any]:
    """Raises MessageNotFoundError."""
    return message_data(selectors.message_get(user=user, message_id=message_id))
