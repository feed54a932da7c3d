"""Why a document is up, and boosts by hand, over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.roles import Right
from feedback.curation.evidence_selectors import (
    ShownBoost,
    boosts_explained,
    live_boosts,
    manual_boosts_in_force,
    vote_shown,
    votes_on,
)
from feedback.curation.manual import MAX_MULTIPLIER, MIN_MULTIPLIER, manual_boost_end, manual_boost_set
from feedback.models import Evidence, ManualBoost
from feedback.staff_api.base import (
    PAGE,
    StaffQuerySerializer,
    StaffView,
    WhyQuerySerializer,
    WhySerializer,
    list_schema,
    row_get,
    schema,
)
from ragsite.core.api.fields import (
    DateTimeField,
    FlagField,
    IdField,
    NumberField,
    QueryFlagField,
    TextField,
    checked,
)
from ragsite.core.api.pagination import page_of
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded
from retrieval.models import Document

MANUAL = ManualBoost.objects.select_related("document", "created_by", "ended_by")


class ManualBoostSerializer(serializers.ModelSerializer[ManualBoost]):
    """In force while `ended_at` is null and `expires_at` has not passed."""

    document_title = serializers.CharField(source="document.title")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    ended_by = serializers.CharField(source="ended_by.username", default=None, allow_null=True)

    class Meta:
        model = ManualBoost
        fields = [
            "id", "document", "document_title", "chunk_id", "question", "multiplier", "hide", "why", "created_by",
            "created_at", "expires_at", "ended_at", "ended_by",
        ]  # fmt: skip
        read_only_fields = fields


class ManualBoostChangesSerializer(WhySerializer):
    multiplier = NumberField(required=False, min_value=MIN_MULTIPLIER, max_value=MAX_MULTIPLIER)
    hide = FlagField(required=False)
    expires_at = DateTimeField(required=False, allow_null=True)


class ManualBoostInputSerializer(ManualBoostChangesSerializer):
    document = IdField()
    chunk_id = IdField(required=False, allow_null=True, help_text="One chunk of it; null: all of it.")
    question = TextField(
        required=False, allow_blank=True, max_length=600,
        help_text="For this question alone, and the same in nearly the same words; empty: for every question.",
    )  # fmt: skip


class ManualBoostListQuerySerializer(StaffQuerySerializer):
    document = serializers.UUIDField(required=False)
    in_force = QueryFlagField(required=False, default=True, help_text="false: also what has ended.")


class EvidenceQuerySerializer(StaffQuerySerializer):
    document = serializers.UUIDField()
    chunk = serializers.UUIDField(required=False)


class ShownBoostSerializer(serializers.Serializer[Any]):
    """question, chunk_id: null for the document's own prior. why: what it rests on, in a sentence."""

    kind = serializers.ChoiceField(choices=["document", "query"])
    multiplier = serializers.FloatField()
    raters_up = serializers.IntegerField()
    raters_down = serializers.IntegerField()
    question = serializers.CharField(allow_null=True)
    chunk_id = serializers.UUIDField(allow_null=True)
    why = serializers.CharField()

    def to_representation(self, instance: ShownBoost) -> dict[str, Any]:
        return instance.as_dict()


class VoteSerializer(serializers.Serializer[Any]):
    """rated: what was, or what was done with a source that nobody rated: then there is no rating_id and no score.

    weight: -1..1 for this question; document_weight: for the document whatever is asked; voter_weight: what such
    votes of this voter weighed in the last round on average, 0..1 (staff 1.5), null before the first; voter_why: the
    reason; counts_now: what is left of it today. left_out: why it does not count; empty: it does."""

    rating_id = serializers.UUIDField(allow_null=True)
    message_id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    user = serializers.CharField()
    score = serializers.IntegerField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    rated = serializers.ChoiceField(choices=["answer", "source"])
    question = serializers.CharField()
    chunk_id = serializers.UUIDField(allow_null=True)
    day = serializers.DateField()
    weight = serializers.FloatField()
    document_weight = serializers.FloatField()
    voter_weight = serializers.FloatField(allow_null=True)
    voter_why = serializers.CharField(allow_blank=True)
    counts_now = serializers.FloatField()
    left_out = serializers.CharField(allow_blank=True)

    def to_representation(self, instance: Evidence) -> dict[str, Any]:
        return vote_shown(instance).as_dict()


