"""`/api/model-server/embedding`: which collections another model has embedded, what embedding them again costs."""

from __future__ import annotations

from typing import Any

from adrf.views import APIView
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.core.api.fields import NoFieldsSerializer, read_body
from ragsite.core.api.rendering import rendered
from ragsite.core.database import database_call
from ragsite.core.localized import localized
from ragsite.operations.model_server.api import SUPERUSERS
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.index_sync.reembedding import (
    EmbeddingCost,
    collections_apart,
    embedding_cost,
    reembedding_start,
)

SHOWN = 100


class ApartSerializer(serializers.Serializer[Any]):
    """A collection that another model has embedded. done, total: passages; null: nobody asked for it yet."""

    id = serializers.UUIDField()
    address = serializers.CharField()
    model = serializers.CharField(help_text="The one that has embedded it.")
    documents = serializers.IntegerField()
    passages = serializers.IntegerField()
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(
        allow_blank=True, help_text="Why it was not possible at the last try."
    )


class EmbeddingSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(
        allow_null=True, help_text="Of new collections; null: none can be reached."
    )
    reason = serializers.CharField(allow_blank=True)
    passages = serializers.IntegerField(help_text="That would be embedded again.")
    estimated_s = serializers.FloatField(
        allow_null=True, help_text="For all of them, by the pace of a few."
    )
    collections: Any = ApartSerializer(many=True, help_text=f"At most {SHOWN}.")


class EmbeddingApi(APIView):
    scope = ""
    permission_classes = SUPERUSERS

    @extend_schema(
        operation_id="model_server_embedding", responses=EmbeddingSerializer, tags=["models"]
    )
    async def get(self, request: Request) -> Response:
        """What the embedding model has yet to embed, and how far that is. For superusers."""
        return Response(await _embedding_data(await embedding_cost()))

    @extend_schema(
        operation_id="model_server_embed_again",
        request=NoFieldsSerializer,
        responses={202: EmbeddingSerializer},
        tags=["models"],
    )
    async def post(self, request: Request) -> Response:
        """Embed all of these collections again, by a worker; searches go on meanwhile. For superusers."""
        await read_body(NoFieldsSerializer, request)
        cost = await embedding_cost()
        if cost.space is not None:
            await database_call(_start, cost.space)
        return Response(await _embedding_data(cost), status=202)


def _start(space: EmbeddingSpace) -> None:
    for collection in collections_apart(space):
        move = getattr(collection, "reembedding", None)
        if move is None or move.error or move.finished_at:
            reembedding_start(collection=collection)


async def _embedding_data(cost: EmbeddingCost) -> dict[str, Any]:
    rows = await database_call(_apart, cost.space) if cost.space else []
    shown = {
        "model": cost.space.model if cost.space else None,
        "reason": str(localized(cost.reason)),
        "passages": cost.passages,
        "estimated_s": cost.estimated_s,
        "collections": [_apart_data(row) for row in rows],
    }
    return rendered(EmbeddingSerializer, shown)


def _apart(space: EmbeddingSpace) -> list[Any]:
    return list(collections_apart(space)[:SHOWN])


def _apart_data(collection: Any) -> dict[str, Any]:
    move = getattr(collection, "reembedding", None)
    under_way = move if move and move.finished_at is None else None
    return {
        "id": collection.pk,
        "address": collection.address,
        "model": collection.embedding_model,
        "documents": collection.documents_count,
        "passages": collection.passages_count,
        "done": under_way.done if under_way else None,
        "total": under_way.total if under_way else None,
        "error": move.error if move else "",
    }
