"""Bursts of votes, and knowledge gaps, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.queue import collections_offered
from chat.review.roles import DeskAccess, Right
from feedback.curation.downloads import GAP_FORMATS, gaps_file
from feedback.curation.gap_selectors import MAX_DAYS, knowledge_gaps
from feedback.curation.gaps import Gap
from feedback.models import Burst
from feedback.rounds.bursts import burst_decide
from feedback.staff_api.base import StaffQuerySerializer, StaffView, WhySerializer, list_schema, row_get, schema
from ragsite.core.api.fields import FlagField, checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.models import SITE

BURSTS = Burst.objects.select_related("document", "question", "decided_by")


# ------------------------------------------------------------------------------------------------ bursts
class BurstSerializer(serializers.ModelSerializer[Burst]):
    """Votes that look as if few people had many: `busy`, many on one document on one day from few accounts;
    `newcomers`, new accounts that all say the same within a few days (question: null for any). Open ones are left out
    of ranking. explanation: why it waits."""

    document_title = serializers.CharField(source="document.title")
    question = serializers.CharField(source="question.text", default=None, allow_null=True)
    explanation = serializers.CharField()
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)

    class Meta:
        model = Burst
        fields = [
            "id", "document", "document_title", "question", "kind", "explanation", "day", "votes", "accounts",
            "status", "decided_by", "decided_at", "why", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class BurstListQuerySerializer(StaffQuerySerializer):
    status = serializers.ChoiceField(choices=Burst.Status.choices, required=False)


class BurstDecisionSerializer(WhySerializer):
    accept = FlagField(help_text="true: its votes count from the next round on; false: never.")


class BurstsApi(StaffView):
    @list_schema("feedback_bursts_list", "BurstPage", BurstSerializer, BurstListQuerySerializer)
    def get(self, request: Request) -> Response:
        rows = BURSTS.all().filter(**checked(BurstListQuerySerializer, request.query_params))
        return self.paged(rows, BurstSerializer)


class BurstApi(StaffView):
    @schema(operation_id="feedback_burst", responses={200: BurstSerializer})
    def get(self, request: Request, burst_id: UUID) -> Response:
        return Response(BurstSerializer(row_get(BURSTS, pk=burst_id)).data)


class BurstDecisionApi(StaffView):
    changes: ClassVar[tuple[Right, ...]] = ("administer",)

    @schema(
        operation_id="feedback_burst_decide",
        request=BurstDecisionSerializer,
        responses={200: BurstSerializer, **errors(409)},
    )
    def post(self, request: Request, burst_id: UUID) -> Response:
        """409 where it is decided already; staff take that back in the administration."""
        burst, wanted = row_get(BURSTS, pk=burst_id), checked(BurstDecisionSerializer, request.data)
        decided = burst_decide(burst=burst, accept=wanted["accept"], by=asking_user(request), why=wanted["why"])
        return Response(BurstSerializer(decided).data)


# ------------------------------------------------------------------------------------------------ knowledge gaps
class GapSerializer(serializers.Serializer[Gap]):
    """A cluster of questions that were not answered well. collection: empty where none was named. terms: what its
    questions have in common, as the search sees them."""

    id = serializers.CharField()
    collection = serializers.CharField(allow_blank=True)
    question = serializers.CharField(help_text="The most asked one.")
    terms = serializers.ListField(child=serializers.CharField())
    count = serializers.IntegerField()
    people = serializers.IntegerField()
    no_answer = serializers.IntegerField()
    badly_rated = serializers.IntegerField()
    failed = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.CharField())
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()

    def to_representation(self, instance: Gap) -> dict[str, Any]:
        return instance.as_dict()


class GapQuerySerializer(StaffQuerySerializer):
    collection = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_ADDRESS_CHARS,
        help_text="A name of the site's, or owner/name; empty: questions that named none.",
    )
    days = serializers.IntegerField(required=False, min_value=1, max_value=MAX_DAYS)


class GapExportQuerySerializer(GapQuerySerializer):
    format = serializers.ChoiceField(choices=GAP_FORMATS, required=False, default=GAP_FORMATS[0])


def gaps_told(*, access: DeskAccess, collection: str | None = None, days: int | None = None) -> list[Gap]:
    """Who sees no names learns of no collection that they may not read."""
    if access.sees_names:
        return knowledge_gaps(collection=collection, days=days)
    gaps = knowledge_gaps(days=days)
    if not access.sees_names:
        known = {one.address.removeprefix(SITE) for one in collections_offered(access)}
        gaps = [gap if gap.collection in known else replace(gap, collection="") for gap in gaps]
    return [gap for gap in gaps if collection in (None, gap.collection)]


class GapsApi(StaffView):
    @list_schema("feedback_gaps_list", "GapPage", GapSerializer, GapQuerySerializer)
    def get(self, request: Request) -> Response:
        """The most asked first."""
        gaps = gaps_told(access=self.access, **checked(GapQuerySerializer, request.query_params))
        return self.paged(gaps, GapSerializer)


class GapsExportApi(StaffView):
    rights: ClassVar[tuple[Right, ...]] = ("export",)

    @schema(
        operation_id="feedback_gaps_export",
        parameters=[GapExportQuerySerializer],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/json"): OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> HttpResponse:
        """All of them as a file."""
        wanted = checked(GapExportQuerySerializer, request.query_params)
        format_ = wanted.pop("format")
        return gaps_file(partial(gaps_told, access=self.access, **wanted), format_)
