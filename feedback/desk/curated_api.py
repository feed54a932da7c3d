"""Curated answers over HTTP, for curators."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from chat.models import Message
from chat.review.api import DeskView
from chat.review.roles import Right
from feedback.curation.curated import (
    MAX_QUESTION_CHARS,
    MAX_SOURCES,
    MAX_TEXT_CHARS,
    MAX_WORDINGS,
    curated_end,
    curated_save,
)
from feedback.models import CuratedAnswer, CuratedSource
from ragsite.core.api.fields import DateTimeField, IdField, StrictQuerySerializer, StrictSerializer, TextField, checked
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.wording import worded

CURATED = CuratedAnswer.objects.select_related("created_by", "ended_by").prefetch_related("sources")


class CuratedSourceSerializer(serializers.ModelSerializer[CuratedSource]):
    class Meta:
        model = CuratedSource
        fields = ["marker", "document_id", "chunk_id", "title", "text"]
        read_only_fields = fields


class CuratedAnswerSerializer(serializers.ModelSerializer[CuratedAnswer]):
    """end: why it is in force no longer; empty while it is, or after it has expired."""

    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    ended_by = serializers.CharField(source="ended_by.username", default=None, allow_null=True)
    sources = CuratedSourceSerializer(many=True)

    class Meta:
        model = CuratedAnswer
        fields = [
            "id", "question", "wordings", "text", "sources", "message", "created_by", "created_at", "expires_at",
            "ended_at", "ended_by", "end",
        ]  # fmt: skip
        read_only_fields = fields


class CuratedPages(Pages):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


class CuratedListQuerySerializer(StrictQuerySerializer):
    beside = ("page", "page_size")

    state = serializers.ChoiceField(choices=["in_force", "ended"], required=False, help_text="Absent: all.")
    search = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")


class CuratedInputSerializer(StrictSerializer):
    question = TextField(max_length=MAX_QUESTION_CHARS)
    wordings = serializers.ListField(
        child=TextField(max_length=MAX_QUESTION_CHARS), max_length=MAX_WORDINGS, required=False, default=list,
        help_text="Other words for the same question.",
    )  # fmt: skip
    text = TextField(max_length=MAX_TEXT_CHARS, help_text="Markdown with markers [1], [2] … of the passages.")
    sources = serializers.ListField(
        child=IdField(), min_length=1, max_length=MAX_SOURCES, help_text="chunk_id of each passage, from marker 1 on."
    )
    message = IdField(required=False, allow_null=True, default=None, help_text="The reviewed answer it is made from.")
    expires_at = DateTimeField(required=False, allow_null=True, default=None)
    replaces = IdField(required=False, allow_null=True, default=None, help_text="The one whose place it takes.")


class CuratedWhyQuerySerializer(StrictQuerySerializer):
    why = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")


class CuratedAnswersApi(DeskView):
    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @extend_schema(
        tags=["review"],
        operation_id="review_curated_list",
        parameters=[CuratedListQuerySerializer, *page_parameters(CuratedPages)],
        responses={200: page_of("CuratedAnswerPage", CuratedAnswerSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        query = checked(CuratedListQuerySerializer, request.query_params)
        rows = CURATED.all().filter(question__icontains_han=query["search"])
        in_force = CuratedAnswer.in_force().values("pk")
        if query.get("state") == "in_force":
            rows = rows.filter(pk__in=in_force)
        elif query.get("state") == "ended":
            rows = rows.exclude(pk__in=in_force)
        return CuratedPages().answer(rows, self, lambda page: CuratedAnswerSerializer(page, many=True).data)

    @extend_schema(
        tags=["review"],
        operation_id="review_curated_create",
        request=CuratedInputSerializer,
        responses={201: CuratedAnswerSerializer, **errors(409)},
    )
    def post(self, request: Request) -> Response:
        """From then on it is given to everybody who asks nearly the same and may read all of its passages."""
        wanted = checked(CuratedInputSerializer, request.data)
        answer = curated_save(
            by=self.access.user,
            question=wanted["question"],
            wordings=wanted["wordings"],
            text=wanted["text"],
            chunk_ids=wanted["sources"],
            message=_found(Message.objects.filter(role=Message.Role.ASSISTANT), wanted["message"], "message"),
            expires_at=wanted["expires_at"],
            replaces=_found(CuratedAnswer.objects.filter(ended_at=None), wanted["replaces"], "replaces"),
        )
        return Response(_payload(answer.pk), status=status.HTTP_201_CREATED)


class CuratedAnswerApi(DeskView):
    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @extend_schema(tags=["review"], operation_id="review_curated", responses={200: CuratedAnswerSerializer})
    def get(self, request: Request, curated_id: UUID) -> Response:
        return Response(_payload(curated_id))

    @extend_schema(
        tags=["review"],
        operation_id="review_curated_withdraw",
        parameters=[CuratedWhyQuerySerializer],
        responses={200: CuratedAnswerSerializer, **errors(409)},
    )
    def delete(self, request: Request, curated_id: UUID) -> Response:
        """It stays in the list, as withdrawn. 409 where it is already."""
        why = checked(CuratedWhyQuerySerializer, request.query_params)["why"]
        curated_end(answer=_curated_get(curated_id), by=self.access.user, why=why)
        return Response(_payload(curated_id))


def _payload(curated_id: UUID) -> Any:
    return CuratedAnswerSerializer(_curated_get(curated_id)).data


def _found(rows: Any, key: UUID | None, field: str) -> Any:
    """Raises InvalidInputError for one that is not there."""
    if key is None:
        return None
    row = rows.filter(pk=key).first()
    if row is None:
        raise InvalidInputError(fields={field: [worded("Not there.")]})
    return row


def _curated_get(curated_id: UUID) -> CuratedAnswer:
    """Raises NotFoundError."""
    answer = CURATED.filter(pk=curated_id).first()
    if answer is None:
        raise NotFoundError
    return answer
