"""Collections over HTTP."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.knowledge.api.collection_serializers import (
    CollectionInputSerializer,
    CollectionSerializer,
)
from retrieval.knowledge.selectors import collection_get, collection_list
from retrieval.knowledge.services.collections import (
    collection_create,
    collection_owned,
    collection_update,
)
from retrieval.models import Collection


class CollectionsApi(GenericAPIView[Collection]):
    """The collections that the user may read, and the way to make one."""

    scope = "read"
    scope_to_change = "write"
    queryset = Collection.objects.none()
    serializer_class = CollectionSerializer

    @extend_schema(operation_id="collections_list", responses=CollectionSerializer(many=True))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(collection_list(user=request.user))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        operation_id="collections_create",
        request=CollectionInputSerializer,
        responses={201: CollectionSerializer, **errors(409)},
    )
    def post(self, request: Request) -> Response:
        collection = collection_create(
            owner=asking_user(request), **checked(CollectionInputSerializer, request.data)
        )
        return Response(_as_json(request, collection), status=status.HTTP_201_CREATED)


class CollectionApi(APIView):
    """One collection, by its id, `owner/name`, `site:name`, or plain name: the user's own before any other."""

    scope = "read"
    scope_to_change = "write"

    @extend_schema(operation_id="collections_read", responses=CollectionSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(_as_json(request, collection_get(user=request.user, name=name)))

    @extend_schema(
        operation_id="collections_change",
        request=CollectionInputSerializer(partial=True),
        responses={200: CollectionSerializer, **errors(409)},
    )
    def patch(self, request: Request, name: str) -> Response:
        collection = _owned(request, name)
        changes = checked(CollectionInputSerializer, request.data, partial=True)
        collection_update(collection=collection, changes=changes, by=asking_user(request))
        return Response(_as_json(request, collection))

    @extend_schema(
        operation_id="collections_delete", responses={204: OpenApiResponse(description="Deleted.")}
    )
    def delete(self, request: Request, name: str) -> Response:
        """Delete it with all its documents; files and index rows follow (`services.deletion`)."""
        _owned(request, name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


def _owned(request: Request, name: str) -> Collection:
    return collection_owned(
        collection=collection_get(user=request.user, name=name), user=request.user
    )


def _as_json(request: Request, collection: Collection) -> dict[str, object]:
    """With the counts that the list has."""
    fresh = collection_list(user=request.user).get(pk=collection.pk)
    return CollectionSerializer(fresh, context={"request": request}).data
