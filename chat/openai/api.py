"""OpenAI's API at `/v1`: models, and chat completions. Any client of OpenAI's asks the site by it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.streaming import EVENT_STREAM, ChatView, message_of_end, streamed
from chat.assistant_selectors import assistant_find, assistant_list
from chat.models import Assistant, Message
from chat.openai.completions import Chunks, Numbering, completion, content_of
from chat.openai.output_serializers import (
    CompletionSerializer,
    OpenAIModelListSerializer,
    OpenAIModelSerializer,
)
from chat.openai.serializers import (
    BY_ASSISTANT,
    MODEL,
    ChatCompletionSerializer,
    ModelNotFoundError,
    model_names,
    model_request,
)
from chat.runs.event_log import Event
from chat.services.assistant_asked import asked_assistant
from chat.services.stop import ask_or_stop, follow_or_stop
from ragsite.accounts.auth import key_of
from ragsite.accounts.credentials import SignedOutError, credential_of_request
from ragsite.core.api.error_responses import OPENAI, error_data, openai_error
from ragsite.core.api.fields import read_body
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import OpenAIErrorSerializer, errors
from ragsite.core.api.user import asking_user
from ragsite.core.database import database_call
from retrieval.knowledge.selectors import collection_list, collections_find

COLLECTIONS_LISTED = 100
ASSISTANTS_LISTED = 100
CONTINUED = timedelta(days=1)  # a conversation that is kept goes on as one for this long
LOOKED_AT = 10  # answers


class ModelsApi(ChatView):
    @extend_schema(
        operation_id="openai_models", responses=OpenAIModelListSerializer, tags=["openai"]
    )
    def get(self, request: Request) -> Response:
        """`ragsite`, how carefully it is to answer, each workflow, each collection that you see, and each assistant."""
        user = asking_user(request)
        seen = collection_list(user=user)[:COLLECTIONS_LISTED]
        assistants = assistant_list(user=user)[:ASSISTANTS_LISTED]
        names = [*model_names(), *(f"{MODEL}:{collection.address}" for collection in seen)]
        names += [f"{BY_ASSISTANT}{assistant.address}" for assistant in assistants]
        shown = {"object": "list", "data": [_model(name) for name in names]}
        return Response(rendered(OpenAIModelListSerializer, shown))


class ModelApi(ChatView):
    @extend_schema(operation_id="openai_model", responses=OpenAIModelSerializer, tags=["openai"])
    def get(self, request: Request, name: str) -> Response:
        user = asking_user(request)
        asked = model_request(name)
        found: list[Any] = [
            *collections_find(user=user, names=asked.get("collections", ())).values()
        ]
        if assistant := asked.get("assistant"):
            found.append(assistant_find(user=user, address=assistant))
        if None in found:
            raise ModelNotFoundError
        return Response(rendered(OpenAIModelSerializer, _model(name)))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ragsite"}


class ChatCompletionsApi(ChatView):
    @extend_schema(
        operation_id="openai_chat_completions",
        request=ChatCompletionSerializer,
        responses={
            (200, "application/json"): CompletionSerializer,
            (200, EVENT_STREAM): OpenApiTypes.STR,
            **errors(409, 429, form=OpenAIErrorSerializer),
        },
        tags=["openai"],
    )
    async def post(self, request: Request) -> Response | StreamingHttpResponse:
        """An answer to the last message. Closing the connection stops it."""
        serializer = await read_body(ChatCompletionSerializer, request)
        body = serializer.validated_data
        arguments = serializer.arguments()
        user = asking_user(request)
        session_id = (
            await database_call(_continued, user, arguments["request"]) if key_of(user) else None
        )
        run = await ask_or_stop(user=user, session_id=session_id, **arguments)
        events = follow_or_stop(run.message.pk, credential_of_request(request))
        about = {
            "model": body["model"],
            "site": request.build_absolute_uri("/"),
            "ignored": serializer.ignored,
        }
        if body["stream"]:
            with_usage = (body.get("stream_options") or {}).get("include_usage", False)
            return streamed(_lines(events, str(run.message.pk), with_usage=with_usage, **about))
        last: Event = {}
        async for event in events:
            last = event or last
        shown = completion(await message_of_end(run.message.pk, last), **about)
        return Response(rendered(CompletionSerializer, shown))


async def _lines(
    events: AsyncIterator[Event | None],
    message_id: str,
    *,
    model: str,
    site: str,
    ignored: Sequence[str],
    with_usage: bool,
) -> AsyncIterator[str]:
    """Server-Sent Events as OpenAI sends them; comments while nothing happens."""
    chunks = Chunks(message_id, model=model)
    numbering = Numbering()
    yield _line(chunks.delta(role="assistant", content=""))
    try:
        async for event in events:
            match event:
                case None:
                    yield ": keep-alive\n\n"
                case {"type": "sources", "sources": sources}:
                    numbering.markers.update(source["marker"] for source in sources)
                case {"type": "chunk", "content": content}:
                    if text := numbering.feed(content):
                        yield _line(chunks.delta(content=text))
                case {"type": "done", "message": message}:
                    if text := numbering.finish():
                        yield _line(chunks.delta(content=text))
                    for chunk in chunks.last(
                        message, site=site, ignored=ignored, with_usage=with_usage
                    ):
                        yield _line(chunk)
                    yield "data: [DONE]\n\n"
                case {"type": "error", "code": code, "content": content}:
                    yield _line(
                        openai_error({"code": code, "message": content, "fields": {}}, status=500)
                    )
    except SignedOutError as error:
        yield _line(error_data(error, path=OPENAI))


def _line(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def _continued(user: Any, request: Mapping[str, Any]) -> UUID | None:
    """The conversation of this key that ends as the request's history does, and was held with the assistant that is
    asked now; None: another one begins."""
    history = request["history"]
    if [message["role"] for message in history[-2:]] != ["user", "assistant"]:
        return None
    own = selectors.own_messages(user).filter(
        _held_with(asked_assistant(request, user=user)),
        session__key=key_of(user),
        role=Message.Role.ASSISTANT,
        superseded=False,
    )
    recent = own.filter(
        created_at__gt=timezone.now() - CONTINUED, reply_to__text=history[-2]["text"]
    )
    last = recent.exclude(status=Message.Status.STREAMING).exclude(
        reply_to__followed_by__isnull=False
    )
    for answer in last.order_by("-created_at").prefetch_related("sources")[:LOOKED_AT]:
        sources = [{"marker": source.marker} for source in answer.sources.all()]
        content, _ = content_of(
            {"answer": answer.text, "clarification": answer.clarification, "sources": sources}
        )
        if content.strip() == history[-1]["text"].strip():
            return answer.session_id
    return None


def _held_with(assistant: Assistant | None) -> Q:
    """Answers of conversations that were held with it last, or with none."""
    if assistant is None:
        return Q(session__assistant={})
    return Q(session__assistant__id=str(assistant.pk))
