"""Documents over HTTP: upload, list, read, change, delete, download."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from adrf.views import APIView as AsyncAPIView
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpResponse, QueryDict
from django.utils.cache import patch_cache_control
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import StrictSerializer, checked, unknown_fields
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError, TooLargeError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.text import clean_file_name
from retrieval.knowledge.api.serializers import (
    BulkResultsSerializer,
    BulkSerializer,
    ChunkSerializer,
    DocumentChangesSerializer,
    DocumentFileQuerySerializer,
    DocumentListQuerySerializer,
    DocumentPictureQuerySerializer,
    DocumentSerializer,
    DocumentsUsageSerializer,
    FilesField,
    UploadResultSerializer,
    UploadSerializer,
)
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES
from retrieval.knowledge.ingest.text import SAMPLE_BYTES, detect_encoding, web_name
from retrieval.knowledge.selectors import (
    as_uuid,
    chunk_list,
    collection_find,
    collection_get,
    document_get,
    document_list,
)
from retrieval.knowledge.services import documents
from retrieval.knowledge.services.collections import (
    collection_ensure,
    collection_for_upload,
    collection_writable,
)
from retrieval.knowledge.services.document_pages import page_draw
from retrieval.knowledge.services.documents import (
    document_create,
    document_delete,
    document_move,
    document_reingest,
    document_update,
)
from retrieval.knowledge.services.metadata import FIELDS, metadata_clean
from retrieval.knowledge.services.quotas import usage_of
from retrieval.models import Chunk, Collection, Document

PERSONAL_COLLECTION = "uploads"  # each user's own, private: where POST /api/rag/upload puts files
PICTURE_KEPT_S = 86_400  # by the reader's browser; the file of a document never changes
# Shown by the browser itself, as this type: text as text, whatever markup it holds. HTML never is.
INLINE_TYPES = {
    "application/pdf": "application/pdf",
    "text/plain": "text/plain",
    "text/markdown": "text/plain",
    "text/csv": "text/plain",
}
SANDBOX = "default-src 'none'; sandbox"


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
        responses={202: UploadResultSerializer, **errors(409, 429, 507)},
    )
    def post(self, request: Request) -> Response:
        """Store files and queue their ingest. Files that are refused don't keep the others out."""
        refuse_unknown_fields(request, UploadSerializer)
        files = uploaded_files(request)
        metadata = metadata_clean(form_values(request.POST))
        replaces = _replaced_in(request, files)
        collection = replaces.collection if replaces else collection_named_in(request)
        entries = documents_store(asking_user(request), files, collection, metadata, replaces=replaces)
        return Response({"documents": entries}, status=status.HTTP_202_ACCEPTED)


class RagUploadSerializer(StrictSerializer):
    file = FilesField(help_text="One file, or several fields of this name.")


class RagUploadApi(APIView):
    """The same into one collection of the user's own, for clients of an older front."""

    scope = "write"
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
        collection = collection_ensure(owner=asking_user(request), name=PERSONAL_COLLECTION)
        entries = documents_store(asking_user(request), files, collection)
        return Response({"documents": entries}, status=status.HTTP_202_ACCEPTED)


class DocumentsUsageApi(APIView):
    """How much of the site your documents take up."""

    scope = "read"

    @extend_schema(operation_id="documents_usage", responses=DocumentsUsageSerializer)
    def get(self, request: Request) -> Response:
        return Response(usage_of(asking_user(request)))


class DocumentsBulkApi(APIView):
    """One action on many documents."""

    scope = "write"

    @extend_schema(operation_id="documents_bulk", request=BulkSerializer, responses=BulkResultsSerializer)
    def post(self, request: Request) -> Response:
        """Delete, move, describe or read again; each document by itself: one that is refused does not keep the others
        from it. 404 for a collection that is not there, 403 for one that the user may not change."""
        body = checked(BulkSerializer, request.data)
        act = _bulk_action(request, body)
        results = []
        for document_id in dict.fromkeys(body["ids"]):
            refusal: dict[str, str] = {"code": "", "error": ""}
            try:
                act(_writable(request, document_id))
            except AppError as error:
                refusal = {"code": error.code, "error": localized(error.message)}
            outcome = "refused" if refusal["code"] else "done"
            results.append({"id": document_id, "outcome": outcome, **refusal})
        return Response(BulkResultsSerializer({"results": results}).data)


