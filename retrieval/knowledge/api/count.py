"""Counts and lists over all documents that somebody may read, over HTTP: exact, with evidence for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adrf.views import APIView
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.core.api.fields import (
    DateField,
    ListField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
    read_body,
)
from ragsite.core.api.user import asking_user
from ragsite.core.database import database_call
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.engine.text.cell_values import bound_of
from retrieval.engine.text.count_sentences import count_sentences
from retrieval.engine.values.counting import (
    MAX_COUNTED_ROWS,
    MAX_RULES,
    OPERATORS,
    ColumnRule,
    CountFilter,
    CountResult,
)
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.api.filters import CollectionNamesSerializer
from retrieval.knowledge.api.question_fields import FiltersSerializer, search_filters
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.counting.columns import Columns, columns_of
from retrieval.knowledge.counting.count import count
from retrieval.knowledge.scopes import scope_for

MAX_WORDS_CHARS = 200
MAX_VALUE_CHARS = 100


class ColumnRuleSerializer(StrictSerializer):
    """A comparison of a column's cells."""

    column = TextField(
        max_length=MAX_VALUE_CHARS, help_text="Its name, as `/api/count/columns` tells it."
    )
    operator = serializers.ChoiceField(choices=OPERATORS)
    value = TextField(
        max_length=MAX_VALUE_CHARS,
        help_text="A number, or a date as YYYY-MM-DD, YYYY-MM or YYYY; = and contains take a text as well.",
    )
    upper = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_VALUE_CHARS,
        help_text="The upper end of between, which takes both ends in.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        operator = attrs["operator"]
        ends = ["value", "upper"] if operator == "between" else ["value"]
        wrong = [
            name
            for name in ends
            if operator not in ("=", "contains") and bound_of(attrs.get(name, "")).is_text
        ]
        if wrong:
            reason = localized(worded("Give a number, or a date as YYYY-MM-DD."))
            raise serializers.ValidationError({name: [reason] for name in wrong})
        return attrs


