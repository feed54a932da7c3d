"""`POST /api/rag/query` and `GET /api/rag/query-stream`: the `react` workflow behind seed 004's own calls.

Sources are file names there (addresses for web pages), steps and events are `{type, content}`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from chat.api.event_schema import RAG_EVENTS
from chat.api.streaming import (
    EVENT_STREAM,
    ChatView,
    Translation,
    event_number,
    event_stream,
    finished_message,
)
from chat.errors import MessageNotFoundError
from chat.models import Message
from chat.runs.event_log import FINAL_TYPES, Event
from chat.runs.following import follow
from chat.services.ask import Ask, ask
from ragsite.accounts.credentials import credential_of_request, unless_signed_out
from ragsite.core.api.fields import StrictSerializer
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, PermissionDeniedError
from ragsite.core.wording import worded
from retrieval.api.serializers import QuestionField

WORKFLOW = "react"
NOTHING_LEFT = OpenApiResponse(description="`Last-Event-ID` was the last event; there is nothing to go on with.")


class RagQuerySerializer(StrictSerializer):
    """The question, under seed 004's name."""

    query = QuestionField()


class RagStepSerializer(serializers.Serializer[Any]):
    """One line for people."""

    type = serializers.CharField(help_text="reasoning or tool_call.")
    content = serializers.CharField()


class RagAnswerSerializer(serializers.Serializer[Any]):
    """An answer without its scores and times."""

    answer = serializers.CharField(help_text="Markdown with [1] markers.")
    sources = serializers.ListField(child=serializers.CharField(), help_text="File names; addresses of web pages.")
    steps = RagStepSerializer(many=True)


class RagQueryApi(ChatView):
    """`POST /api/rag/query`."""

    @extend_schema(
        operation_id="rag_query",
        request=RagQuerySerializer,
        responses={200: RagAnswerSerializer, **errors(409, 429)},
        tags=["rag"],
    )
    async def post(self, request: Request) -> Response:
        """Ask all that is searched unasked, by the `react` workflow, and wait for the whole answer."""
        message_id = await _ask(request, request.data)
        steps = await unless_signed_out(_steps(message_id), credential_of_request(request))
        message = await finished_message(request, message_id)
        if not steps:  # the answer's events are gone already
            path = message["decision_path"]
            steps = [{"type": "reasoning", "content": step["summary"] or step["name"]} for step in path]
        return Response({"answer": message["answer"], "sources": _source_names(message), "steps": steps})


class RagQueryStreamApi(ChatView):
    """`GET /api/rag/query-stream?query=…`."""

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
        last = request.headers.get("Last-Event-ID")
        if not last:
            message_id = await _ask(request, {"query": request.query_params.get("query", "")})
            return event_stream(request, message_id, translate=_translation(message_id))
        # A browser that lost the connection gets what it missed; 204 ends its attempts.
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
        return event_stream(request, message_id, after=event_number(number), translate=_translation(message_id))


async def _ask(request: Request, data: Any) -> UUID:
    """The id of the answer. Raises as `ask` does, and calls the question `query`."""
    serializer = RagQuerySerializer(data=data)
    serializer.is_valid(raise_exception=True)
    question = Ask(text=serializer.validated_data["query"], workflow=WORKFLOW)
    try:
        return (await ask(user=asking_user(request), question=question)).message_id
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
        raise PermissionDeniedError(worded("Questions can't be asked from pages of another site."))


# ------------------------------------------------------------------------------------------------ the seed's form
def _translation(message_id: UUID) -> Translation:
    """Events as the seed has them. Their ids name the message, too.

    A browser that reconnects sends the id, and follows this answer instead of asking again. A step that only repeats
    what its tool call said is left out, and so are events that the seed does not know.
    """
    called = ""

    def translate(event: Event) -> tuple[str, Event] | None:
        nonlocal called
        name = f"{message_id}:{'end' if event['type'] in FINAL_TYPES else event['seq']}"
        match event["type"]:
            case "reasoning" if event["content"] == called:
                return None
            case "reasoning" | "tool_call" | "chunk":
                called = event["content"] if event["type"] == "tool_call" else called
                return name, {"type": event["type"], "content": event["content"]}
            case "done":
                answer, sources = event["message"]["answer"], _source_names(event["message"])
                return name, {"type": "done", "content": answer, "done": True, "answer": answer, "sources": sources}
            case "error":
                return name, {"type": "error", "content": event["content"], "done": True}
        return None

    return translate


async def _steps(message_id: UUID) -> list[Event]:
    """What was thought and which tools were called, in order, once the answer has ended."""
    translate = _translation(message_id)
    entries = [translate(event) async for event in follow(message_id) if event]
    return [entry[1] for entry in entries if entry and entry[1]["type"] in ("reasoning", "tool_call")]


def _source_names(message: Mapping[str, Any]) -> list[str]:
    """Of the cited sources, each once; of all that were looked at where an answer cites none."""
    sources = [source for source in message["sources"] if source["cited"]]
    if not sources and message["decision"] == "ANSWER":
        sources = message["sources"]
    return list(dict.fromkeys(source["url"] or source["file_name"] or source["title"] for source in sources))
