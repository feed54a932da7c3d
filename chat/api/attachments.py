"""Files attached to a conversation: before its first question, and later."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import selectors
from chat.services.attachments import attachments_open
from ragsite.core.api.fields import QuerySerializer, StrictSerializer, checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.knowledge.api.document_serializers import DocumentSerializer
from retrieval.knowledge.api.upload_serializers import FilesField, UploadedDocumentSerializer
from retrieval.knowledge.api.uploads import documents_store, refuse_unknown_fields, uploaded_files

SESSION_ID = "The conversation; without it, one that begins with its first question: ask with the id of the answer."


class AttachSerializer(StrictSerializer):
    """A multipart upload; `file` may come many times."""

    file = FilesField()
    session_id = serializers.UUIDField(required=False, help_text=SESSION_ID)


class AttachedSerializer(serializers.Serializer[Any]):
    """One entry per file, in order. session_id: what the next question, and the next file, names."""

    session_id = serializers.UUIDField()
    documents = UploadedDocumentSerializer(many=True)


class AttachmentListQuerySerializer(QuerySerializer):
    session_id = serializers.UUIDField()


class AttachmentListSerializer(serializers.Serializer[Any]):
    """The files of a conversation in the order in which they came, 50 at most."""

    session_id = serializers.UUIDField()
    documents = DocumentSerializer(many=True)


class AttachmentsApi(APIView):
    scope = "ask"
    scope_to_change = "write"
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="attachments_list",
        parameters=[AttachmentListQuerySerializer],
        responses=AttachmentListSerializer,
        tags=["chat"],
    )
    def get(self, request: Request) -> Response:
        """The files of one of your conversations, each with how far its reading is."""
        session_id = checked(AttachmentListQuerySerializer, request.query_params)["session_id"]
        documents = selectors.attachment_list(user=asking_user(request), session_id=session_id)
        body = {"session_id": session_id, "documents": documents}
        return Response(AttachmentListSerializer(body, context={"request": request}).data)

    @extend_schema(
        operation_id="attachments_add",
        request={"multipart/form-data": AttachSerializer},
        responses={202: AttachedSerializer, **errors(429)},
        tags=["chat"],
    )
    def post(self, request: Request) -> Response:
        """Attach files to a conversation: its answers search them beside what else is chosen, and nobody else ever sees
        them. They go with the conversation, unless `POST /api/documents/bulk` moves them to a collection of yours or
        deletes them before."""
        refuse_unknown_fields(request, AttachSerializer)
        files = uploaded_files(request)
        user = asking_user(request)
        form = AttachSerializer(
            data={"file": files, **{name: request.POST[name] for name in request.POST}}
        )
        form.is_valid(raise_exception=True)
        collection = attachments_open(
            user=user, session_id=form.validated_data.get("session_id"), files=len(files)
        )
        entries = documents_store(user, files, collection)
        body = {"session_id": collection.conversation_id, "documents": entries}
        return Response(rendered(AttachedSerializer, body), status=status.HTTP_202_ACCEPTED)
