"""`/api/review/tokens`: tokens of models by person and by model, as JSON or CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import MEDIA_TYPES, DeskView, schema
from chat.review.marks import export_log
from chat.review.prices import has_prices
from chat.review.serializers import DaysQuery
from chat.review.stats import Days
from chat.review.tokens import tokens_by, tokens_csv
from ragsite.core.api.fields import checked
from ragsite.core.api.rendering import rendered
from ragsite.core.localized import localized


class TokensQuery(DaysQuery):
    by = serializers.ChoiceField(
        ["model", "person"],
        required=False,
        default="model",
        help_text="person: with the right to names.",
    )
    format = serializers.ChoiceField(
        ["json", "csv"],
        required=False,
        default="json",
        help_text="csv: with the right to export.",
    )


class TokensRowSerializer(serializers.Serializer[Any]):
    """key: a model, or a user name; empty: the site's own work and deleted accounts. usd: the list price as far as it
    is known; null where it is not, or the model server is the house's own. without_price: models of which it is not."""

    key = serializers.CharField(allow_blank=True)
    label: Any = serializers.CharField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    usd = serializers.FloatField(allow_null=True)
    usd_at_least = serializers.BooleanField(
        help_text="It may have been more: large prompts of a model cost more."
    )
    without_price = serializers.ListField(child=serializers.CharField())


class TokensSerializer(serializers.Serializer[Any]):
    by = serializers.CharField()
    since = serializers.DateField()
    until = serializers.DateField()
    has_prices = serializers.BooleanField(help_text="The model server is somebody else's.")
    rows = TokensRowSerializer(many=True)


class TokensApi(DeskView):
    @schema(
        operation_id="review_tokens",
        parameters=[TokensQuery],
        responses={
            (200, "application/json"): TokensSerializer,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> Response | HttpResponse:
        """Tokens by model or by person, most first."""
        query = checked(TokensQuery, request.query_params)
        days = Days(query.get("from"), query.get("to"))
        by = query["by"]
        rows = tokens_by(access=self.access, by=by, days=days)
        span = {"since": str(days.since), "until": str(days.until)}
        if query["format"] == "json":
            data = {"by": by, **span, "has_prices": has_prices(), "rows": localized(rows)}
            return Response(rendered(TokensSerializer, data))
        self.access.require("export")
        named = {"from": span["since"], "to": span["until"]}
        export_log(access=self.access, filters=named, with_names=by == "person")
        name = f"tokens-by-{by}-{span['since']}-{span['until']}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(
            tokens_csv(rows, by=by), content_type=MEDIA_TYPES["csv"], headers=headers
        )
