"""Documents that other systems push, under keys of their own: `PUT` and `DELETE`, both as often as one likes."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import ConflictError, InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.knowledge.api.upload_serializers import (
    KeyedDocumentSerializer,
    KeyedUploadSerializer,
    KeyQuerySerializer,
)
from retrieval.knowledge.api.uploads import (
    collection_named_in,
    form_values,
    refuse_unknown_fields,
    uploaded_files,
)
from retrieval.knowledge.selectors import collection_find
from retrieval.knowledge.services import documents
from retrieval.knowledge.services.collections import collection_writable
from retrieval.knowledge.services.document_keys import (
    DocumentPut,
    document_put,
    key_delete,
    key_get,
)
from retrieval.knowledge.services.documents import content_digest, document_update
from retrieval.models import MAX_KEY_CHARS, MAX_SOURCE_CHARS


class DocumentByKeyApi(APIView):
    """What another system calls by this key, in a collection that you may change (without a name: your `documents`)."""

    scope = "write"
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="documents_put_by_key",
        request={"multipart/form-data": KeyedUploadSerializer},
        responses={
            200: KeyedDocumentSerializer,
            202: KeyedDocumentSerializer,
            **errors(409, 429),
        },
    )
    def put(self, request: Request, source: str, key: str) -> Response:
        """Store the file under the key; 200 where its content is unchanged, 202 where it waits to be read."""
        _check_names(source, key)
        refuse_unknown_fields(request, KeyedUploadSerializer)
        collection = collection_named_in(request)
        values = form_values(request.POST)
        told_hash = request.POST.get("content_hash")
        row = None
        if told_hash and "file" not in request.FILES:
            row = key_get(collection=collection, source=source, key=key)
            if row is None or row.document is None or row.document.content_hash != told_hash:
                raise ConflictError(worded("This content is not here yet; send the file, too."))
            put = DocumentPut(document_update(document=row.document, changes=values), "unchanged")
        else:
            file, *more = uploaded_files(request)
            if more:
                raise InvalidInputError(fields={"file": [worded("A key has one file; send one.")]})
            if told_hash and content_digest(file) != told_hash:
                raise InvalidInputError(
                    fields={
                        "content_hash": [worded("The file is not the same one, or is incomplete.")]
                    }
                )
            put = document_put(
                collection=collection,
                source=source,
                key=key,
                upload=file,
                file_name=file.name or "",
                by=asking_user(request),
                values=values,
            )
        waits = put.outcome != "unchanged"
        return Response(
            KeyedDocumentSerializer(put).data,
            status=status.HTTP_202_ACCEPTED if waits else status.HTTP_200_OK,
        )

    @extend_schema(
        operation_id="documents_delete_by_key",
        parameters=[KeyQuerySerializer],
        responses={204: OpenApiResponse(description="Nothing stands under the key.")},
    )
    def delete(self, request: Request, source: str, key: str) -> Response:
        """Its document goes with its earlier versions, unless it has another key or was uploaded by a person."""
        _check_names(source, key)
        user = asking_user(request)
        name = checked(KeyQuerySerializer, request.query_params)["collection"]
        collection = collection_find(
            user=user, name=name or f"{user.username}/{documents.DEFAULT_COLLECTION}"
        )
        if collection is not None:
            collection_writable(collection=collection, user=user)
            if row := key_get(collection=collection, source=source, key=key):
                key_delete(row=row)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _check_names(source: str, key: str) -> None:
    """Raises InvalidInputError."""
    for name, value, most in (("source", source, MAX_SOURCE_CHARS), ("key", key, MAX_KEY_CHARS)):
        if len(value) > most or clean_text(value) != value:
            raise InvalidInputError(
                fields={name: [worded("Use at most {most} characters.", most=most)]}
            )
