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
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.base import ChatView, MessagePagination, errors, user_of
from chat.api.serializers import AnswerSerializer, SessionSerializer, SessionUpdateSerializer
from chat.message_data import message_data, session_data
from chat.services.answers import answers_mark_interrupted
from chat.services.export import session_export
from chat.services.sessions import session_delete, session_update
from ragsite.errors import InvalidInputError

EXPORT_FORMATS = ("markdown", "json")


def _paged(name: str, item: serializers.BaseSerializer[Any]) -> Any:
    return inline_serializer(
        name,
        {
            "count": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": item,
        },
    )


def _page(
    view: ChatView,
    request: Request,
    rows: QuerySet[Any],
    row_data: Callable[[Any], dict[str, Any]],
    pagination: type[PageNumberPagination] = PageNumberPagination,
) -> Response:
    paginator = pagination()
    page = paginator.paginate_queryset(rows, request, view=view) or []
    return paginator.get_paginated_response([row_data(row) for row in page])


PAGE = OpenApiParameter("page", OpenApiTypes.INT)


class SessionListApi(ChatView):
    @extend_schema(
        operation_id="sessions_list",
        parameters=[OpenApiParameter("search", OpenApiTypes.STR, description="In titles and messages."), PAGE],
        responses={200: _paged("SessionPage", SessionSerializer(many=True)), **errors(404)},
        tags=["sessions"],
    )
    async def get(self, request: Request) -> Response:
        """Your sessions, last used first."""
        sessions = selectors.session_list(user=user_of(request), search=request.query_params.get("search", ""))
        return await sync_to_async(_page)(self, request, sessions, session_data)


class SessionApi(ChatView):
    @extend_schema(responses={200: SessionSerializer, **errors(404)}, tags=["sessions"])
    async def get(self, request: Request, session_id: UUID) -> Response:
        session = await sync_to_async(selectors.session_get)(user=user_of(request), session_id=session_id)
        return Response(session_data(session))

    @extend_schema(
        request=SessionUpdateSerializer, responses={200: SessionSerializer, **errors(400, 404)}, tags=["sessions"]
    )
    async def patch(self, request: Request, session_id: UUID) -> Response:
        """Rename it."""
        user = user_of(request)
        await sync_to_async(selectors.session_get)(user=user, session_id=session_id)
        serializer = SessionUpdateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        title = serializer.validated_data["title"]
        session = await sync_to_async(session_update)(user=user, session_id=session_id, title=title)
        return Response(session_data(session))

    @extend_schema(responses={204: None, **errors(404)}, tags=["sessions"])
    async def delete(self, request: Request, session_id: UUID) -> Response:
        """Delete it with all its messages; an answer being written is stopped."""
        await session_delete(user=user_of(request), session_id=session_id)
        return Response(status=204)


class SessionMessagesApi(ChatView):
    @extend_schema(
        operation_id="sessions_messages_list",
        parameters=[
            OpenApiParameter("superseded", OpenApiTypes.BOOL, description="Also answers that were written anew."),
            PAGE,
            OpenApiParameter("page_size", OpenApiTypes.INT, description="At most 200."),
        ],
        responses={200: _paged("MessagePage", AnswerSerializer(many=True)), **errors(404)},
        tags=["sessions"],
    )
    async def get(self, request: Request, session_id: UUID) -> Response:
        """The conversation: questions in order, each followed by its answer."""
        return await sync_to_async(self._messages)(request, user_of(request), session_id)

    def _messages(self, request: Request, user: User, session_id: UUID) -> Response:
        session = selectors.session_get(user=user, session_id=session_id)
        answers_mark_interrupted(session=session)
        superseded = request.query_params.get("superseded", "").lower() in ("1", "true")
        messages = selectors.message_list(user=user, session=session, superseded=superseded)
        return _page(self, request, messages, message_data, MessagePagination)


class SessionExportApi(ChatView):
    @extend_schema(
        parameters=[OpenApiParameter("format", OpenApiTypes.STR, enum=EXPORT_FORMATS, default="markdown")],
        responses={(200, "text/markdown"): OpenApiTypes.STR, (200, "application/json"): OpenApiTypes.OBJECT},
        tags=["sessions"],
    )
    async def get(self, request: Request, session_id: UUID) -> HttpResponse:
        """The conversation as a file."""
        return await sync_to_async(_export)(
            user_of(request), session_id, request.query_params.get("format", EXPORT_FORMATS[0])
        )


def _export(user: User, session_id: UUID, format_: str) -> HttpResponse:
    session = selectors.session_get(user=user, session_id=session_id)
    if format_ not in EXPORT_FORMATS:
        raise InvalidInputError(fields={"format": [f"One of {', '.join(EXPORT_FORMATS)}."]})
    name, media_type, content = session_export(user=user, session=session, as_json=format_ == "json")
    disposition = content_disposition_header(True, name) or "attachment"
    return HttpResponse(content, content_type=media_type, headers={"Content-Disposition": disposition})
