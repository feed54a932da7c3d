"""Uploads into one collection of the user's own, for clients of an older front."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import StrictSerializer
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.knowledge.api.upload_serializers import FilesField, UploadResultSerializer
from retrieval.knowledge.api.uploads import documents_store, refuse_unknown_fields, uploaded_files
from retrieval.knowledge.services.collections import collection_ensure

PERSONAL_COLLECTION = "uploads"  # each user's own, private: where POST /api/rag/upload puts files


class RagUploadSerializer(StrictSerializer):
    file = FilesField(help_text="One file, or several fields of this name.")


class RagUploadApi(APIView):
    """The same into one collection of the user's own, for clients of an older front."""

    scope = "write"
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="rag_upload",
        request={"multipart/form-data": RagUploadSerializer},
        responses={202: UploadResultSerializer, **errors(429)},
        tags=["rag"],
    )
    def post(self, request: Request) -> Response:
        """Store files in your own private collection, and queue their ingest; `GET /api/documents/{id}` tells how far
        it is. Nobody else's questions find them."""
        refuse_unknown_fields(request, RagUploadSerializer)
        files = uploaded_files(request)
        collection = collection_ensure(owner=asking_user(request), name=PERSONAL_COLLECTION)
        entries = documents_store(asking_user(request), files, collection)
        shown = rendered(UploadResultSerializer, {"documents": entries})
        return Response(shown, status=status.HTTP_202_ACCEPTED)
