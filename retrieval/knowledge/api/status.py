"""The state of the model server, and of what is being read, for every page's banner."""

from __future__ import annotations

import asyncio
from typing import Any

from adrf.views import APIView
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.core.api.rendering import rendered
from ragsite.core.database import database_call
from ragsite.core.localized import localized
from ragsite.runtime import live_settings
from retrieval.compose import get_engine
from retrieval.engine.errors import IndexUnavailableError
from retrieval.knowledge.index_sync.repair import index_holdings
from retrieval.knowledge.services.reading_progress import reading_progress

INDEX_TIMEOUT_S = 3.0


class ReadingProgressSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    done = serializers.IntegerField()


class StatusSerializer(serializers.Serializer[Any]):
    online = serializers.BooleanField()
    offline_forced = serializers.BooleanField()
    chat_model = serializers.CharField()
    chat_models = serializers.ListField(
        child=serializers.CharField(), help_text="Those that a question may name as its `model`."
    )
    ignoring_format = serializers.ListField(
        child=serializers.CharField(), help_text="Models whose server does not hold them to a form."
    )
    fast_model = serializers.CharField()
    embed_model = serializers.CharField()
    reason = serializers.CharField()
    reading = ReadingProgressSerializer(
        help_text="Of the documents that came in since nothing was left to be read; 0 of 0: all is read."
    )
    index = serializers.ChoiceField(["ok", "incomplete", "away"], help_text="The search index.")
    index_missing = serializers.IntegerField(
        help_text="Its rows that are missing, and being written again."
    )


class StatusApi(APIView):
    """What the model server offers now, whether the index is whole, and how far the reading of new documents is: pages
    say so when answers are made without a model, or without some of the documents."""

    scope = "read"

    @extend_schema(
        operation_id="status",
        responses=StatusSerializer,
    )
    async def get(self, request: Request) -> Response:
        await database_call(live_settings.refresh)
        status = await get_engine().models.status()
        reading = await database_call(lambda: reading_progress(user=request.user))
        state = "ok"
        missing = 0
        try:
            async with asyncio.timeout(INDEX_TIMEOUT_S):
                missing = (await index_holdings()).missing
            state = "incomplete" if missing else "ok"
        except (IndexUnavailableError, TimeoutError):
            state = "away"
        shown = {
            "online": status.reachable and bool(status.chat_model),
            "offline_forced": status.offline_forced,
            "chat_model": status.chat_model,
            "chat_models": status.chat_models,
            "ignoring_format": status.ignoring_format,
            "fast_model": status.fast_model,
            "embed_model": status.embed_model,
            "reason": localized(status.reason),
            "reading": reading,
            "index": state,
            "index_missing": missing,
        }
        return Response(rendered(StatusSerializer, shown))