class CountInputSerializer(StrictSerializer):
    """What is counted. All that is named has to hold."""

    unit = serializers.ChoiceField(
        choices=("document", "row"),
        required=False,
        help_text="Documents, or rows of tables and forms. Without it rows where columns are compared, else documents.",
    )
    words = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_WORDS_CHARS,
        help_text="That a document holds, in any of its passages, or a row.",
    )
    match = serializers.ChoiceField(
        choices=("all", "phrase"),
        required=False,
        help_text="all (default): each word, also in another form; phrase: side by side, as they are written.",
    )
    collections = ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        max_length=MAX_NAMES,
    )
    filters = FiltersSerializer(required=False)
    year_from = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    year_to = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    added_from = DateField(required=False, allow_null=True, help_text="Day of the upload, UTC.")
    added_to = DateField(required=False, allow_null=True, help_text="Day of the upload, UTC.")
    columns = ListField(child=ColumnRuleSerializer(), required=False, max_length=MAX_RULES)
    limit = WholeNumberField(
        required=False,
        min_value=0,
        max_value=MAX_COUNTED_ROWS,
        help_text=f"Rows that are given back; {MAX_COUNTED_ROWS} by default. The total is of all.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        searched = attrs.get("words", "").strip() or attrs.get("columns")
        if attrs.get("unit") == "row" and not searched:
            reason = localized(worded("Rows are counted by words or by a column."))
            raise serializers.ValidationError({"unit": [reason]})
        return attrs

    def counted(self) -> CountFilter:
        return count_filter(self.validated_data)


def count_filter(body: Mapping[str, Any]) -> CountFilter:
    """body: as `CountInputSerializer` has validated it."""
    columns = tuple(ColumnRule(**rule) for rule in body.get("columns", ()))
    return CountFilter(
        unit=body.get("unit") or ("row" if columns else "document"),
        words=body.get("words", ""),
        match=body.get("match", "all"),
        metadata=search_filters(body.get("filters", {})),
        year_from=body.get("year_from"),
        year_to=body.get("year_to"),
        added_from=body.get("added_from"),
        added_to=body.get("added_to"),
        columns=columns,
    )


class CountEvidenceSerializer(serializers.Serializer[Any]):
    """Where it stands. text: the row, or the words with what stands around them."""

    chunk_id = serializers.UUIDField(source="chunk.chunk_id")
    page = serializers.IntegerField(source="chunk.page", allow_null=True)
    heading = serializers.CharField(source="chunk.heading", allow_blank=True)
    text = serializers.CharField()


class CellSerializer(serializers.Serializer[Any]):
    column = serializers.CharField()
    value = serializers.CharField()

    def to_representation(self, cell: tuple[str, str]) -> dict[str, str]:
        return {"column": cell[0], "value": cell[1]}


class CountedRowSerializer(serializers.Serializer[Any]):
    """A document, or a row with its cells."""

    document_id = serializers.UUIDField()
    title = serializers.CharField()
    cells = CellSerializer(many=True)
    evidence = CountEvidenceSerializer(many=True)


class UnreadCellSerializer(serializers.Serializer[Any]):
    document_id = serializers.UUIDField()
    title = serializers.CharField()
    column = serializers.CharField()
    value = serializers.CharField()


class CountResultSerializer(serializers.Serializer[Any]):
    """total: exact for the documents that were looked at (`looked_at` of `to_look_at`). complete: all were, and every
    row could be compared. Not counted, and said in `said`: documents that are being read, or could not be."""

    unit = serializers.ChoiceField(choices=("document", "row"))
    total = serializers.IntegerField()
    documents = serializers.IntegerField(help_text="That hold what was counted.")
    complete = serializers.BooleanField()
    said = serializers.SerializerMethodField(help_text="All of this in sentences.")
    looked_at = serializers.IntegerField()
    to_look_at = serializers.IntegerField()
    being_read = serializers.IntegerField()
    failed = serializers.IntegerField()
    partly_read = serializers.IntegerField(help_text="Documents of which parts could not be read.")
    unread_cells = serializers.IntegerField(help_text="Rows that could not be compared.")
    unread = UnreadCellSerializer(many=True, help_text="The first of these.")
    rows = CountedRowSerializer(many=True, help_text="The first ones, by their documents' titles.")

    def get_said(self, result: CountResult) -> list[str]:
        said: list[str] = localized(count_sentences(result))
        return said


class TableColumnSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=("number", "date", "text"))
    rows = serializers.IntegerField()
    documents = serializers.IntegerField()


class ColumnsSerializer(serializers.Serializer[Any]):
    """Those of the most documents first, at most 100. looked_at: of how many documents there are."""

    columns = TableColumnSerializer(many=True)
    looked_at = serializers.IntegerField()
    documents = serializers.IntegerField()


class CountApi(APIView):
    """`/api/count`."""

    scope = "read"

    @extend_schema(
        operation_id="count", request=CountInputSerializer, responses=CountResultSerializer
    )
    async def post(self, request: Request) -> Response:
        """Count and list over all documents that you may read, exactly: by words, metadata and columns of tables."""
        body = (await read_body(CountInputSerializer, request)).validated_data
        result = await database_call(counted_for, user=asking_user(request), body=body)
        return Response(await sync_to_async(lambda: CountResultSerializer(result).data)())


class CountColumnsApi(APIView):
    """`/api/count/columns`."""

    scope = "read"

    @extend_schema(
        operation_id="count_columns",
        parameters=[CollectionNamesSerializer],
        responses=ColumnsSerializer,
    )
    async def get(self, request: Request) -> Response:
        """The columns of tables and the fields of forms that `/api/count` can compare."""
        names = checked(CollectionNamesSerializer, request.query_params).get("collections", [])

        def read() -> Columns:
            return columns_of(scope_for(user=asking_user(request), names=names))

        return Response(ColumnsSerializer(await database_call(read)).data)


def counted_for(*, user: User, body: Mapping[str, Any]) -> CountResult:
    """body: as `CountInputSerializer` has validated it. Raises CollectionNotFoundError, InvalidInputError."""
    scope = scope_for(user=user, names=body.get("collections", []))
    return count(scope, count_filter(body), limit=body.get("limit", MAX_COUNTED_ROWS))
