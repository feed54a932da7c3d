"""Figures over HTTP: the dashboard's, comparisons with intervals, and gaps."""

from __future__ import annotations

from datetime import date
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView, schema
from chat.review.feedback_port import get_feedback
from chat.review.figures.stats import (
    CHOSEN,
    RATED,
    StatsFilters,
    compare_by,
    stats_by,
    stats_filters,
    totals,
)
from chat.review.labels import LANGUAGES
from chat.review.queue import collections_offered
from ragsite.core.api.fields import StrictQuerySerializer, checked
from ragsite.core.localized import localized
from retrieval.models import SITE
from retrieval.workflows import available_workflows

GROUPED = ("day", "workflow", "collection", "model", "language")
COMPARED = ("workflow", "model", "collection", "language", "period")
MOST_GAPS = 50


class DayField(serializers.DateField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, input_formats=["%Y-%m-%d"], **kwargs)

    def to_internal_value(self, value: Any) -> date:
        day = super().to_internal_value(value)
        if not 1970 <= day.year <= 9000:
            self.fail("invalid", format="YYYY-MM-DD")
        return day


class StatsQuerySerializer(StrictQuerySerializer):
    """The last 30 days unless `from` and `to` name others, both included."""

    workflow = serializers.ChoiceField(available_workflows(), required=False)
    model = serializers.CharField(required=False, max_length=200)
    language = serializers.ChoiceField(list(LANGUAGES), required=False)
    collection = serializers.UUIDField(required=False)

    def get_fields(self) -> dict[str, serializers.Field]:
        return super().get_fields() | {"from": DayField(), "to": DayField()}


class StatsByQuerySerializer(StatsQuerySerializer):
    by = serializers.ChoiceField(GROUPED, required=False, default="day")


class CompareQuerySerializer(StatsQuerySerializer):
    by = serializers.ChoiceField(COMPARED, required=False, default="workflow")


class GapsQuerySerializer(StrictQuerySerializer):
    days = serializers.IntegerField(required=False, default=30, min_value=1, max_value=365)
    limit = serializers.IntegerField(required=False, default=10, min_value=1, max_value=MOST_GAPS)


def read_filters(given: dict[str, Any]) -> StatsFilters:
    """Of the validated data of a StatsQuerySerializer. Raises InvalidInputError."""
    values = {name: given[name] for name in ("workflow", "model", "language", "collection") if name in given}
    return stats_filters(since=given.get("from"), until=given.get("to"), **values)


# ------------------------------------------------------------------------------------------------ output
class PercentilesSerializer(serializers.Serializer[Any]):
    """In ms; null where nothing was measured."""

    p50 = serializers.IntegerField(allow_null=True)
    p95 = serializers.IntegerField(allow_null=True)


class FiguresSerializer(serializers.Serializer[Any]):
    """Counts of answers. users: only of all answers, by day and in total."""

    answers = serializers.IntegerField()
    users = serializers.IntegerField(allow_null=True)
    answered = serializers.IntegerField(help_text="Decision ANSWER.")
    clarified = serializers.IntegerField(help_text="Decision CLARIFY.")
    no_answer = serializers.IntegerField()
    cut = serializers.IntegerField(help_text="Cut, broken off or failed.")
    weak = serializers.IntegerField(help_text="With a sentence that its sources do not bear out.")
    degraded = serializers.IntegerField(help_text="A fallback served.")
    slow = serializers.IntegerField()
    flagged = serializers.IntegerField(help_text="With a remark, or a tag that names a fault.")
    rated = serializers.IntegerField()
    rated_good = serializers.IntegerField(help_text="The worst rating is 4 or 5.")
    rated_bad = serializers.IntegerField(help_text="The worst rating is 1 or 2.")
    llm_calls = serializers.IntegerField()
    llm_rounds = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    first_token_ms = PercentilesSerializer()
    total_ms = PercentilesSerializer()


class StatsRowSerializer(FiguresSerializer):
    """key: a day, a name, the id of a collection; empty: what you may not know by name. label: for people."""

    key = serializers.CharField()
    label: Any = serializers.CharField()