class EvidenceSerializer(serializers.Serializer[Any]):
    document = serializers.DictField(help_text="id, title, collection")
    boosts = ShownBoostSerializer(many=True)
    manual = ManualBoostSerializer(many=True)
    votes = page_of("VotePage", VoteSerializer(many=True))


class EvidenceApi(StaffView):
    rights: ClassVar[tuple[Right, ...]] = ("names",)  # of who voted

    @schema(
        operation_id="feedback_evidence",
        parameters=[EvidenceQuerySerializer, *PAGE],
        responses={200: EvidenceSerializer},
    )
    def get(self, request: Request) -> Response:
        """Why a document is up or down: its boosts that are live, those by hand, and the votes behind them, paged."""
        wanted = checked(EvidenceQuerySerializer, request.query_params)
        document = row_get(Document.objects.select_related("collection"), pk=wanted["document"])
        chunk = wanted.get("chunk")
        boosts = boosts_explained(live_boosts(document_id=document.pk, chunk_id=chunk))
        manual = manual_boosts_in_force().filter(document=document)
        return Response(
            {
                "document": {"id": str(document.pk), "title": document.title, "collection": document.collection.name},
                "boosts": ShownBoostSerializer(boosts, many=True).data,
                "manual": ManualBoostSerializer(manual, many=True).data,
                "votes": self.paged(votes_on(document=document, chunk_id=chunk), VoteSerializer).data,
            }
        )


class ManualBoostsApi(StaffView):
    @list_schema(
        "feedback_manual_boosts_list", "ManualBoostPage", ManualBoostSerializer, ManualBoostListQuerySerializer
    )
    def get(self, request: Request) -> Response:
        wanted = checked(ManualBoostListQuerySerializer, request.query_params)
        rows = manual_boosts_in_force() if wanted["in_force"] else MANUAL.all()
        if "document" in wanted:
            rows = rows.filter(document=wanted["document"])
        return self.paged(rows, ManualBoostSerializer)

    @schema(
        operation_id="feedback_manual_boosts_create",
        request=ManualBoostInputSerializer,
        responses={201: ManualBoostSerializer},
    )
    def post(self, request: Request) -> Response:
        """Lift, lower or hide a document or one chunk, at once; in place of an earlier one on the same."""
        wanted = checked(ManualBoostInputSerializer, request.data)
        document = row_get(Document.objects.all(), pk=wanted.pop("document"))
        boost = manual_boost_set(document=document, by=asking_user(request), **wanted)
        return Response(ManualBoostSerializer(boost).data, status=status.HTTP_201_CREATED)


class ManualBoostApi(StaffView):
    @schema(operation_id="feedback_manual_boost", responses={200: ManualBoostSerializer})
    def get(self, request: Request, boost_id: UUID) -> Response:
        return Response(ManualBoostSerializer(row_get(MANUAL, pk=boost_id)).data)

    @schema(
        operation_id="feedback_manual_boost_change",
        request=ManualBoostChangesSerializer,
        responses={200: ManualBoostSerializer, **errors(409)},
    )
    def patch(self, request: Request, boost_id: UUID) -> Response:
        """Ends this one and puts a new one, with an id of its own, in its place; what is left out stays as it was."""
        boost, changes = row_get(MANUAL, pk=boost_id), checked(ManualBoostChangesSerializer, request.data)
        if boost.ended_at is not None:
            raise ConflictError(worded("This boost has ended already; make a new one."))
        kept = {
            name: getattr(boost, name)
            for name in ("document", "chunk_id", "question", "multiplier", "hide", "expires_at")
        }
        new = manual_boost_set(by=asking_user(request), **{**kept, **changes})
        return Response(ManualBoostSerializer(new).data)

    @schema(
        operation_id="feedback_manual_boost_end",
        parameters=[WhyQuerySerializer],
        responses={200: ManualBoostSerializer, **errors(409)},
    )
    def delete(self, request: Request, boost_id: UUID) -> Response:
        """End it now. `why` stands in the address or in the body; the row stays, so that what was in force is known."""
        boost = row_get(MANUAL, pk=boost_id)
        if request.data:
            why = checked(WhySerializer, request.data)["why"]
        else:
            why = checked(WhyQuerySerializer, request.query_params)["why"]
        return Response(ManualBoostSerializer(manual_boost_end(boost=boost, by=asking_user(request), why=why)).data)
