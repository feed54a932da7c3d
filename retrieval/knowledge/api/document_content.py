"""A document as people read it, over HTTP: rendered, part by part."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import QuerySerializer, TextField, checked
from retrieval.knowledge.api.document_serializers import NewerVersionSerializer
from retrieval.knowledge.selectors import document_get
from retrieval.knowledge.services.document_content import content_read

BOX = "[left, top, right, bottom] as shares of the page, 0..1, from its top left corner."


class DocumentContentQuerySerializer(QuerySerializer):
    part = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000_000, help_text="From 1; of a PDF its page."
    )
    chunk = TextField(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="Without `part`: the part that holds this chunk.",
    )
    quote = TextField(
        required=False,
        allow_blank=True,
        max_length=8000,
        help_text="Texts, one a line: with `chunk` the part that holds one of them, in the chunk or near it.",
    )


class BoxesField(serializers.ListField):
    """Rectangles on a page."""

    def __init__(self, **options: Any) -> None:
        box = serializers.ListField(child=serializers.FloatField(), min_length=4, max_length=4)
        super().__init__(child=box, help_text=BOX, **options)


class ContentChunkSerializer(serializers.Serializer[Any]):
    """A chunk that lies in the part. start, end: where it stands in the document's text, without what it repeats."""

    id = serializers.UUIDField()
    seq = serializers.IntegerField()
    page = serializers.IntegerField(allow_null=True)
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    boxes = BoxesField()


class DocumentContentSerializer(serializers.Serializer[Any]):
    """html: sanitised; each block a `div` with its place in the document's text. width, height: of a PDF's page, in
    points; null for other kinds. marks: where on it the texts of `quote` stand, line by line."""

    part = serializers.IntegerField()
    part_count = serializers.IntegerField()
    page = serializers.IntegerField(allow_null=True)
    width = serializers.FloatField(allow_null=True)
    height = serializers.FloatField(allow_null=True)
    html = serializers.CharField(allow_blank=True)
    chunks = ContentChunkSerializer(many=True)
    marks = BoxesField()
    newer_version = NewerVersionSerializer(
        allow_null=True, help_text="Of a document that is superseded."
    )


class DocumentContentApi(APIView):
    """A part of a document as people read it, with the chunks that it was cut into."""

    scope = "read"

    @extend_schema(
        operation_id="documents_content",
        parameters=[DocumentContentQuerySerializer],
        responses=DocumentContentSerializer,
    )
    def get(self, request: Request, document_id: UUID) -> Response:
        query = checked(DocumentContentQuerySerializer, request.query_params)
        document = document_get(user=request.user, document_id=document_id)
        newer = document.newer_version if document.superseded_at else None
        content = content_read(document=document, **query)
        return Response(DocumentContentSerializer({**content, "newer_version": newer}).data)
