"""`/api/usage`: the tokens of models that one has used, and may still use. Nobody else's are ever there."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.runs.budgets import PERIODS, allowances
from ragsite.core.api.rendering import rendered
from ragsite.core.api.user import asking_user


class AllowanceSerializer(serializers.Serializer[Any]):
    """Tokens that were read and written by models. whose: yours, or all that the site's people and its own work use
    together, which is there where the site has a limit. A period is a day or a calendar month in the site's time zone;
    `starts_again_at` is its end. An answer that is being written ends, and may go beyond the limit."""

    period = serializers.ChoiceField(PERIODS)
    whose = serializers.ChoiceField(("person", "site"))
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="null: there is none.")
    left = serializers.IntegerField(allow_null=True, help_text="null: there is no limit.")
    starts_again_at = serializers.DateTimeField()


class UsageOfCallerSerializer(serializers.Serializer[Any]):
    """What is used up in one of them is refused: 429, `budget_used_up`."""

    allowances = AllowanceSerializer(many=True)


class UsageApi(APIView):
    scope = "ask"

    @extend_schema(
        operation_id="usage_get", responses={200: UsageOfCallerSerializer}, tags=["chat"]
    )
    def get(self, request: Request) -> Response:
        """The tokens that you have used today and this month, and what is left of them."""
        shown = {"allowances": allowances(asking_user(request))}
        return Response(rendered(UsageOfCallerSerializer, shown))
