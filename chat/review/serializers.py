"""What the desk's calls take, and what they answer."""

from __future__ import annotations

from datetime import date
from typing import Any

from rest_framework import serializers

from chat.messages.answer_serializers import AnswerSerializer
from chat.models import AnswerReview, DeskEvent
from chat.review.marks import MAX_LABEL_CHARS, MAX_LABELS, MAX_NOTE_CHARS
from chat.review.records import REASONS
from chat.review.stats import COUNTS, RATES
from ragsite.core.api.fields import (
    ListField,
    StrictQuerySerializer,
    StrictSerializer,
    TextField,
)


class ChangesSerializer(StrictSerializer):
    """What is left out stays as it is."""

    state = serializers.ChoiceField(AnswerReview.State.choices, required=False)
    assignee = TextField(
        required=False, allow_null=True, max_length=150, help_text="A user name; null: nobody."
    )
    note = TextField(required=False, allow_blank=True, max_length=MAX_NOTE_CHARS)
    labels = ListField(
        child=TextField(max_length=MAX_LABEL_CHARS),
        required=False,
        max_length=MAX_LABELS,
        help_text="In place of all.",
    )


class DayField(serializers.DateField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, input_formats=["%Y-%m-%d"], **kwargs)

    def to_internal_value(self, value: Any) -> date:
        day = super().to_internal_value(value)
        if not 1970 <= day.year <= 9000:
            self.fail("invalid", format="YYYY-MM-DD")
        return day


class DaysQuery(StrictQuerySerializer):
    """The last 30 days unless `from` and `to` name others, both included."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return super().get_fields() | {"from": DayField(), "to": DayField()}


class StatsQuery(DaysQuery):
    by = serializers.ChoiceField(["day", "workflow", "collection"], required=False, default="day")


class CompareQuery(DaysQuery):
    by = serializers.ChoiceField(["workflow"], required=False, default="workflow")


# ------------------------------------------------------------------------------------------------ what is answered
class ReviewSerializer(serializers.Serializer[Any]):
    """An answer in the queue. user: null without the right to names."""

    message_id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    question = serializers.CharField(help_text="In lists its beginning.")
    answer = serializers.CharField(help_text="Its beginning.")
    decision = serializers.CharField(allow_null=True)
    status = serializers.CharField()
    workflow = serializers.CharField()
    model = serializers.CharField()
    rating = serializers.IntegerField(
        allow_null=True, help_text="The worst of its ratings, 1 to 5."
    )
    reasons = serializers.ListField(
        child=serializers.ChoiceField(REASONS), help_text="The worst first."
    )
    severity = serializers.IntegerField()
    total_ms = serializers.IntegerField(allow_null=True)
    superseded = serializers.BooleanField()
    collections = serializers.ListField(child=serializers.UUIDField())
    user = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(AnswerReview.State.choices)
    state_by = serializers.CharField(allow_null=True)
    state_at = serializers.DateTimeField(allow_null=True)
    assignee = serializers.CharField(allow_null=True)
    note = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField())


class DeskEventSerializer(serializers.Serializer[Any]):
    """What somebody did at the desk. detail: from and to of a change."""

    kind = serializers.ChoiceField(DeskEvent.Kind.choices)
    by = serializers.CharField()
    at = serializers.DateTimeField()
    detail = serializers.DictField()


class AnswerRatingSerializer(serializers.Serializer[Any]):
    """source: the marker of the source that was rated; null: the answer."""

    source: Any = serializers.IntegerField(allow_null=True)
    score = serializers.IntegerField()
    thumb = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    user = serializers.CharField(allow_null=True)


class FilledPromptSerializer(serializers.Serializer[Any]):
    """What one call asked, where the site keeps that and you may see names. text: null where it held what is remembered
    for the user. step: its `seq` in the path; call: its place in that step's calls, from 0."""

    step = serializers.IntegerField()
    call = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField(allow_null=True)


class ReviewDetailSerializer(ReviewSerializer):
    """With the whole answer, as a message of the chat, and the conversation before it."""

    message = AnswerSerializer()
    earlier = AnswerSerializer(many=True)
    ratings = AnswerRatingSerializer(many=True)
    passages = serializers.DictField(
        child=serializers.CharField(),
        help_text="What the chunk ids of the path are, as far as you may read them.",
    )
    filled_prompts = FilledPromptSerializer(many=True)
    path_deleted = serializers.BooleanField(
        help_text="It is older than the site keeps decision paths."
    )
    history = DeskEventSerializer(many=True)
    read_by = DeskEventSerializer(many=True)


class PercentilesSerializer(serializers.Serializer[Any]):
    """In ms; null where nothing was measured."""

    p50 = serializers.IntegerField(allow_null=True)
    p95 = serializers.IntegerField(allow_null=True)


class FiguresSerializer(serializers.Serializer[Any]):
    """Counts of answers. cut: broken off or failed, too; unconfirmed: a second look does not confirm it;
    weak: with a sentence that its sources do not support; degraded: a fallback served; flagged: with a remark, or a
    tag that names a fault; rated: the answer itself, whatever was said of its sources; rated_good, rated_bad: 4 or 5,
    1 or 2."""

    first_token_ms = PercentilesSerializer()
    total_ms = PercentilesSerializer()

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: serializers.IntegerField() for name in COUNTS} | super().get_fields()


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
    """good, bad: of rated answers."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: RateSerializer() for name in RATES}


class CompareRowSerializer(StatsRowSerializer):
    rates = RatesSerializer()


class CompareSerializer(serializers.Serializer[Any]):
    """notes: what these rates can't say."""

    by = serializers.CharField()
    since = serializers.DateField()
    until = serializers.DateField()
    notes = serializers.ListField(child=serializers.CharField())
    rows = CompareRowSerializer(many=True)
