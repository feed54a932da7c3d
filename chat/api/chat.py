"""Ask, stop, ask again, edit, continue, follow: `/api/chat` and `/api/messages/…`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.event_schema import EVENTS
from chat.api.question_serializers import (
    AskSerializer,
    ContinueSerializer,
    EditSerializer,
    RequestSerializer,
)
from chat.api.streaming import (
    EVENT_STREAM,
    ChatView,
    event_number,
    event_stream,
    finished_message,
    wants_events,
)
from chat.errors import MessageNotFoundError
from chat.messages.answer_serializers import AnswerSerializer
from chat.messages.data import message_data
from chat.models import Message
from chat.runs.answers import answers_mark_interrupted
from chat.services.ask import ask
from chat.services.stop import message_stop
from chat.services.versions import message_continue, message_edit, message_regenerate, message_show
from ragsite.core.api.fields import NoFieldsSerializer, checked, read_body
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.messages import worded

LAST_EVENT_ID = "The number of an event, to go on after it; what is none of ours counts as 0."
ANSWERED: dict[Any, Any] = {
    (200, "application/json"): AnswerSerializer,
    (200, EVENT_STREAM): EVENTS,
}


async def _answer(
    request: Request, message_id: UUID, *, stream: bool
) -> Response | StreamingHttpResponse:
    if wants_events(request, stream=stream):
        return event_stream(request, message_id)
    return Response(await finished_message(request, message_id))


class MessagePages(Pages):
    """100 messages a page unless `page_size` asks for others, 200 at most."""

    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 200


def _stored(user: User, message_id: UUID) -> Response:
    return Response(message_data(selectors.message_get(user=user, message_id=message_id)))


class ChatApi(ChatView):
    @extend_schema(
        operation_id="chat",
        request=AskSerializer,
        responses={**ANSWERED, **errors(409, 429)},
        tags=["chat"],
    )
    async def post(self, request: Request) -> Response | StreamingHttpResponse:
        """Ask a question. The answer is written to its end also when the connection closes."""
        serializer = await read_body(AskSerializer, request)
        run = await ask(user=asking_user(request), **serializer.arguments())
        return await _answer(request, run.message.pk, stream=serializer.validated_data["stream"])


class MessageApi(ChatView):
    @extend_schema(responses={200: AnswerSerializer}, tags=["messages"])
    def get(self, request: Request, message_id: UUID) -> Response:
        """One message, with what has been written of it so far."""
        user = asking_user(request)
        answers_mark_interrupted(pk=message_id, session__user=user)
        return _stored(user, message_id)


class MessageStopApi(ChatView):
    @extend_schema(request=None, responses={200: AnswerSerializer}, tags=["messages"])
    async def post(self, request: Request, message_id: UUID) -> Response:
        """Stop an answer that is being written; what has been written of it is kept."""
        await read_body(NoFieldsSerializer, request)
        user = asking_user(request)
        await message_stop(user=user, message_id=message_id)
        return await sync_to_async(_stored)(user, message_id)


class MessageRegenerateApi(ChatView):
    @extend_schema(
        request=RequestSerializer,
        responses={**ANSWERED, **errors(409, 429)},
        tags=["messages"],
    )
    async def post(self, request: Request, message_id: UUID) -> Response | StreamingHttpResponse:
        """Answer the question again, as it was asked but for the fields given here; the old answer is superseded."""
        serializer = await read_body(RequestSerializer, request)
        user = asking_user(request)
        run = await message_regenerate(
            user=user, message_id=message_id, request=serializer.request()
        )
        return await _answer(request, run.message.pk, stream=serializer.validated_data["stream"])


class MessageContinueApi(ChatView):
    @extend_schema(
        request=ContinueSerializer,
        responses={**ANSWERED, **errors(409, 429, 503)},
        tags=["messages"],
    )
    async def post(self, request: Request, message_id: UUID) -> Response | StreamingHttpResponse:
        """Go on with an answer that was cut, stopped or interrupted, from its sources and behind its text.

        Its events are numbered from 1 again; the first chunk is the text so far. 503 where there is no model.
        """
        serializer = await read_body(ContinueSerializer, request)
        await message_continue(user=asking_user(request), message_id=message_id)
        return await _answer(request, message_id, stream=serializer.validated_data["stream"])


class MessageEditApi(ChatView):
    @extend_schema(
        request=EditSerializer, responses={**ANSWERED, **errors(409, 429)}, tags=["messages"]
    )
    async def post(self, request: Request, message_id: UUID) -> Response | StreamingHttpResponse:
        """Ask a question in other words: a branch. What was asked and answered before stays, as another version."""
        serializer = await read_body(EditSerializer, request)
        run = await message_edit(
            user=asking_user(request), message_id=message_id, **serializer.arguments()
        )
        return await _answer(request, run.message.pk, stream=serializer.validated_data["stream"])


class MessageVersionsApi(ChatView):
    @extend_schema(
        operation_id="messages_versions_list",
        parameters=page_parameters(MessagePages),
        responses={200: page_of("VersionPage", AnswerSerializer(many=True))},
        tags=["messages"],
    )
    def get(self, request: Request, message_id: UUID) -> Response:
        """Of an answer those that were written for the same question, of a question those in other words; oldest
        first, this one included. The one that is shown is not `superseded`."""
        user = asking_user(request)
        message = selectors.message_get(user=user, message_id=message_id)
        answers_mark_interrupted(session=message.session_id)
        versions = selectors.version_list(user=user, message=message)
        return MessagePages().answer(
            versions, self, lambda page: list(map(message_data, selectors.with_versions(page)))
        )


class MessageShowApi(ChatView):
    @extend_schema(
        request=None, responses={200: AnswerSerializer, **errors(409)}, tags=["messages"]
    )
    def post(self, request: Request, message_id: UUID) -> Response:
        """Make this version the one that the conversation shows and goes on from."""
        user = asking_user(request)
        selectors.message_get(user=user, message_id=message_id)
        checked(NoFieldsSerializer, request.data)
        return Response(message_data(message_show(user=user, message_id=message_id)))


class MessageEventsApi(ChatView):
    @extend_schema(
        parameters=[
            OpenApiParameter(
                "Last-Event-ID",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                description=LAST_EVENT_ID,
            )
        ],
        responses={(200, EVENT_STREAM): EVENTS},
        tags=["messages"],
    )
    async def get(self, request: Request, message_id: UUID) -> StreamingHttpResponse:
        """Follow an answer: what was missed, then live to its end."""
        message = await sync_to_async(selectors.message_get)(
            user=asking_user(request), message_id=message_id
        )
        if message.role != Message.Role.ASSISTANT:
            raise MessageNotFoundError(
                worded("Only answers have events; this message is a question.")
            )
        return event_stream(
            request, message_id, after=event_number(request.headers.get("Last-Event-ID", ""))
        )
