"""Whether the sample documents are searched: each user's own choice, once there are documents of their own."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import FlagField, StrictSerializer, checked
from ragsite.core.api.user import asking_user
from retrieval.knowledge.selectors import sample_choice
from retrieval.knowledge.services.samples import samples_leave_out


class SamplesSerializer(serializers.Serializer[Any]):
    there = serializers.BooleanField(help_text="Whether there are sample documents that you see.")
    left_out = serializers.BooleanField(help_text="Of questions that name no collection.")
    chosen = serializers.BooleanField(
        help_text="By you; else they are left out from your third document on."
    )
    own_documents = serializers.IntegerField(help_text="Documents of yours that are ready.")


class SamplesInputSerializer(StrictSerializer):
    left_out = FlagField(allow_null=True, help_text="null: the site decides again.")


class SamplesApi(APIView):
    scope = ""

    @extend_schema(operation_id="samples", responses=SamplesSerializer, tags=["documents"])
    def get(self, request: Request) -> Response:
        """Whether your questions search the sample documents that the site came with."""
        return Response(SamplesSerializer(sample_choice(asking_user(request))).data)

    @extend_schema(
        operation_id="samples_update",
        request=SamplesInputSerializer,
        responses=SamplesSerializer,
        tags=["documents"],
    )
    def put(self, request: Request) -> Response:
        """Leave them out, or search them, whatever documents of your own there are."""
        user = asking_user(request)
        samples_leave_out(
            user=user, left_out=checked(SamplesInputSerializer, request.data)["left_out"]
        )
        return Response(SamplesSerializer(sample_choice(user)).data)
