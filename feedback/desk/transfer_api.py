"""Checked answers and test questions as CSV over HTTP, for programs: as at the desk, in the same steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import IO, Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView
from chat.review.roles import Right
from feedback.curation.transfer.csv_table import MAX_BYTES
from feedback.curation.transfer.exports import curation_export
from feedback.curation.transfer.imports import (
    import_confirm,
    import_discard,
    import_get,
    import_start,
    import_take_back,
)
from feedback.desk.transfer_pages import (
    csv_response,
    first_wrong,
    may_take_back,
    reason_of,
    wrong_rows,
)
from feedback.models import CurationImport
from ragsite.core.api.fields import StrictSerializer, checked
from ragsite.core.api.json_parser import bounded_body
from ragsite.core.api.rendering import TimestampField, rendered
from ragsite.core.api.schema import errors
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.localized import localized_text
from ragsite.core.messages import worded
from retrieval.knowledge.api.uploads import refuse_unknown_fields

schema = partial(extend_schema, tags=["review"])
CSV = "text/csv"


class CsvParser(BaseParser):
    """The body as it is, up to DATA_UPLOAD_MAX_MEMORY_SIZE; what is larger comes as the file of a form."""

    media_type = CSV

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return bounded_body(stream)


class CsvFileSerializer(StrictSerializer):
    file = serializers.FileField()


class ImportActionSerializer(StrictSerializer):
    """confirm: write what the check found new or changed. take_back: all that was written, but what was changed since."""

    action = serializers.ChoiceField(["confirm", "take_back"])


class ImportCountsSerializer(serializers.Serializer[Any]):
    """Rows; all 0 until the check has begun."""

    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    wrong = serializers.IntegerField()


class WrongRowSerializer(serializers.Serializer[Any]):
    """row: as a spreadsheet counts, the head is 1."""

    row = serializers.IntegerField()
    reason = serializers.CharField()


class CurationImportSerializer(serializers.Serializer[Any]):
    """done: of total rows in the step that goes on. wrong: the first hundred; all are at `…/errors`. unread: columns
    that nobody knows. kept: how many rows a taking back has left, since they were changed."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(CurationImport.Kind.choices)
    state = serializers.ChoiceField(CurationImport.State.choices)
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    counts = ImportCountsSerializer()
    unread = serializers.ListField(child=serializers.CharField())
    wrong = WrongRowSerializer(many=True)
    kept = serializers.IntegerField()
    can_take_back = serializers.BooleanField()
    error = serializers.CharField(allow_null=True)
    created_at = TimestampField()


class _FilesApi(DeskView):
    rights: ClassVar[tuple[Right, ...]] = ("curate",)
    parser_classes: Any = [CsvParser, MultiPartParser]
    kind: ClassVar[str]

    def file(self) -> HttpResponse:
        export = curation_export(by=self.access.user, kind=self.kind)
        response = csv_response(export.text, f"{self.kind}.csv")
        extent = export.extent
        response["X-Rows"] = str(extent.rows)
        response["X-Left-Out"] = str(extent.hidden + extent.older)
        return response

    def start(self, request: Request) -> Response:
        row = import_start(by=self.access.user, kind=self.kind, data=_body(request))
        return Response(_data(row), status=202)


FILE_OUT = {(200, CSV): OpenApiTypes.STR}
FILE_IN: dict[str, Any] = {CSV: OpenApiTypes.STR, "multipart/form-data": CsvFileSerializer}
STARTED: dict[Any, Any] = {202: CurationImportSerializer, **errors(409, 422)}


class CuratedFilesApi(_FilesApi):
    """`/api/review/curated`."""

    kind = CurationImport.Kind.CURATED

    @schema(operation_id="review_curated_export", responses=FILE_OUT)
    def get(self, request: Request) -> HttpResponse:
        """The checked answers in force, as CSV. `X-Left-Out` says how many there are beside these."""
        return self.file()

    @schema(
        operation_id="review_curated_import",
        request=FILE_IN,
        responses=STARTED,
        examples=[
            OpenApiExample(
                "CSV",
                value="question,answer,collection_1,document_1,passage_1\n",
                media_type=CSV,
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Have a file of checked answers checked; nothing is written before `confirm`."""
        return self.start(request)


class GoldenFilesApi(_FilesApi):
    """`/api/review/golden`."""

    kind = CurationImport.Kind.GOLDEN

    @schema(operation_id="review_golden_export", responses=FILE_OUT)
    def get(self, request: Request) -> HttpResponse:
        """The test questions, as CSV. `X-Left-Out` says how many there are beside these."""
        return self.file()

    @schema(
        operation_id="review_golden_import",
        request=FILE_IN,
        responses=STARTED,
        examples=[
            OpenApiExample(
                "CSV",
                value="question,collection,expects,documents\n",
                media_type=CSV,
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Have a file of test questions checked; nothing is written before `confirm`."""
        return self.start(request)


class CurationImportApi(DeskView):
    """`/api/review/imports/{id}`."""

    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @schema(operation_id="review_import", responses={200: CurationImportSerializer})
    def get(self, request: Request, import_id: UUID) -> Response:
        """An import of yours: what its check found, and how far it is."""
        return Response(_data(import_get(by=self.access.user, import_id=import_id)))

    @schema(
        operation_id="review_import_act",
        request=ImportActionSerializer,
        responses={202: CurationImportSerializer, **errors(409)},
    )
    def post(self, request: Request, import_id: UUID) -> Response:
        """Write what was checked, or take it back."""
        row = import_get(by=self.access.user, import_id=import_id)
        action = checked(ImportActionSerializer, request.data)["action"]
        act = import_confirm if action == "confirm" else import_take_back
        return Response(_data(act(row=row)), status=202)

    @schema(operation_id="review_import_discard", responses={204: None, **errors(409)})
    def delete(self, request: Request, import_id: UUID) -> Response:
        """Discard a file of which nothing was written."""
        import_discard(row=import_get(by=self.access.user, import_id=import_id))
        return Response(status=204)


class ImportErrorsApi(DeskView):
    """`/api/review/imports/{id}/errors`."""

    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @schema(operation_id="review_import_errors", responses=FILE_OUT)
    def get(self, request: Request, import_id: UUID) -> HttpResponse:
        """The rows that were not taken, as CSV, with what is wrong with each in the column `error`."""
        row = import_get(by=self.access.user, import_id=import_id)
        return csv_response(wrong_rows(row), "not-imported.csv")


def _body(request: Request) -> bytes:
    if isinstance(request.data, bytes):
        return request.data
    refuse_unknown_fields(request, CsvFileSerializer)
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInputError(fields={"file": [worded("Choose a file.")]})
    if (file.size or 0) > MAX_BYTES:
        raise TooLargeError
    data: bytes = file.read()
    return data


def _data(row: CurationImport) -> dict[str, Any]:
    zero = dict.fromkeys(("new", "changed", "unchanged", "wrong"), 0)
    shown = {
        "id": row.pk,
        "kind": row.kind,
        "state": row.state,
        "total": row.total,
        "done": row.done,
        "counts": row.counts or zero,
        "unread": row.unread,
        "wrong": [{"row": one["row"], "reason": reason_of(one)} for one in first_wrong(row)],
        "kept": row.stayed,
        "can_take_back": may_take_back(row),
        "error": localized_text(row.error["text"], row.error["wording"]) if row.error else None,
        "created_at": row.created_at,
    }
    return rendered(CurationImportSerializer, shown)
