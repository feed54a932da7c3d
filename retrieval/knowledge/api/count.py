"""Counts and lists over all documents of a scope, over HTTP: exact, with evidence for each row."""

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
from ragsite.core.messages import Sentence, worded
from retrieval.engine.text.cell_values import Bound, bound_of
from retrieval.engine.text.count_sentences import count_sentences
from retrieval.engine.values.counting import (
    MAX_COUNTED_ROWS,
    MAX_RULES,
    OPERATORS,
    ColumnRule,
    Columns,
    CountFilter,
    CountResult,
)
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.api.filters import CollectionNamesSerializer
from retrieval.knowledge.api.question_fields import FiltersSerializer, search_filters
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.counting.columns import columns_of
from retrieval.knowledge.counting.count import count
from retrieval.knowledge.counting.tally import MAX_UNREAD_KEPT
from retrieval.knowledge.scopes import scope_for

MAX_WORDS_CHARS = 200
MAX_VALUE_CHARS = 100
UPPER_BELOW = worded("The upper end is below the lower one.")


class ColumnRuleSerializer(StrictSerializer):
    """A comparison of a column's cells."""

    column = TextField(
        max_length=MAX_VALUE_CHARS, help_text="Its name, as `/api/count/columns` tells it."
    )
    operator = serializers.ChoiceField(choices=OPERATORS)
    value = TextField(
        max_length=MAX_VALUE_CHARS,
        help_text="A number as 1234.5, or a date as YYYY-MM-DD, YYYY-MM or YYYY; = and contains take a text as well.",
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
        if operator == "contains":
            return attrs
        bounds = {name: bound_of(attrs.get(name, "")) for name in ends}
        problems = {
            name: [localized(reason)]
            for name, bound in bounds.items()
            if (reason := _rule_error(bound, operator))
        }
        if not problems and operator == "between" and (reason := _bounds_error(*bounds.values())):
            problems["upper"] = [localized(reason)]
        if problems:
            raise serializers.ValidationError(problems)
        return attrs


def _rule_error(bound: Bound, operator: str) -> Sentence | None:
    if bound.is_ambiguous:
        return worded("This number can be read in two ways; write it as 1234 or 1234.5.")
    if bound.is_text and operator != "=":
        return worded("Give a number as 1234.5, or a date as YYYY-MM-DD.")
    return None


def _bounds_error(low: Bound, high: Bound) -> Sentence | None:
    """What is wrong with two ends that are none for themselves."""
    if low.number is not None and high.number is not None:
        is_turned = high.number < low.number
    elif low.days and high.days:
        is_turned = high.days[1] < low.days[0]
    else:
        return worded("Both ends have to be numbers, or both dates.")
    return UPPER_BELOW if is_turned else None


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
        help_text="That a document holds, in any of its passages, or a row in its cells.",
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
        for low, high in (("year_from", "year_to"), ("added_from", "added_to")):
            first = attrs.get(low)
            last = attrs.get(high)
            if first is not None and last is not None and last < first:
                raise serializers.ValidationError({high: [localized(UPPER_BELOW)]})
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


class NamedCellSerializer(serializers.Serializer[Any]):
    """A cell of a compared column."""

    document_id = serializers.UUIDField()
    title = serializers.CharField()
    column = serializers.CharField()
    value = serializers.CharField()


class UnreadCellSerializer(NamedCellSerializer):
    """fault: "unread" holds neither a number nor a date, "ambiguous" can be read in two ways (1.234, 03/04/2026)."""

    fault = serializers.ChoiceField(choices=("unread", "ambiguous"))


class CountResultSerializer(serializers.Serializer[Any]):
    """total: exact for the documents that were looked at (`looked_at` of `to_look_at`). complete: all were, every row
    could be compared, and each compared column is there. Not counted, and said in `said`: documents that are being
    read, or could not be, and rows of which a compared cell is empty."""

    unit = serializers.ChoiceField(choices=("document", "row"))
    total = serializers.IntegerField()
    documents = serializers.IntegerField(help_text="That hold what was counted.")
    complete = serializers.BooleanField()
    said = serializers.SerializerMethodField(help_text="All of this in sentences.")
    looked_at = serializers.IntegerField()
    to_look_at = serializers.IntegerField()
    in_scope = serializers.IntegerField(
        help_text="Documents that can be counted, whatever the filters say; 0: there are none."
    )
    unset = serializers.IntegerField(
        help_text="Documents that are not looked at, as they have no year, department, type or tags to filter by."
    )
    being_read = serializers.IntegerField()
    failed = serializers.IntegerField()
    partly_read = serializers.IntegerField(help_text="Documents of which parts could not be read.")
    copies = serializers.IntegerField(
        help_text="Of `documents`, those that are the same file as another of them."
    )
    unread_cells = serializers.IntegerField(help_text="Rows that could not be compared.")
    ambiguous_cells = serializers.IntegerField(
        help_text="Of these, rows that hold a number or a date that can be read in two ways."
    )
    unread = UnreadCellSerializer(many=True, help_text="The first of these.")
    empty_cells = serializers.IntegerField(
        help_text="Rows that are not counted, as a compared column is empty there."
    )
    other_units = NamedCellSerializer(
        many=True,
        help_text="Where numbers with different units or words beside them were compared as they stand: one cell of each, "
        "5 at most.",
    )
    unknown_columns = serializers.ListField(
        child=serializers.CharField(),
        help_text="Compared columns that no table or form has that was looked at.",
    )
    words_left_out = serializers.ListField(
        child=serializers.CharField(),
        help_text="Words that were not looked for, as the index holds no such words.",
    )
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
    """Those of the most documents first, at most 100 of `all`. looked_at: of how many documents there are; not_read:
    others, which are being read or could not be."""

    columns = TableColumnSerializer(many=True)
    all = serializers.IntegerField()
    complete = serializers.BooleanField(
        source="is_whole", help_text="Every document was looked at, and none is still to be read."
    )
    looked_at = serializers.IntegerField()
    documents = serializers.IntegerField()
    not_read = serializers.IntegerField()


class CountApi(APIView):
    """`/api/count`."""

    scope = "read"

    @extend_schema(
        operation_id="count", request=CountInputSerializer, responses=CountResultSerializer
    )
    async def post(self, request: Request) -> Response:
        """Count and list over all documents of these collections, or of those that a question searches which names
        none, exactly: by words, metadata and columns of tables. A key that is bound to collections counts in these
        alone."""
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
        """The columns of tables and the fields of forms that `/api/count` can compare, of the same documents."""
        names = checked(CollectionNamesSerializer, request.query_params).get("collections", [])

        def read() -> Columns:
            return columns_of(scope_for(user=asking_user(request), names=names))

        return Response(ColumnsSerializer(await database_call(read)).data)


def counted_for(
    *, user: User, body: Mapping[str, Any], most_unread: int = MAX_UNREAD_KEPT
) -> CountResult:
    """body: as `CountInputSerializer` has validated it. Raises CollectionNotFoundError, InvalidInputError, and
    UnknownValueError where no document has what a filter names."""
    scope = scope_for(user=user, names=body.get("collections", []))
    limit = body.get("limit", MAX_COUNTED_ROWS)
    return count(scope, count_filter(body), limit=limit, most_unread=most_unread)
