"""A document's file, and pages of it as pictures."""

from __future__ import annotations

from uuid import UUID

from adrf.views import APIView as AsyncAPIView
from asgiref.sync import sync_to_async
from django.core.files.base import File
from django.http import FileResponse, HttpResponse
from django.utils.cache import patch_cache_control
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from ragsite.core.api.fields import checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import NotFoundError
from ragsite.core.messages import worded
from retrieval.knowledge.api.document_serializers import (
    DocumentFileQuerySerializer,
    DocumentPictureQuerySerializer,
)
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES
from retrieval.knowledge.ingest.text import SAMPLE_BYTES, detect_encoding, web_name
from retrieval.knowledge.selectors import document_get
from retrieval.knowledge.services.document_pages import page_draw

PICTURE_KEPT_S = 86_400  # by the reader's browser; the file of a document never changes
# Shown by the browser itself, as this type: text as text, whatever markup it holds. HTML never is.
INLINE_TYPES = {
    "application/pdf": "application/pdf",
    "text/plain": "text/plain",
    "text/markdown": "text/plain",
    "text/csv": "text/plain",
}
SANDBOX = "default-src 'none'; sandbox"


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
        if (
            shown_as != MEDIA_TYPES["pdf"]
        ):  # the browser's own viewer of PDF does not work in a sandbox
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
        document = await sync_to_async(document_get)(
            user=asking_user(request), document_id=document_id
        )
        response = HttpResponse(
            await page_draw(document, page, width=query["width"]), content_type="image/png"
        )
        patch_cache_control(response, private=True, max_age=PICTURE_KEPT_S)
        return response


def _with_charset(media_type: str, file: File[bytes]) -> str:
    """Text with the encoding that the reader finds in it: browsers guess less well."""
    if not media_type.startswith("text/"):
        return media_type
    sample = file.read(SAMPLE_BYTES)
    file.seek(0)
    return f"{media_type}; charset={web_name(detect_encoding(sample))}"