class StatsSerializer(serializers.Serializer[Any]):
    by = serializers.CharField()
    since = serializers.DateField()
    until = serializers.DateField()
    totals = FiguresSerializer()
    rows = StatsRowSerializer(many=True)


class RateSerializer(serializers.Serializer[Any]):
    """A share with its 95 % interval by Wilson, which holds for one look. rate: null where nothing was counted."""

    hits = serializers.IntegerField()
    count = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True)
    low = serializers.FloatField()
    high = serializers.FloatField()


class RatesSerializer(serializers.Serializer[Any]):
    good = RateSerializer(help_text="Of rated answers.")
    bad = RateSerializer(help_text="Of rated answers.")
    no_answer = RateSerializer()
    weak = RateSerializer()
    degraded = RateSerializer()


class CompareRowSerializer(StatsRowSerializer):
    rates = RatesSerializer()


class CompareSerializer(serializers.Serializer[Any]):
    """notes: what these rates can't say."""

    by = serializers.CharField()
    since = serializers.DateField()
    until = serializers.DateField()
    notes = serializers.ListField(child=serializers.CharField())
    rows = CompareRowSerializer(many=True)


class DeskGapSerializer(serializers.Serializer[Any]):
    """A subject that questions were not answered on."""

    question = serializers.CharField()
    collection = serializers.CharField(help_text="Empty: of all that the askers may read.")
    count = serializers.IntegerField()
    people = serializers.IntegerField()
    last_seen = serializers.DateTimeField()
    id = serializers.IntegerField()
    state = serializers.CharField()
    url = serializers.CharField(help_text="Of its page.")
    wordings = serializers.IntegerField()
    asked_again = serializers.IntegerField(help_text="Wordings that were asked again, as it is worked on.")
    answered = serializers.IntegerField(help_text="Of these, how many are answered now.")


# ------------------------------------------------------------------------------------------------ calls
class StatsApi(DeskView):
    """`/api/review/stats`."""

    @schema(operation_id="review_stats", parameters=[StatsByQuerySerializer], responses={200: StatsSerializer})
    def get(self, request: Request) -> Response:
        """Figures by day, workflow, collection, model or language, and in total."""
        query = checked(StatsByQuerySerializer, request.query_params)
        filters = read_filters(query)
        return Response(
            localized(
                {
                    "by": query["by"],
                    "since": str(filters.since),
                    "until": str(filters.until),
                    "totals": totals(access=self.access, filters=filters),
                    "rows": stats_by(access=self.access, by=query["by"], filters=filters),
                }
            )
        )


class CompareApi(DeskView):
    """`/api/review/compare`."""

    @schema(operation_id="review_compare", parameters=[CompareQuerySerializer], responses={200: CompareSerializer})
    def get(self, request: Request) -> Response:
        """Rates with intervals by workflow, model, collection, language, or of the two halves of the time."""
        query = checked(CompareQuerySerializer, request.query_params)
        filters = read_filters(query)
        return Response(
            localized(
                {
                    "by": query["by"],
                    "since": str(filters.since),
                    "until": str(filters.until),
                    "notes": [CHOSEN, RATED],
                    "rows": compare_by(access=self.access, by=query["by"], filters=filters),
                }
            )
        )


class DeskGapsApi(DeskView):
    """`/api/review/gaps`."""

    @schema(operation_id="review_gaps", parameters=[GapsQuerySerializer], responses={200: DeskGapSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """Subjects that questions were not answered on, the largest first. A collection that the caller may not know is
        left out."""
        query = checked(GapsQuerySerializer, request.query_params)
        gaps = get_feedback().gaps(days=query["days"], limit=query["limit"])
        known = {str(row.pk): row.address.removeprefix(SITE) for row in collections_offered(self.access)}
        names = (
            "question", "count", "people", "id", "state", "wordings", "asked_again",
            "answered",
        )  # fmt: skip
        return Response(
            [
                {
                    **{name: getattr(gap, name) for name in names},
                    "collection": known.get(gap.collection, ""),
                    "url": gap.address,
                    "last_seen": gap.last_seen.isoformat(),
                }
                for gap in gaps
            ]
        )
