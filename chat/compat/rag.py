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
from chat.api.streaming import EVENT_STREAM, ChatView, event_number, event_stream, finished_message
from chat.errors import MessageNotFoundError
from chat.models import Message
from chat.runs.event_log import FINAL_TYPES, Event
from chat.services.ask import ask
from ragsite.core.api.fields import StrictSerializer, checked, read_body
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, PermissionDeniedError
from ragsite.core.messages import worded
from retrieval.knowledge.api.question_fields import QuestionField

WORKFLOW = "react"
TOOL_STEPS = ("retrieve", "rewrite", "web_search")  # of the decision path; the others are thoughts
NOTHING_LEFT = OpenApiResponse(
    description="`Last-Event-ID` was the last event; there is nothing to go on with."
)
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Go on after it; asks nothing.",
)


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
    sources = serializers.ListField(
        child=serializers.CharField(), help_text="File names; addresses of web pages."
    )
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
        body = (await read_body(RagQuerySerializer, request)).validated_data
        message = await finished_message(request, await _ask(request, body))
        steps = [
            {
                "type": "tool_call" if step["name"] in TOOL_STEPS else "reasoning",
                "content": step["summary"] or step["name"],
            }
            for step in message["decision_path"]
        ]
        shown = {"answer": message["answer"], "sources": _source_names(message), "steps": steps}
        return Response(rendered(RagAnswerSerializer, shown))


class RagQueryStreamApi(ChatView):
    http_method_names = ["get", "options"]  # a HEAD would ask, too

    @extend_schema(
        operation_id="rag_query_stream",
        parameters=[RagQuerySerializer, LAST_EVENT_ID],
        responses={(200, EVENT_STREAM): RAG_EVENTS, 204: NOTHING_LEFT, **errors(409, 413, 429)},
        tags=["rag"],
    )
    async def get(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        """The same as events, for an `EventSource`."""
        # A link on another site could otherwise ask in the name of its visitor: a GET sends the session's cookie.
        # Browsers say where a request comes from; a token is never sent by itself.
        if request.auth is None and request.headers.get("Sec-Fetch-Site", "none") not in (
            "same-origin",
            "none",
        ):
            raise PermissionDeniedError(
                worded("Questions can't be asked from pages of another site.")
            )
        last = request.headers.get("Last-Event-ID")
        if not last:
            query = {"query": request.query_params.get("query", "")}
            message_id = await _ask(request, checked(RagQuerySerializer, query))
            return event_stream(request, message_id, translate=_seed_event)
        # A browser that lost the connection gets what it missed, and asks nothing; 204 ends its attempts.
        named, _, number = last.partition(":")
        try:
            message_id = UUID(named)
        except ValueError as error:
            raise MessageNotFoundError from error
        message = await sync_to_async(selectors.message_get)(
            user=asking_user(request), message_id=message_id
        )
        if message.role != Message.Role.ASSISTANT:
            raise MessageNotFoundError
        if number == "end":
            return HttpResponse(status=204)
        return event_stream(request, message_id, after=event_number(number), translate=_seed_event)


async def _ask(request: Request, body: Mapping[str, Any]) -> UUID:
    """The id of the answer. Raises as `ask` does, and calls the question `query`."""
    try:
        run = await ask(
            user=asking_user(request),
            text=body["query"],
            request={"workflow": WORKFLOW, "assistant": ""},
        )
    except AppError as error:
        if "message" in error.fields:  # it is called so everywhere else
            error.fields["query"] = error.fields.pop("message")
        raise
    message_id: UUID = run.message.pk
    return message_id


def _seed_event(event: Event) -> tuple[str, Event] | None:
    """Id and data of an event as the seed has it; None for one that it does not know. The id names the message, too: a
    browser that reconnects sends it, and follows this answer instead of asking again."""
    name = f"{event['message_id']}:{'end' if event['type'] in FINAL_TYPES else event['seq']}"
    match event["type"]:
        case "reasoning" | "tool_call" | "chunk":
            return name, {"type": event["type"], "content": event["content"]}
        case "done":
            answer = event["answer"]
            sources = _source_names(event["message"])
            return name, {
                "type": "done",
                "content": answer,
                "done": True,
                "answer": answer,
                "sources": sources,
            }
        case "error":
            return name, {"type": "error", "content": event["content"], "done": True}
    return None


def _source_names(message: Mapping[str, Any]) -> list[str]:
    """Of the cited sources, each once; of all that were looked at where an answer cites none."""
    sources = [source for source in message["sources"] if source["cited"]]
    if not sources and message["decision"] == "ANSWER":
        sources = message["sources"]
    return list(
        dict.fromkeys(source["url"] or source["file_name"] or source["title"] for source in sources)
    )
