"""What a question can be filtered by: the values that the documents themselves have."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import QuerySerializer, checked
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.filter_values import filter_values
from retrieval.knowledge.scopes import scope_attached, scope_for


class CollectionNamesSerializer(QuerySerializer):
    collections = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_NAMES * (MAX_ADDRESS_CHARS + 1),
        help_text=f"Parted by commas; none: all that is searched unasked. {ADDRESS}",
    )

    def validate_collections(self, text: str) -> list[str]:
        """No address holds a comma."""
        names = [name for part in text.split(",") if (name := part.strip())]
        if len(names) > MAX_NAMES or any(len(name) > MAX_ADDRESS_CHARS for name in names):
            raise serializers.ValidationError(
                localized(worded("{most} names at most.", most=MAX_NAMES))
            )
        return names


class FilterValuesQuerySerializer(CollectionNamesSerializer):
    session_id = serializers.UUIDField(
        required=False, help_text="With the files attached to this conversation."
    )


class CountedNameSerializer(serializers.Serializer[Any]):
    value = serializers.CharField()
    count = serializers.IntegerField(help_text="Documents.")


class CountedYearSerializer(serializers.Serializer[Any]):
    value = serializers.IntegerField()
    count = serializers.IntegerField(help_text="Documents.")


class FilterValuesSerializer(serializers.Serializer[Any]):
    """By field, at most 100 values: years newest first, the others by how many documents have them. Values of documents
    that you may search, and that are read."""

    department = CountedNameSerializer(many=True)
    doc_type = CountedNameSerializer(many=True)
    policy_year = CountedYearSerializer(many=True)
    tags = CountedNameSerializer(many=True)


class FilterValuesApi(APIView):
    """`/api/filters`."""

    scope = "read"

    @extend_schema(
        operation_id="filter_values",
        parameters=[FilterValuesQuerySerializer],
        responses=FilterValuesSerializer,
    )
    def get(self, request: Request) -> Response:
        """The departments, types, years and tags of the documents that a question would search, for `filters`."""
        query = checked(FilterValuesQuerySerializer, request.query_params)
        user = asking_user(request)
        scope = scope_for(user=user, names=query.get("collections", []))
        if session_id := query.get("session_id"):
            scope = scope.beside(scope_attached(user=user, conversation_id=session_id))
        return Response(FilterValuesSerializer(filter_values(scope)).data)
