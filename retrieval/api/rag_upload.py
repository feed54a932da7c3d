"""`POST /api/rag/upload` of seed 004: files into the user's own private collection."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import StrictSerializer
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.api.documents import documents_from, refuse_unknown_fields, uploaded_files
from retrieval.api.serializers import UploadResultSerializer
from retrieval.services.collections import collection_of_ones_own
from retrieval.services.metadata import metadata_from

PERSONAL_COLLECTION = "uploads"  # each user's own, private: where POST /api/rag/upload puts files


class RagUploadSerializer(StrictSerializer):
    file = serializers.ListField(child=serializers.FileField(), help_text="One file, or several fields of this name.")


class RagUploadApi(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="rag_upload",
        request={"multipart/form-data": RagUploadSerializer},
        responses={202: UploadResultSerializer, **errors(429, 507)},
        tags=["rag"],
    )
    def post(self, request: Request) -> Response:
        """Store files in your own private collection, and queue their ingest; `GET /api/documents/{id}` tells how far
        it is. Nobody else's questions find them."""
        refuse_unknown_fields(request, RagUploadSerializer)
        files = uploaded_files(request)
        collection = collection_of_ones_own(user=asking_user(request), name=PERSONAL_COLLECTION)
        entries = documents_from(files, collection, request, metadata_from({}))
        return Response({"documents": entries}, status=status.HTTP_202_ACCEPTED)
