"""Sources that are kept in step: one's own, to read, make, change, run and delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import (
    FlagField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
)
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized, localized_text
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.services.sync_sources import (
    LOST_CREDENTIALS,
    MAX_WORD_CHARS,
    MOST_DEPTH,
    MOST_HOURS,
    MOST_PAGES,
    sync_source_create,
    sync_source_delete,
    sync_source_get,
    sync_source_list,
    sync_source_start,
    sync_source_stop,
    sync_source_update,
)
from retrieval.models import SyncSource

COUNTS = (
    "looked_at",
    "unchanged",
    "added",
    "changed",
    "deleted",
    "missing",
    "skipped",
    "failed",
    "left",
)


class ProblemSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    error = serializers.CharField()


class ReportSerializer(serializers.Serializer[Any]):
    """Of the last run, or of the one under way. missing: not found at one look; left: the next run's; errors: the
    first ones of `failed`."""

    dry_run = serializers.BooleanField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(
        allow_blank=True, help_text="Why it ended early; then nothing was deleted."
    )
    errors: Any = ProblemSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return super().get_fields() | {name: serializers.IntegerField() for name in COUNTS}


class SyncSourceSerializer(serializers.ModelSerializer[SyncSource]):
    """A source. Its credentials are never told. options: those of its kind that were chosen."""

    collection = serializers.CharField(source="collection.address", read_only=True)
    options = serializers.DictField(read_only=True)
    has_credentials = serializers.SerializerMethodField()
    running = serializers.SerializerMethodField()
    waiting = serializers.SerializerMethodField(
        help_text="A run begins when your other source's run has ended."
    )
    notice = serializers.SerializerMethodField(
        help_text="What a change just made has brought with it; mostly empty."
    )
    report = serializers.SerializerMethodField()

    class Meta:
        model = SyncSource
        fields = [
            "id",
            "name",
            "kind",
            "address",
            "collection",
            "options",
            "has_credentials",
            "every_hours",
            "running",
            "waiting",
            "report",
            "notice",
            "created_at",
        ]
        read_only_fields = fields

    def get_has_credentials(self, row: SyncSource) -> bool:
        return bool(row.credentials)

    def get_running(self, row: SyncSource) -> bool:
        return row.is_held

    def get_waiting(self, row: SyncSource) -> bool:
        return row.waits_since is not None and not self.get_running(row)

    def get_notice(self, row: SyncSource) -> str:
        return str(localized(LOST_CREDENTIALS)) if row.lost_credentials else ""

    @extend_schema_field(ReportSerializer(allow_null=True))
    def get_report(self, row: SyncSource) -> dict[str, Any] | None:
        if not row.report:
            return None
        problems = [{"key": one["key"], "error": _sentence(one)} for one in row.report["errors"]]
        ended = row.report["finished_at"] or None
        shown = {
            **row.report,
            "finished_at": ended,
            "error": _sentence(row.report["error"]),
            "errors": problems,
        }
        return rendered(ReportSerializer, shown)


def _sentence(error: dict[str, Any] | None) -> str:
    return localized_text(error["error"], error["wording"]) if error else ""


class SyncSourceChangesSerializer(StrictSerializer):
    """username, password: of WebDAV, Git and web pages; access key and secret of S3. Both empty: none any more. An
    address on another server drops the stored ones, and so does another scheme or port: send them with it."""

    name = TextField(max_length=100)
    address = TextField(
        max_length=1000,
        help_text="A folder's path; a page or sitemap; a Git repository or WebDAV folder; https://host/bucket/prefix.",
    )
    every_hours = WholeNumberField(
        required=False,
        min_value=0,
        max_value=MOST_HOURS,
        help_text="0: only by hand; a run under way ends.",
    )
    username = TextField(required=False, allow_blank=True, max_length=200)
    password = TextField(required=False, allow_blank=True, max_length=1000, trim_whitespace=False)
    branch = TextField(
        required=False, allow_blank=True, max_length=MAX_WORD_CHARS, help_text="Of Git."
    )
    region = TextField(
        required=False, allow_blank=True, max_length=MAX_WORD_CHARS, help_text="Of S3."
    )
    depth = WholeNumberField(
        required=False, min_value=0, max_value=MOST_DEPTH, help_text="Of links from page to page."
    )
    most_pages = WholeNumberField(
        required=False, min_value=1, max_value=MOST_PAGES, help_text="Of web pages."
    )


class SyncSourceInputSerializer(SyncSourceChangesSerializer):
    kind = serializers.ChoiceField(choices=SyncSource.Kind.choices)
    collection = TextField(
        max_length=MAX_ADDRESS_CHARS, help_text="As in an upload; made where there is none."
    )


class RunSerializer(StrictSerializer):
    dry_run = FlagField(required=False, default=False, help_text="Look, and change nothing.")


class SyncSourcesApi(GenericAPIView[SyncSource]):
    """Your sources."""

    scope = "read"
    scope_to_change = "write"
    queryset = SyncSource.objects.none()
    serializer_class = SyncSourceSerializer

    @extend_schema(operation_id="sync_sources_list", responses=SyncSourceSerializer(many=True))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(sync_source_list(user=asking_user(request)))
        return self.get_paginated_response(SyncSourceSerializer(page, many=True).data)

    @extend_schema(
        operation_id="sync_sources_create",
        request=SyncSourceInputSerializer,
        responses={201: SyncSourceSerializer, **errors(409)},
    )
    def post(self, request: Request) -> Response:
        """A new one. Its first run comes with its schedule, or by `…/run`."""
        row = sync_source_create(
            owner=asking_user(request), **checked(SyncSourceInputSerializer, request.data)
        )
        return Response(SyncSourceSerializer(row).data, status=status.HTTP_201_CREATED)


class SyncSourceApi(APIView):
    scope = "read"
    scope_to_change = "write"

    @extend_schema(operation_id="sync_sources_read", responses=SyncSourceSerializer)
    def get(self, request: Request, source_id: UUID) -> Response:
        return Response(SyncSourceSerializer(_own(request, source_id)).data)

    @extend_schema(
        operation_id="sync_sources_change",
        request=SyncSourceChangesSerializer(partial=True),
        responses=SyncSourceSerializer,
    )
    def patch(self, request: Request, source_id: UUID) -> Response:
        row = _own(request, source_id)
        changes = checked(SyncSourceChangesSerializer, request.data, partial=True)
        return Response(SyncSourceSerializer(sync_source_update(row=row, changes=changes)).data)

    @extend_schema(
        operation_id="sync_sources_delete", responses={204: OpenApiResponse(description="Deleted.")}
    )
    def delete(self, request: Request, source_id: UUID) -> Response:
        """A run of it ends. Its documents stay in the collection."""
        sync_source_delete(row=_own(request, source_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SyncSourceRunApi(APIView):
    scope_to_change = scope = "write"

    @extend_schema(
        operation_id="sync_sources_run",
        request=RunSerializer,
        responses={202: SyncSourceSerializer},
    )
    def post(self, request: Request, source_id: UUID) -> Response:
        """A worker begins as soon as it can, unless a run is under way; `report` tells how far it is."""
        row = _own(request, source_id)
        sync_source_start(row=row, **checked(RunSerializer, request.data))
        return Response(SyncSourceSerializer(row).data, status=status.HTTP_202_ACCEPTED)


class SyncSourceStopApi(APIView):
    scope_to_change = scope = "write"

    @extend_schema(operation_id="sync_sources_stop", request=None, responses=SyncSourceSerializer)
    def post(self, request: Request, source_id: UUID) -> Response:
        """A run of it ends within seconds, and one that waits does not begin. What was taken in stays."""
        row = _own(request, source_id)
        sync_source_stop(row=row)
        return Response(SyncSourceSerializer(row).data)


def _own(request: Request, source_id: UUID) -> SyncSource:
    return sync_source_get(user=asking_user(request), source_id=source_id)
