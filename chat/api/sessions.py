"""Conversations: list, search, change, share, delete, export, and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat import selectors
from chat.api.chat import MessagePages
from chat.api.session_serializers import (
    FolderSerializer,
    SessionBeginSerializer,
    SessionUpdateSerializer,
    SharedSerializer,
    ShareSerializer,
    SharesSerializer,
    UnshareSerializer,
)
from chat.api.streaming import ChatView
from chat.messages.answer_serializers import AnswerSerializer
from chat.messages.data import message_data
from chat.messages.sessions import SessionSerializer
from chat.models import Session, Share
from chat.runs.answers import answers_mark_interrupted
from chat.services.export import session_export
from chat.services.sessions import session_delete, session_update
from chat.services.sharing import session_share, session_unshare, share_list, share_path
from chat.services.temporary import session_begin
from ragsite.core.api.fields import QuerySerializer, checked
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.rendering import rendered, rendered_list
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user

EXPORT_FORMATS = ("markdown", "json")


class SessionListQuerySerializer(QuerySerializer):
    search = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="In titles and messages.",
    )
    archived = serializers.BooleanField(
        required=False, default=False, help_text="Those in the archive in place of the others."
    )
    folder = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="Those in this folder; empty: those in none.",
    )


class MessageListQuerySerializer(QuerySerializer):
    newest_first = serializers.BooleanField(
        required=False,
        default=False,
        help_text="The order turned round, so that the first page holds the end.",
    )


class SessionExportQuerySerializer(QuerySerializer):
    format = serializers.ChoiceField(
        choices=EXPORT_FORMATS, required=False, default=EXPORT_FORMATS[0]
    )


class SessionListApi(ChatView):
    @extend_schema(
        operation_id="sessions_list",
        parameters=[SessionListQuerySerializer, *page_parameters()],
        responses={200: page_of("SessionPage", SessionSerializer(many=True))},
        tags=["sessions"],
    )
    def get(self, request: Request) -> Response:
        """Your sessions, pinned ones first, then last used first."""
        query = checked(SessionListQuerySerializer, request.query_params)
        sessions = selectors.session_list(
            user=asking_user(request),
            search=query["search"],
            archived=query["archived"],
            folder=query.get("folder"),
        )
        search = query["search"].strip()

        def rows(page: Sequence[Session]) -> list[dict[str, Any]]:
            found = selectors.excerpts(page, search) if search else {}
            return [
                rendered(SessionSerializer, session) | {"found": found.get(session.pk, "")}
                for session in page
            ]

        return Pages().answer(sessions, self, rows)

    @extend_schema(
        request=SessionBeginSerializer,
        responses={201: SessionSerializer, **errors(409)},
        tags=["sessions"],
    )
    def post(self, request: Request) -> Response:
        """Begin a conversation, to ask in later. `POST /api/chat` without a `session_id` does both at once."""
        user = asking_user(request)
        body = checked(SessionBeginSerializer, request.data)
        session = session_begin(user=user, temporary=body.get("temporary"))
        return Response(rendered(SessionSerializer, session), status=201)


class SessionApi(ChatView):
    @extend_schema(responses={200: SessionSerializer}, tags=["sessions"])
    async def get(self, request: Request, session_id: UUID) -> Response:
        """One of your sessions."""
        session = await sync_to_async(selectors.session_get)(
            user=asking_user(request), session_id=session_id
        )
        return Response(rendered(SessionSerializer, session))

    @extend_schema(
        request=SessionUpdateSerializer,
        responses={200: SessionSerializer, **errors(409)},
        tags=["sessions"],
    )
    async def patch(self, request: Request, session_id: UUID) -> Response:
        """Rename it, pin it, put it into the archive or into a folder, keep a temporary one; what is left out stays."""

        def change() -> Response:
            user = asking_user(request)
            # Before the input is checked: a 400 could tell others that the session exists.
            selectors.session_get(user=user, session_id=session_id)
            changes = checked(SessionUpdateSerializer, request.data)
            session = session_update(user=user, session_id=session_id, changes=changes)
            return Response(rendered(SessionSerializer, session))

        return await sync_to_async(change)()

    @extend_schema(responses={204: None}, tags=["sessions"])
    async def delete(self, request: Request, session_id: UUID) -> Response:
        """Delete it with all its messages; an answer being written is stopped."""
        await session_delete(user=asking_user(request), session_id=session_id)
        return Response(status=204)


class FolderListApi(ChatView):
    @extend_schema(
        operation_id="sessions_folders_list",
        parameters=page_parameters(),
        responses={200: page_of("FolderPage", FolderSerializer(many=True))},
        tags=["sessions"],
    )
    def get(self, request: Request) -> Response:
        """The folders of your conversations, by name."""
        folders = selectors.folder_list(user=asking_user(request))
        return Pages().answer(folders, self, lambda page: rendered_list(FolderSerializer, page))


class SessionShareApi(ChatView):
    @extend_schema(responses={200: SharesSerializer}, tags=["sessions"])
    def get(self, request: Request, session_id: UUID) -> Response:
        """How it is shared now."""
        shares = share_list(user=asking_user(request), session_id=session_id)
        listed = [_shared(request, share) for share in shares]
        shown = {"shares": listed, "links_allowed": settings.SHARE_LINKS}
        return Response(rendered(SharesSerializer, shown))

    @extend_schema(
        request=ShareSerializer,
        responses={200: SharedSerializer, **errors(403, 409)},
        tags=["sessions"],
    )
    def post(self, request: Request, session_id: UUID) -> Response:
        """Share it read-only, as it is now. Again: as it is then, by another address; the one before is revoked."""
        user = asking_user(request)
        selectors.session_get(user=user, session_id=session_id)
        body = checked(ShareSerializer, request.data)
        share = session_share(
            user=user, session_id=session_id, scope=body["scope"], expires_at=body.get("expires_at")
        )
        return Response(rendered(SharedSerializer, _shared(request, share)))

    @extend_schema(request=UnshareSerializer, responses={204: None}, tags=["sessions"])
    def delete(self, request: Request, session_id: UUID) -> Response:
        """Revoke it: from now on its address leads nowhere."""
        user = asking_user(request)
        selectors.session_get(user=user, session_id=session_id)
        session_unshare(
            user=user,
            session_id=session_id,
            scope=checked(UnshareSerializer, request.data).get("scope"),
        )
        return Response(status=204)


def _shared(request: Request, share: Share) -> dict[str, Any]:
    return {
        "scope": share.scope,
        "url": request.build_absolute_uri(share_path(share)),
        "created_at": share.created_at,
        "expires_at": share.expires_at,
    }


class SessionMessagesApi(ChatView):
    @extend_schema(
        operation_id="sessions_messages_list",
        parameters=[MessageListQuerySerializer, *page_parameters(MessagePages)],
        responses={200: page_of("MessagePage", AnswerSerializer(many=True))},
        tags=["sessions"],
    )
    def get(self, request: Request, session_id: UUID) -> Response:
        """The conversation: questions in order, each followed by its answer; or all of it from its end."""
        user = asking_user(request)
        session = selectors.session_get(user=user, session_id=session_id)
        answers_mark_interrupted(session=session)
        query = checked(MessageListQuerySerializer, request.query_params)
        messages = selectors.message_list(user=user, session=session)
        if query["newest_first"]:
            messages = messages.reverse()
        return MessagePages().answer(
            messages, self, lambda page: list(map(message_data, selectors.with_versions(page)))
        )


class SessionExportApi(ChatView):
    @extend_schema(
        parameters=[SessionExportQuerySerializer],
        responses={
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
        },
        tags=["sessions"],
    )
    def get(self, request: Request, session_id: UUID) -> HttpResponse:
        """The conversation as a file."""
        user = asking_user(request)
        session = selectors.session_get(user=user, session_id=session_id)
        as_json = checked(SessionExportQuerySerializer, request.query_params)["format"] == "json"
        name, media_type, content = session_export(user=user, session=session, as_json=as_json)
        disposition = content_disposition_header(True, name) or "attachment"
        return HttpResponse(
            content, content_type=media_type, headers={"Content-Disposition": disposition}
        )