def _bulk_action(request: Request, body: Mapping[str, Any]) -> Callable[[Document], object]:
    match body["action"]:
        case "delete":
            return lambda document: document_delete(document=document)
        case "read_again":
            return lambda document: document_reingest(document=document)
        case "metadata":
            return lambda document: document_update(document=document, changes=body["changes"])
        case _:
            found = collection_get(user=request.user, name=body["collection"])
            target = collection_writable(collection=found, user=request.user)
            return lambda document: document_move(document=document, collection=target)


class DocumentApi(APIView):
    """One document."""

    scope = "read"
    scope_to_change = "write"

    @extend_schema(operation_id="documents_read", responses=DocumentSerializer)
    def get(self, request: Request, document_id: UUID) -> Response:
        document = document_get(user=request.user, document_id=document_id)
        return Response(DocumentSerializer(document, context={"request": request}).data)

    @extend_schema(
        operation_id="documents_change", request=DocumentChangesSerializer(partial=True), responses=DocumentSerializer
    )
    def patch(self, request: Request, document_id: UUID) -> Response:
        document = _writable(request, document_id)
        changes = checked(DocumentChangesSerializer, request.data, partial=True)
        document = document_update(document=document, changes=changes)
        return Response(DocumentSerializer(document, context={"request": request}).data)

    @extend_schema(operation_id="documents_delete", responses={204: OpenApiResponse(description="Deleted.")})
    def delete(self, request: Request, document_id: UUID) -> Response:
        document_delete(document=_writable(request, document_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DocumentChunksApi(GenericAPIView[Chunk]):
    """A document's chunks, in order."""

    scope = "read"
    queryset = Chunk.objects.none()
    serializer_class = ChunkSerializer

    @extend_schema(operation_id="documents_chunks", responses=ChunkSerializer(many=True))
    def get(self, request: Request, document_id: UUID) -> Response:
        page = self.paginate_queryset(chunk_list(user=request.user, document_id=document_id))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class DocumentFileApi(APIView):
    """The file as it was uploaded."""

    scope = "read"

    @extend_schema(
        operation_id="documents_file",
        parameters=[DocumentFileQuerySerializer],
        responses={(200, *sorted(set(MEDIA_TYPES.values()))): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, document_id: UUID) -> FileResponse:
        query = checked(DocumentFileQuerySerializer, request.query_params)
        document = document_get(user=request.user, document_id=document_id)
        try:
            file = document.file.open("rb")
        except (FileNotFoundError, ValueError) as error:  # ValueError: the row names no file
            raise NotFoundError(worded("The file of this document is gone.")) from error
        shown_as = INLINE_TYPES.get(document.media_type) if query["inline"] else None
        response = FileResponse(
            file,
            as_attachment=shown_as is None,
            filename=document.file_name,
            content_type=_with_charset(shown_as, file) if shown_as else document.media_type,
        )
        response["X-Content-Type-Options"] = "nosniff"
        if shown_as != MEDIA_TYPES["pdf"]:  # the browser's own viewer of PDF does not work in a sandbox
            response["Content-Security-Policy"] = SANDBOX
        return response


class DocumentPictureApi(AsyncAPIView):
    """A page of a PDF as a picture."""

    scope = "read"

    @extend_schema(
        operation_id="documents_page_picture",
        parameters=[DocumentPictureQuerySerializer],
        responses={(200, "image/png"): OpenApiTypes.BINARY, **errors(422)},
    )
    async def get(self, request: Request, document_id: UUID, page: int) -> HttpResponse:
        query = checked(DocumentPictureQuerySerializer, request.query_params)
        document = await sync_to_async(document_get)(user=asking_user(request), document_id=document_id)
        response = HttpResponse(await page_draw(document, page, width=query["width"]), content_type="image/png")
        patch_cache_control(response, private=True, max_age=PICTURE_KEPT_S)
        return response


def _with_charset(media_type: str, file: File[bytes]) -> str:
    """Text with the encoding that the reader finds in it: browsers guess less well."""
    if not media_type.startswith("text/"):
        return media_type
    sample = file.read(SAMPLE_BYTES)
    file.seek(0)
    return f"{media_type}; charset={web_name(detect_encoding(sample))}"


def _writable(request: Request, document_id: UUID) -> Document:
    """Raises NotFoundError for one that the user can't see, PermissionDeniedError for one to be read only."""
    document = document_get(user=request.user, document_id=document_id)
    collection_writable(collection=document.collection, user=request.user)
    return document


def collection_named_in(request: Request) -> Collection:
    """Without a name it is the user's own, whatever else has the default's name."""
    user = asking_user(request)
    name = request.POST.get("collection", "").strip()
    if name:
        return collection_for_upload(user=user, name=name)
    return collection_ensure(owner=user, name=documents.DEFAULT_COLLECTION)


def _replaced_in(request: Request, files: Sequence[UploadedFile]) -> Document | None:
    """The document that `replaces` names. Raises as `_writable`; InvalidInputError where it does not fit the rest."""
    if "replaces" not in request.POST:
        return None
    document_id = as_uuid(request.POST["replaces"])
    if document_id is None:
        raise InvalidInputError(fields={"replaces": [worded("Give the id of a document.")]})
    if len(files) > 1:
        raise InvalidInputError(fields={"file": [worded("A document is replaced by one file; send one.")]})
    document = _writable(request, document_id)
    name = request.POST.get("collection", "").strip()
    if name and collection_find(user=request.user, name=name) != document.collection:
        raise InvalidInputError(
            fields={"collection": [worded("A new version goes into the collection of the document; leave this out.")]}
        )
    return document


def form_values(data: QueryDict) -> dict[str, Any]:
    """The metadata fields of the form; `tags` may be sent many times, each with commas."""
    values: dict[str, Any] = {name: data[name] for name in FIELDS if name in data}
    if "tags" in data:
        values["tags"] = ",".join(str(value) for value in data.getlist("tags"))
    return values


def refuse_unknown_fields(request: Request, form: type[serializers.Serializer[Any]]) -> None:
    """Raises InvalidInputError; also where a file was sent under the name of a text field."""
    known = list(form().fields)
    if unknown := {**unknown_fields(request.POST, known), **unknown_fields(request.FILES, ["file"])}:
        raise InvalidInputError(fields=unknown)


def uploaded_files(request: Request) -> list[UploadedFile]:
    """The form's `file`s. Raises InvalidInputError, TooLargeError."""
    files: list[UploadedFile] = request.FILES.getlist("file")
    if not files:
        raise InvalidInputError(worded("Send at least one file."), fields={"file": [worded("Send at least one file.")]})
    if len(files) > settings.RAG.ingest.max_files_per_upload:
        raise TooLargeError(
            worded(
                "At most {max_files_per_upload} files at once.",
                max_files_per_upload=settings.RAG.ingest.max_files_per_upload,
            )
        )
    return files


def documents_store(
    user: User,
    files: Sequence[UploadedFile],
    collection: Collection,
    metadata: Mapping[str, Any] | None = None,
    *,
    replaces: Document | None = None,
) -> list[dict[str, Any]]:
    """One entry per file (`UploadedDocumentSerializer`). Raises the first refusal when every file was refused."""
    entries: list[dict[str, Any]] = []
    refusals: list[AppError] = []
    for file in files:
        name = clean_file_name(file.name or "")
        entry = {"collection": collection.name, "collection_id": collection.pk, "code": "", "error": ""}
        try:
            created = document_create(
                collection=collection,
                upload=file,
                file_name=name,
                uploaded_by=user,
                metadata=metadata,
                replaces=replaces,
            )
        except AppError as error:
            refusals.append(error)
            entry |= {"id": None, "title": name, "file_name": name, "status": Document.Status.FAILED.value}
            entry |= {"outcome": "refused", "code": error.code, "error": localized(error.message)}
        else:
            entry |= {name: getattr(created.document, name) for name in ("id", "title", "file_name", "status")}
            entry |= {"outcome": created.outcome}
        entries.append(entry)
    if len(refusals) == len(files):
        refusals[0].fields = {"file": [f"{entry['title']}: {entry['error']}" for entry in entries]}
        raise refusals[0]
    return entries
