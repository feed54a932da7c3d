"""Documents over HTTP: upload, list, read, change, delete."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.knowledge.api.document_serializers import (
    ChunkSerializer,
    DocumentChangesSerializer,
    DocumentListQuerySerializer,
    DocumentReviewSerializer,
    DocumentSerializer,
    DocumentsUsageSerializer,
)
from retrieval.knowledge.api.upload_serializers import UploadResultSerializer, UploadSerializer
from retrieval.knowledge.api.uploads import (
    collection_named_in,
    document_writable,
    documents_store,
    form_values,
    refuse_unknown_fields,
    replaced_document,
    uploaded_files,
)
from retrieval.knowledge.selectors import chunk_list, document_get, document_list
from retrieval.knowledge.services.documents import document_delete, document_update
from retrieval.knowledge.services.metadata import metadata_clean
from retrieval.knowledge.services.quotas import usage_of
from retrieval.knowledge.services.reviews import document_reviewed
from retrieval.models import Chunk, Document


class DocumentsApi(GenericAPIView[Document]):
    """The documents that the user may read, and the way in for new ones."""

    scope = "read"
    scope_to_change = "write"
    queryset = Document.objects.none()
    serializer_class = DocumentSerializer
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="documents_list",
        parameters=[DocumentListQuerySerializer],
        responses=DocumentSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        query = checked(DocumentListQuerySerializer, request.query_params)
        page = self.paginate_queryset(document_list(user=request.user, **query))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        operation_id="documents_upload",
        request={"multipart/form-data": UploadSerializer},
        responses={202: UploadResultSerializer, **errors(409, 429)},
    )
    def post(self, request: Request) -> Response:
        """Store files and queue their ingest. Files that are refused don't keep the others out."""
        refuse_unknown_fields(request, UploadSerializer)
        files = uploaded_files(request)
        metadata = metadata_clean(form_values(request.POST))
        replaces = replaced_document(request, files)
        collection = replaces.collection if replaces else collection_named_in(request)
        entries = documents_store(
            asking_user(request), files, collection, metadata, replaces=replaces
        )
        shown = rendered(UploadResultSerializer, {"documents": entries})
        return Response(shown, status=status.HTTP_202_ACCEPTED)


class DocumentsUsageApi(APIView):
    """How much of the site your documents take up."""

    scope = "read"

    @extend_schema(operation_id="documents_usage", responses=DocumentsUsageSerializer)
    def get(self, request: Request) -> Response:
        return Response(rendered(DocumentsUsageSerializer, usage_of(asking_user(request))))


class DocumentApi(APIView):
    """One document."""

    scope = "read"
    scope_to_change = "write"

    @extend_schema(operation_id="documents_read", responses=DocumentSerializer)
    def get(self, request: Request, document_id: UUID) -> Response:
        document = document_get(user=request.user, document_id=document_id)
        return Response(DocumentSerializer(document, context={"request": request}).data)

    @extend_schema(
        operation_id="documents_change",
        request=DocumentChangesSerializer(partial=True),
        responses=DocumentSerializer,
    )
    def patch(self, request: Request, document_id: UUID) -> Response:
        document = document_writable(request, document_id)
        changes = checked(DocumentChangesSerializer, request.data, partial=True)
        document = document_update(document=document, changes=changes)
        return Response(DocumentSerializer(document, context={"request": request}).data)

    @extend_schema(
        operation_id="documents_delete", responses={204: OpenApiResponse(description="Deleted.")}
    )
    def delete(self, request: Request, document_id: UUID) -> Response:
        document_delete(document=document_writable(request, document_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DocumentReviewApi(APIView):
    """That a document still holds."""

    scope = "write"

    @extend_schema(
        operation_id="documents_reviewed",
        request=DocumentReviewSerializer,
        responses={200: DocumentSerializer, **errors(409)},
    )
    def post(self, request: Request, document_id: UUID) -> Response:
        """Say that it still holds: it is to be reviewed again after some months."""
        document = document_writable(request, document_id)
        sent = checked(DocumentReviewSerializer, request.data)
        document = document_reviewed(document=document, by=asking_user(request), **sent)
        return Response(DocumentSerializer(document, context={"request": request}).data)


class DocumentChunksApi(GenericAPIView[Chunk]):
    """A document's chunks, in order."""

    scope = "read"
    queryset = Chunk.objects.none()
    serializer_class = ChunkSerializer

    @extend_schema(operation_id="documents_chunks", responses=ChunkSerializer(many=True))
    def get(self, request: Request, document_id: UUID) -> Response:
        page = self.paginate_queryset(chunk_list(user=request.user, document_id=document_id))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
