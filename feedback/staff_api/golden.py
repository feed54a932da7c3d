"""Golden questions over HTTP: one by one, and as JSONL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers, status
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from feedback.curation import golden_files
from feedback.curation.downloads import JSONL, golden_file
from feedback.curation.golden import (
    MAX_SET_CHARS,
    Relevant,
    collection_find,
    golden_delete,
    golden_list,
    golden_save,
    golden_sets,
    golden_switch,
)
from feedback.curation.golden_files import golden_import
from feedback.models import GoldenQuestion, GoldenRelevance
from feedback.staff_api.base import StaffQuerySerializer, StaffView, list_schema, row_get, schema
from ragsite.core.api.fields import (
    FlagField,
    IdField,
    QueryFlagField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
    unknown_fields,
)
from ragsite.core.api.form_parser import FormParser
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.collection_addresses import MAX_ADDRESS_CHARS


class RelevanceSerializer(serializers.ModelSerializer[GoldenRelevance]):
    document_title = serializers.CharField(source="document.title")

    class Meta:
        model = GoldenRelevance
        fields = ["document", "document_title", "chunk_id", "grade"]
        read_only_fields = fields


class GoldenQuestionSerializer(serializers.ModelSerializer[GoldenQuestion]):
    collection = serializers.CharField(source="collection.name")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    relevant = RelevanceSerializer(many=True)
    set = serializers.CharField(source="set_name")

    class Meta:
        model = GoldenQuestion
        fields = [
            "id", "text", "collection", "collection_id", "set", "enabled", "expects", "source", "message", "relevant",
            "created_by", "created_at", "updated_at",
        ]  # fmt: skip
        read_only_fields = fields


class RelevanceInputSerializer(StrictSerializer):
    document = IdField()
    chunk_id = IdField(required=False, allow_null=True, help_text="One chunk of it; null: all of it.")
    grade = WholeNumberField(min_value=1, max_value=3, default=1, help_text="1 partly … 3 fully.")


class GoldenInputSerializer(StrictSerializer):
    text = TextField(max_length=4000)
    collection = TextField(max_length=MAX_ADDRESS_CHARS, help_text="Its name, owner/name, or id.")
    expects = serializers.ChoiceField(
        choices=GoldenQuestion.Expected.choices, default=GoldenQuestion.Expected.ANSWER,
        help_text="ANSWER: from what is relevant; else nothing is.",
    )  # fmt: skip
    relevant = RelevanceInputSerializer(many=True, required=False, help_text="At least one where ANSWER is expected.")
    enabled = FlagField(default=True)
    set = TextField(max_length=MAX_SET_CHARS, required=False, allow_blank=True, help_text="A name; empty: in none.")


class GoldenListQuerySerializer(StaffQuerySerializer):
    collection = serializers.CharField(required=False, max_length=MAX_ADDRESS_CHARS)
    enabled = QueryFlagField(required=False)
    set = serializers.CharField(required=False, allow_blank=True, max_length=MAX_SET_CHARS, help_text="Its name.")
    expects = serializers.ChoiceField(choices=GoldenQuestion.Expected.choices, required=False)
    search = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")


class GoldenSetSerializer(serializers.Serializer[Any]):
    """set: its name, empty for the questions in none. enabled: how many of them are measured."""

    set = serializers.CharField(source="set_name")
    questions = serializers.IntegerField()
    enabled = serializers.IntegerField(source="measured")


class GoldenSetSwitchSerializer(StrictSerializer):
    set = TextField(max_length=MAX_SET_CHARS, allow_blank=True, help_text="The name of a set; empty: those in none.")
    enabled = FlagField()


class ImportedSerializer(serializers.Serializer[Any]):
    """updated: questions that were there already, in the same words and collection."""

    added = serializers.IntegerField()
    updated = serializers.IntegerField()


class GoldenFileSerializer(StrictSerializer):
    file = serializers.FileField(help_text="JSONL, UTF-8.")


class GoldenQuestionsApi(StaffView):
    @list_schema("feedback_golden_list", "GoldenQuestionPage", GoldenQuestionSerializer, GoldenListQuerySerializer)
    def get(self, request: Request) -> Response:
        return self.paged(_chosen(request), GoldenQuestionSerializer)

    @schema(
        operation_id="feedback_golden_create",
        request=GoldenInputSerializer,
        responses={201: GoldenQuestionSerializer},
    )
    def post(self, request: Request) -> Response:
        wanted = {"relevant": [], **_values(checked(GoldenInputSerializer, request.data), asking_user(request))}
        question = golden_save(by=asking_user(request), **wanted)
        return Response(_payload(request, question.pk), status=status.HTTP_201_CREATED)


class GoldenQuestionApi(StaffView):
    @schema(operation_id="feedback_golden", responses={200: GoldenQuestionSerializer})
    def get(self, request: Request, question_id: UUID) -> Response:
        return Response(_payload(request, question_id))

    @schema(
        operation_id="feedback_golden_change",
        request=GoldenInputSerializer(partial=True),
        responses={200: GoldenQuestionSerializer},
    )
    def patch(self, request: Request, question_id: UUID) -> Response:
        """What is left out stays; `relevant` is replaced as a whole, and goes where NO_ANSWER or CLARIFY is expected
        from now on."""
        question = row_get(_golden(request), pk=question_id)
        kept = {
            "text": question.text,
            "collection": question.collection,
            "enabled": question.enabled,
            "set_name": question.set_name,
            "expects": question.expects,
            "relevant": [
                Relevant(document_id=row.document_id, chunk_id=row.chunk_id, grade=row.grade)
                for row in question.relevant.all()
            ],
        }
        changes = _values(checked(GoldenInputSerializer, request.data, partial=True), asking_user(request))
        if changes.get("expects", question.expects) != GoldenQuestion.Expected.ANSWER:
            kept["relevant"] = []
        golden_save(by=asking_user(request), question=question, **{**kept, **changes})
        return Response(_payload(request, question_id))

    @schema(operation_id="feedback_golden_delete", responses={204: None})
    def delete(self, request: Request, question_id: UUID) -> Response:
        golden_delete(question=row_get(_golden(request), pk=question_id), by=asking_user(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _golden(request: Request) -> QuerySet[GoldenQuestion]:
    rows = golden_list(user=asking_user(request))
    return rows.select_related("collection", "created_by").prefetch_related("relevant__document")


def _values(given: dict[str, Any], user: User) -> dict[str, Any]:
    """With the collection found and what is relevant as values. Only what was given."""
    values: dict[str, Any] = {name: given[name] for name in ("text", "enabled", "expects") if name in given}
    if "set" in given:
        values["set_name"] = given["set"]
    if "collection" in given:
        values["collection"] = collection_find(given["collection"], user=user)
    if "relevant" in given:
        values["relevant"] = [
            Relevant(document_id=row["document"], chunk_id=row.get("chunk_id"), grade=row["grade"])
            for row in given["relevant"]
        ]
    return values


def _chosen(request: Request) -> QuerySet[GoldenQuestion]:
    wanted = checked(GoldenListQuerySerializer, request.query_params)
    if "collection" in wanted:
        wanted["collection"] = collection_find(wanted["collection"], user=asking_user(request))
    if "set" in wanted:
        wanted["set_name"] = wanted.pop("set")
    return _golden(request).filter(text__icontains_han=wanted.pop("search"), **wanted)


def _payload(request: Request, question_id: UUID) -> dict[str, Any]:
    return GoldenQuestionSerializer(row_get(_golden(request), pk=question_id)).data


class GoldenSetsApi(StaffView):
    @list_schema("feedback_golden_sets", "GoldenSetPage", GoldenSetSerializer)
    def get(self, request: Request) -> Response:
        """The named sets, and the questions in none as the set without a name."""
        return self.paged(golden_sets(user=asking_user(request)), GoldenSetSerializer)

    @schema(
        operation_id="feedback_golden_set_switch", request=GoldenSetSwitchSerializer,
        responses={200: GoldenSetSerializer},
    )  # fmt: skip
    def patch(self, request: Request) -> Response:
        """Measure all questions of a set, or leave them out."""
        wanted = checked(GoldenSetSwitchSerializer, request.data)
        user = asking_user(request)
        questions = golden_list(user=user).filter(set_name=wanted["set"])
        if not questions.exists():
            raise NotFoundError
        golden_switch(questions=questions, enabled=wanted["enabled"], by=user)
        return Response(GoldenSetSerializer(golden_sets(user=user).get(set_name=wanted["set"])).data)


# ------------------------------------------------------------------------------------------------ as JSONL
class LinesParser(BaseParser):
    """A body of any other type than a form, as bytes: one more than may come, so that too much is noticed."""

    media_type = "*/*"

    def parse(  # type: ignore[override]  # DRF takes any data
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return stream.read(golden_files.GOLDEN_IMPORT_BYTES + 1)


class GoldenImportApi(StaffView):
    parser_classes = (FormParser, LinesParser)

    @schema(
        operation_id="feedback_golden_import",
        request={"multipart/form-data": GoldenFileSerializer, JSONL: OpenApiTypes.STR},
        responses={200: ImportedSerializer},
    )
    def post(self, request: Request) -> Response:
        """A file, or JSONL as the body. All lines or none; `error.fields` names the wrong ones, as `line 3`."""
        imported = golden_import(content=_content(request), by=asking_user(request))
        return Response({"added": imported.added, "updated": imported.updated})


def _content(request: Request) -> bytes:
    if isinstance(request.data, bytes):
        return request.data
    if unknown := unknown_fields(request.data, ["file"]):
        raise InvalidInputError(fields=unknown)
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInputError(fields={"file": [worded("Send a file.")]})
    return bytes(file.read(golden_files.GOLDEN_IMPORT_BYTES + 1))


class GoldenExportApi(StaffView):
    @schema(
        operation_id="feedback_golden_export",
        parameters=[GoldenListQuerySerializer],
        responses={(200, JSONL): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> HttpResponse:
        """All of them, or of one collection or set, as an import reads them."""
        return golden_file(_chosen(request))
