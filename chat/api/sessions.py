"""Conversations: list, search, rename, delete, export, and their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.base import ChatView, MessagePagination
from chat.api.serializers import AnswerSerializer, SessionSerializer, SessionUpdateSerializer
from chat.messages.data import message_data, session_data
from chat.runs.answers import answers_mark_interrupted
from chat.services.export import session_export
from chat.services.sessions import session_delete, session_update
from ragsite.core.api.fields import QueryFlagField, QuerySerializer
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.user import asking_user

EXPORT_FORMATS = ("markdown", "json")


def _page(
    view: ChatView,
    request: Request,
    rows: QuerySet[Any],
    row_data: Callable[[Any], dict[str, Any]],
    pagination: type[Pages] = Pages,
) -> Response:
    paginator = pagination()
    page = paginator.paginate_queryset(rows, request, view=view) or []
    return paginator.get_paginated_response([row_data(row) for row in page])


class SessionListQuerySerializer(QuerySerializer):
    search = serializers.CharField(
        required=False, allow_blank=True, max_length=200, default="", help_text="In titles and messages."
    )


class MessageListQuerySerializer(QuerySerializer):
    superseded = QueryFlagField(required=False, default=False, help_text="Also answers that were written anew.")


class SessionExportQuerySerializer(QuerySerializer):
    format = serializers.ChoiceField(choices=EXPORT_FORMATS, required=False, default=EXPORT_FORMATS[0])


def _query(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The checked query parameters. Raises ValidationError."""
    checked = serializer(data=request.query_params)
    checked.is_valid(raise_exception=True)
    values: dict[str, Any] = checked.validated_data
    return values


class SessionListApi(ChatView):
    @extend_schema(
        operation_id="sessions_list",
        parameters=[SessionListQuerySerializer, *page_parameters()],
        responses={200: page_of("SessionPage", SessionSerializer(many=True))},
        tags=["sessions"],
    )
    async def get(self, request: Request) -> Response:
        """Your sessions, last used first."""
        query = _query(SessionListQuerySerializer, request)
        sessions = selectors.session_list(user=asking_user(request), search=query["search"])
        return await sync_to_async(_page)(self, request, sessions, session_data)


class SessionApi(ChatView):
    @extend_schema(responses={200: SessionSerializer}, tags=["sessions"])
    async def get(self, request: Request, session_id: UUID) -> Response:
        session = await sync_to_async(selectors.session_get)(user=asking_user(request), session_id=session_id)
        return Response(session_data(session))

    @extend_schema(request=SessionUpdateSerializer, responses={200: SessionSerializer}, tags=["sessions"])
    async def patch(self, request: Request, session_id: UUID) -> Response:
        """Rename it."""
        user = asking_user(request)
        await sync_to_async(selectors.session_get)(user=user, session_id=session_id)
        serializer = SessionUpdateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        title = serializer.validated_data["title"]
        session = await sync_to_async(session_update)(user=user, session_id=session_id, title=title)
        return Response(session_data(session))

    @extend_schema(responses={204: None}, tags=["sessions"])
    async def delete(self, request: Request, session_id: UUID) -> Response:
        """Delete it with all its messages; an answer being written is stopped."""
        await session_delete(user=asking_user(request), session_id=session_id)
        return Response(status=204)


class SessionMessagesApi(ChatView):
    @extend_schema(
        operation_id="sessions_messages_list",
        parameters=[MessageListQuerySerializer, *page_parameters(MessagePagination)],
        responses={200: page_of("MessagePage", AnswerSerializer(many=True))},
        tags=["sessions"],
    )
    async def get(self, request: Request, session_id: UUID) -> Response:
        """The conversation: questions in order, each followed by its answer."""
        return await sync_to_async(self._messages)(request, asking_user(request), session_id)

    def _messages(self, request: Request, user: User, session_id: UUID) -> Response:
        session = selectors.session_get(user=user, session_id=session_id)
        answers_mark_interrupted(session=session)
        superseded = _query(MessageListQuerySerializer, request)["superseded"]
        messages = selectors.message_list(user=user, session=session, superseded=superseded)
        return _page(self, request, messages, message_data, MessagePagination)


class SessionExportApi(ChatView):
    @extend_schema(
        parameters=[SessionExportQuerySerializer],
        responses={(200, "text/markdown"): OpenApiTypes.STR, (200, "application/json"): OpenApiTypes.OBJECT},
        tags=["sessions"],
    )
    async def get(self, request: Request, session_id: UUID) -> HttpResponse:
        """The conversation as a file."""
        return await sync_to_async(_export)(request, asking_user(request), session_id)


def _export(request: Request, user: User, session_id: UUID) -> HttpResponse:
    session = selectors.session_get(user=user, session_id=session_id)
    as_json = _query(SessionExportQuerySerializer, request)["format"] == "json"
    name, media_type, content = session_export(user=user, session=session, as_json=as_json)
    disposition = content_disposition_header(True, name) or "attachment"
    return HttpResponse(content, content_type=media_type, headers={"Content-Disposition": disposition})
