"""Input of the desk: the filters of the queue, for pages, API and exports alike, and what is changed of an answer."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat.models import AnswerReview, Message
from chat.review.labels import LANGUAGES
from chat.review.marks import MAX_AT_ONCE, MAX_LABEL_CHARS, MAX_LABELS, MAX_NOTE_CHARS
from chat.review.queue import RATED, SORTS, AnswerFilters
from chat.review.records import REASONS
from ragsite.core.api.fields import (
    FlagField,
    IdField,
    StrictQuerySerializer,
    StrictSerializer,
    TextField,
)
from ragsite.core.localized import localized
from ragsite.core.wording import worded
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.workflows import available_workflows

MAX_SEARCH_CHARS = 300
PAGE_SIZE, MAX_PAGE_SIZE = 50, 100
EXPORT_FORMATS = ("csv", "jsonl")
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


@extend_schema_field({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})
class MomentField(serializers.CharField):
    """A day or a moment, ISO 8601. A day is its first moment; with `through` the first one of the next day."""

    def __init__(self, *, through: bool = False, **kwargs: Any) -> None:
        self.through = through
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        try:
            moment, day = parse_datetime(text), parse_date(text)
            if day is not None:
                moment = datetime.combine(day, time.min) + (timedelta(days=1) if self.through else timedelta())
        except ValueError:
            moment = None
        except OverflowError:
            return LATEST
        if moment is None:
            raise serializers.ValidationError(localized(worded("Give a day, YYYY-MM-DD, or a moment in ISO 8601.")))
        try:
            aware = moment if timezone.is_aware(moment) else timezone.make_aware(moment)
            return min(max(aware.astimezone(UTC), EARLIEST), LATEST)
        except OverflowError:
            return EARLIEST if moment.year < 5000 else LATEST


def _text(most: int, help_text: str = "") -> serializers.CharField:
    return serializers.CharField(required=False, allow_blank=True, max_length=most, help_text=help_text)


def _choice(values: Any, help_text: str = "") -> serializers.ChoiceField:
    return serializers.ChoiceField(list(values), required=False, allow_blank=True, help_text=help_text)


class FiltersSerializer(StrictQuerySerializer):
    """Filters of the queue; an empty one is left out. Unknown parameters are refused."""

    reason = _choice(REASONS, "Why an answer is to be looked at.")
    rating = _choice([*RATED, "up", "down"], "The worst of its ratings: bad (1–2), good (4–5), any, none, or 1 to 5.")
    decision = _choice(Message.Decision.values)
    workflow = _choice(available_workflows())
    model = _text(200)
    language = _choice(LANGUAGES, "Of the question; und: it has no letters.")
    state = _choice(AnswerReview.State.values)
    collection = _text(MAX_ADDRESS_CHARS, "An id, or a name.")
    group = _text(150, "The name of a group that its user is in.")
    user = _text(150, "Who asked: for those who see names.")
    reviewer = _text(150, "To whom it is assigned, or who reviewed it; nobody: not assigned.")
    label: Any = _text(MAX_LABEL_CHARS)  # a field has an attribute of this name
    session = serializers.UUIDField(required=False, help_text="One conversation.")
    search = _text(MAX_SEARCH_CHARS, "Words that all occur in the question or the answer.")
    sort = _choice(SORTS)

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        fields["from"] = MomentField(required=False, allow_blank=True, help_text="A day or a moment.")
        fields["to"] = MomentField(
            through=True, required=False, allow_blank=True, help_text="A day, which is included, or a moment."
        )
        return fields

    def to_internal_value(self, data: Any) -> Any:
        blank = {name for name, field in self.fields.items() if getattr(field, "allow_blank", False)}
        empty = {name for name in blank if data.get(name) == ""}
        return super().to_internal_value({name: value for name, value in data.items() if name not in empty})


FILTER_NAMES = tuple(FiltersSerializer().get_fields())
THUMBS = {"up": "good", "down": "bad"}
FILTER_OF = {"from": "since", "to": "until"}  # parameters that Python or its reader would take for something else
NO_FILTERS = ("before", "after", "page_size", "format", "names")


def read_filters(checked: dict[str, Any]) -> AnswerFilters:
    """Of the validated data of a FiltersSerializer."""
    values = {FILTER_OF.get(name, name): value for name, value in checked.items() if name not in NO_FILTERS}
    if "rating" in values:
        values["rating"] = THUMBS.get(values["rating"], values["rating"])
    return AnswerFilters(**values)


class QueueQuerySerializer(FiltersSerializer):
    """And which page: the cursors come from `next` and `previous`."""

    after = _text(80)
    before = _text(80)
    page_size = serializers.IntegerField(required=False, min_value=1, max_value=MAX_PAGE_SIZE, default=PAGE_SIZE)


class ExportQuerySerializer(FiltersSerializer):
    """And which form. names: absent, as the role allows."""

    format = serializers.ChoiceField(EXPORT_FORMATS, required=False, default=EXPORT_FORMATS[0])
    names = serializers.BooleanField(required=False, help_text="Who asked; without it, as the role allows.")


class ChangesSerializer(StrictSerializer):
    """What is left out stays as it is."""

    state = serializers.ChoiceField(AnswerReview.State.choices, required=False)
    assignee = TextField(required=False, allow_null=True, max_length=150, help_text="A user name; null: nobody.")
    note = TextField(required=False, allow_blank=True, max_length=MAX_NOTE_CHARS)
    labels = serializers.ListField(
        child=TextField(max_length=MAX_LABEL_CHARS), required=False, max_length=MAX_LABELS, help_text="In place of all."
    )


class BulkChangesSerializer(ChangesSerializer):
    """The same changes to several answers."""

    message_ids = serializers.ListField(child=IdField(), allow_empty=False, max_length=MAX_AT_ONCE)
    add_labels = serializers.ListField(
        child=TextField(max_length=MAX_LABEL_CHARS), required=False, max_length=MAX_LABELS
    )
    remove_labels = serializers.ListField(
        child=TextField(max_length=MAX_LABEL_CHARS), required=False, max_length=MAX_LABELS
    )


class SavedViewInputSerializer(StrictSerializer):
    """Filters as a mapping of the queue's parameters; shared: for all at the desk."""

    name = TextField(max_length=80)
    filters = serializers.DictField(child=TextField(allow_blank=True, max_length=MAX_SEARCH_CHARS))
    shared = FlagField(required=False, default=False)
