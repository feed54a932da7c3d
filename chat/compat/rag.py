"""`POST /api/rag/query` and `GET /api/rag/query-stream`: the `react` workflow behind seed 004's own calls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.base import ChatView
from chat.api.event_schema import RAG_EVENTS
from chat.api.streaming import EVENT_STREAM, KEEP_ALIVE, finished_message
from chat.compat.react_events import WORKFLOW, answer_of, seed_events, steps_of
from chat.errors import MessageNotFoundError
from chat.models import Message
from chat.runs.run import Assignment
from chat.services.ask import Ask, ask
from ragsite.accounts.credentials import (
    Credential,
    SignedOutError,
    credential_of_request,
    unless_signed_out,
    while_signed_in,
)
from ragsite.core.api.fields import StrictSerializer
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, PermissionDeniedError
from retrieval.api.serializers import QuestionField

NOTHING_LEFT = OpenApiResponse(description="`Last-Event-ID` was the last event; there is nothing to go on with.")


class RagQuerySerializer(StrictSerializer):
    query = QuestionField()


class RagStepSerializer(serializers.Serializer[Any]):
    type = serializers.CharField(help_text="reasoning or tool_call.")
    content = serializers.CharField()


class RagAnswerSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="Markdown with [1] markers.")
    sources = serializers.ListField(child=serializers.CharField(), help_text="File names; addresses of web pages.")
    steps = RagStepSerializer(many=True)


class RagQueryApi(ChatView):
    @extend_schema(
        operation_id="rag_query",
        request=RagQuerySerializer,
        responses={200: RagAnswerSerializer, **errors(409, 429)},
        tags=["rag"],
    )
    async def post(self, request: Request) -> Response:
        """Ask all that is searched unasked, by the `react` workflow, and wait for the whole answer."""
        assignment = await _asked(request, request.data)
        steps = await unless_signed_out(steps_of(assignment.message_id), credential_of_request(request))
        return Response(answer_of(await finished_message(request, assignment.message_id), steps))


class RagQueryStreamApi(ChatView):
    http_method_names = ["get", "options"]  # a HEAD would ask, too

    @extend_schema(
        operation_id="rag_query_stream",
        parameters=[
            RagQuerySerializer,
            OpenApiParameter(
                "Last-Event-ID", OpenApiTypes.STR, OpenApiParameter.HEADER, description="Go on after it; asks nothing."
            ),
        ],
        responses={(200, EVENT_STREAM): RAG_EVENTS, 204: NOTHING_LEFT, **errors(409, 413, 429)},
        tags=["rag"],
    )
    async def get(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        """The same as events, for an `EventSource`."""
        refuse_other_sites(request)
        if last := request.headers.get("Last-Event-ID"):
            return await _resumed(request, last)
        assignment = await _asked(request, {"query": request.query_params.get("query", "")})
        return _stream(request, assignment.message_id)


async def _asked(request: Request, data: Any) -> Assignment:
    serializer = RagQuerySerializer(data=data)
    serializer.is_valid(raise_exception=True)
    question = Ask(text=serializer.validated_data["query"], workflow=WORKFLOW)
    try:
        return await ask(user=asking_user(request), question=question)
    except AppError as error:
        if "message" in error.fields:  # it is called so everywhere else
            error.fields["query"] = error.fields.pop("message")
        raise


def refuse_other_sites(request: Request) -> None:
    """A link on another site could otherwise ask in the name of who follows it: a GET sends the session's cookie.

    Raises PermissionDeniedError. Browsers say where a request comes from; a token is never sent by itself.
    """
    comes_from = request.headers.get("Sec-Fetch-Site", "none")
    if request.auth is None and comes_from not in ("same-origin", "none"):
        raise PermissionDeniedError("Questions can't be asked from pages of another site.")


async def _resumed(request: Request, last: str) -> HttpResponse | StreamingHttpResponse:
    """A browser that lost the connection: what it missed; 204 ends its attempts. Raises MessageNotFoundError."""
    named, _, number = last.partition(":")
    try:
        message_id = UUID(named)
    except ValueError as error:
        raise MessageNotFoundError from error
    message = await sync_to_async(selectors.message_get)(user=asking_user(request), message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise MessageNotFoundError
    if number == "end":
        return HttpResponse(status=204)
    return _stream(
        request, message_id, after=int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    )


def _stream(request: Request, message_id: UUID, *, after: int = 0) -> StreamingHttpResponse:
    lines = _lines(message_id, after, credential_of_request(request))
    response = StreamingHttpResponse(lines, content_type=f"{EVENT_STREAM}; charset=utf-8")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"  # proxies would hold the chunks back
    return response


async def _lines(message_id: UUID, after: int, credential: Credential | None) -> AsyncIterator[str]:
    yield KEEP_ALIVE  # headers go out at once, before the first event
    try:
        async for entry in while_signed_in(seed_events(message_id, after=after), credential):
            if entry is None:
                yield KEEP_ALIVE
            else:
                name, event = entry
                yield f"id: {name}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
    except SignedOutError as error:
        told = {"type": "error", "code": error.code, "content": error.message, "done": True}
        yield f"data: {json.dumps(told)}\n\n"
