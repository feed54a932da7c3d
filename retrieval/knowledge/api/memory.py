"""What is remembered for the asking user: to read, to search, to delete, to switch off. Nobody else's is ever there."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import FlagField, QuerySerializer, StrictSerializer, checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.user import asking_user
from ragsite.core.errors import NotFoundError
from ragsite.core.messages import worded
from retrieval.memory import services
from retrieval.memory.selectors import memory_enabled, memory_list
from retrieval.memory.services import memories_forget, memory_switch
from retrieval.models import Memory

DELETED = OpenApiResponse(description="Deleted.")


class MemorySerializer(serializers.ModelSerializer[Memory]):
    """A fact, and the question whose answer said it. use_count: answers that were begun with it."""

    class Meta:
        model = Memory
        fields = ["id", "question", "text", "use_count", "last_used_at", "created_at", "updated_at"]
        read_only_fields = fields


class MemoryListQuerySerializer(QuerySerializer):
    search = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="Words of the fact or its question.",
    )


class MemorySettingsSerializer(StrictSerializer):
    """`enabled`: answers are remembered and recalled. count: facts there are; limit: the most that are kept."""

    enabled = FlagField()
    count = serializers.IntegerField(read_only=True)
    limit = serializers.IntegerField(read_only=True)


class MemoriesApi(GenericAPIView[Memory]):
    """The user's own facts, the latest first."""

    queryset = Memory.objects.none()
    serializer_class = MemorySerializer

    @extend_schema(
        operation_id="memory_list",
        parameters=[MemoryListQuerySerializer],
        responses=MemorySerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        query = checked(MemoryListQuerySerializer, request.query_params)
        page = self.paginate_queryset(
            memory_list(user=asking_user(request), search=query["search"])
        )
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(operation_id="memory_clear", responses={204: DELETED})
    def delete(self, request: Request) -> Response:
        """Forget everything."""
        memories_forget(user_id=asking_user(request).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemoryApi(APIView):
    """One fact; somebody else's answers like none at all."""

    @extend_schema(operation_id="memory_delete", responses={204: DELETED})
    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        if not memories_forget(user_id=asking_user(request).pk, memory_ids=[memory_id]):
            raise NotFoundError(worded("There is no such memory, or it is not yours."))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemorySettingsApi(APIView):
    """Whether answers are remembered for this user."""

    @extend_schema(operation_id="memory_settings", responses=MemorySettingsSerializer)
    def get(self, request: Request) -> Response:
        return Response(rendered(MemorySettingsSerializer, _settings(request)))

    @extend_schema(
        operation_id="memory_settings_change",
        request=MemorySettingsSerializer(partial=True),
        responses=MemorySettingsSerializer,
    )
    def patch(self, request: Request) -> Response:
        """Switched off, nothing is recalled or written; what is there stays until it is deleted."""
        if changes := checked(MemorySettingsSerializer, request.data, partial=True):
            memory_switch(user=asking_user(request), **changes)
        return Response(rendered(MemorySettingsSerializer, _settings(request)))


def _settings(request: Request) -> dict[str, object]:
    user = asking_user(request)
    return {
        "enabled": memory_enabled(user_id=user.pk),
        "count": memory_list(user=user).count(),
        "limit": services.MAX_PER_USER,
    }
