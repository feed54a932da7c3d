"""Retrieval only, over HTTP: candidates with every leg's score and rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from adrf.views import APIView
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.core.api.fields import (
    ListField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    read_body,
)
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized
from ragsite.runtime import live_settings
from retrieval.compose import search_as_answered
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.values import Query, SearchScope
from retrieval.knowledge.api.collection_fields import ADDRESS
from retrieval.knowledge.api.question_fields import (
    FiltersModeField,
    FiltersSerializer,
    QuestionField,
    search_filters,
)
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.scopes import scope_for

STAGES: tuple[Literal["dense", "bm25"], ...] = ("dense", "bm25")
HYBRID = "hybrid"  # both, by the name that `manage.py evaluate` has for it


class SearchInputSerializer(StrictSerializer):
    query = QuestionField(max_length=settings.RAG.limits.message_chars, trim_whitespace=False)
    collections = ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        max_length=100,
    )
    filters = FiltersSerializer(required=False)
    filters_mode = FiltersModeField()
    top_k = WholeNumberField(required=False, min_value=1, max_value=settings.RAG.search.max_top_k)
    stages = ListField(
        child=serializers.ChoiceField(choices=(*STAGES, HYBRID)),
        required=False,
        allow_empty=False,
        max_length=len(STAGES) + 1,
        help_text="hybrid (default): both, fused.",
    )


class CandidateSerializer(serializers.Serializer[Any]):
    """Of a `ScoredChunk`."""

    document_id = serializers.UUIDField()
    chunk_id = serializers.UUIDField()
    title = serializers.CharField(source="chunk.title")
    page = serializers.IntegerField(source="chunk.page", allow_null=True)
    heading = serializers.CharField(source="chunk.heading", allow_blank=True)
    text = serializers.CharField(source="chunk.text")
    scores = serializers.DictField(source="scores.as_dict", child=serializers.FloatField())
    ranks = serializers.DictField(
        child=serializers.IntegerField(), help_text='By leg, e.g. {"original:bm25": 1}.'
    )


class SearchResultSerializer(serializers.Serializer[Any]):
    """Best first. relaxed: filters (of `filters_mode` prefer) that not all candidates meet: those that do come first.
    degraded: what could not be used, and why."""

    candidates = CandidateSerializer(many=True)
    timings_ms = serializers.DictField(child=serializers.FloatField())
    relaxed = serializers.ListField(child=serializers.CharField())
    degraded = serializers.ListField(child=serializers.CharField())
    notes = serializers.DictField()


class SearchApi(APIView):
    scope = "read"

    @extend_schema(
        operation_id="search", request=SearchInputSerializer, responses=SearchResultSerializer
    )
    async def post(self, request: Request) -> Response:
        """Search your own collections, those shared with your groups and those that the site has approved; or the
        collections named."""
        body = (await read_body(SearchInputSerializer, request)).validated_data
        found = await search_answered(user=asking_user(request), body=body)
        shown = replace(found, degraded=localized(found.degraded), notes=localized(found.notes))
        return Response(SearchResultSerializer(shown).data)


async def search_answered(*, user: User, body: Mapping[str, Any]) -> SearchResult:
    """body: as `SearchInputSerializer` gives it. Raises CollectionNotFoundError."""
    search = SearchRequest(
        queries=(Query(body["query"]),),
        scope=await sync_to_async(_scope)(user=user, names=body.get("collections", [])),
        filters=search_filters(body.get("filters", {})).in_mode(body.get("filters_mode", "strict")),
        top_k=body.get("top_k", settings.RAG.search.top_k),
        stages=_legs(body.get("stages", [HYBRID])),
    )
    return await search_as_answered(search, asker_id=str(user.pk))


def _legs(stages: Sequence[str]) -> tuple[Literal["dense", "bm25"], ...]:
    return tuple(stage for stage in STAGES if stage in stages or HYBRID in stages)


def _scope(*, user: User, names: Sequence[str]) -> SearchScope:
    live_settings.refresh()
    return scope_for(user=user, names=names)
