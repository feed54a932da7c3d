"""Groups that users keep, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.models import KeptGroup
from retrieval.services.groups import (
    MAX_MEMBERS,
    MAX_NAME_CHARS,
    group_create,
    group_delete,
    group_get,
    group_update,
    groups_of,
)


class KeptGroupSerializer(serializers.ModelSerializer[KeptGroup]):
    """A group that you keep. name: what a collection's `groups` calls it, `you/name`."""

    id = serializers.IntegerField(source="pk", read_only=True)
    name = serializers.CharField(source="group.name", read_only=True)
    members = serializers.SerializerMethodField()

    class Meta:
        model = KeptGroup
        fields = ["id", "name", "members"]
        read_only_fields = fields

    def get_members(self, kept: KeptGroup) -> list[str]:
        return sorted(user.username for user in kept.group.user_set.all())


class KeptGroupInputSerializer(StrictSerializer):
    """members: all of them, by whole user names."""

    name = TextField(max_length=MAX_NAME_CHARS)
    members = serializers.ListField(child=TextField(max_length=150), required=False, max_length=MAX_MEMBERS)


class GroupsApi(GenericAPIView[KeptGroup]):
    """The groups that you keep, to share collections with."""

    queryset = KeptGroup.objects.none()
    serializer_class = KeptGroupSerializer

    @extend_schema(operation_id="groups_list", responses=KeptGroupSerializer(many=True))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(groups_of(user=asking_user(request)))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        operation_id="groups_create",
        request=KeptGroupInputSerializer,
        responses={201: KeptGroupSerializer, **errors(409)},
    )
    def post(self, request: Request) -> Response:
        kept = group_create(owner=asking_user(request), **checked(KeptGroupInputSerializer, request.data))
        return Response(KeptGroupSerializer(kept).data, status=status.HTTP_201_CREATED)


class GroupApi(APIView):
    """One of them."""

    @extend_schema(operation_id="groups_read", responses=KeptGroupSerializer)
    def get(self, request: Request, group_id: int) -> Response:
        return _told(group_get(user=asking_user(request), group_id=group_id))

    @extend_schema(
        operation_id="groups_change",
        request=KeptGroupInputSerializer(partial=True),
        responses={200: KeptGroupSerializer, **errors(409)},
    )
    def patch(self, request: Request, group_id: int) -> Response:
        kept = group_get(user=asking_user(request), group_id=group_id)
        changes: dict[str, Any] = checked(KeptGroupInputSerializer, request.data, partial=True)
        group_update(kept=kept, **changes)
        return _told(group_get(user=asking_user(request), group_id=group_id))

    @extend_schema(operation_id="groups_delete", responses={204: OpenApiResponse(description="Deleted.")})
    def delete(self, request: Request, group_id: int) -> Response:
        group_delete(kept=group_get(user=asking_user(request), group_id=group_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _told(kept: KeptGroup) -> Response:
    return Response(KeptGroupSerializer(kept).data)
