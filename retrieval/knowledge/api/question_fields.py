"""The text of a question, and the filters that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import serializers

from ragsite.core.api.fields import ListField, StrictSerializer, TextField, WholeNumberField
from ragsite.core.text import CONTROL, is_seen
from retrieval.engine.search.query_groups import query_text
from retrieval.engine.values import FILTERS_MODES, SearchFilters
from retrieval.knowledge.api.collection_fields import MAX_NAMES

_SAYS_NOTHING = rf"\s{CONTROL}\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"


class FiltersSerializer(StrictSerializer):
    """A filter that is silently ignored would show what it was meant to hide."""

    department = TextField(required=False, allow_null=True, allow_blank=True, max_length=100)
    doc_type = TextField(required=False, allow_null=True, allow_blank=True, max_length=100)
    policy_year = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    tags = ListField(child=TextField(max_length=100), required=False, max_length=MAX_NAMES)


class FiltersModeField(serializers.ChoiceField):
    """Whether the request's filters hold whatever they leave, or may give way."""

    def __init__(self, **options: Any) -> None:
        help_text = (
            "strict (default): the filters are never relaxed. prefer: what they name comes first, as far as it is "
            "about the question, and the rest follows. Filters that are read from the question itself always prefer."
        )
        super().__init__(choices=FILTERS_MODES, required=False, help_text=help_text, **options)


def search_filters(checked: Mapping[str, Any]) -> SearchFilters:
    """From a `FiltersSerializer`'s validated data. What is empty or null does not filter."""
    values = {name: value for name, value in checked.items() if value not in (None, "")}
    return SearchFilters(**{**values, "tags": tuple(values.get("tags", ()))})


class QuestionField(TextField):
    """A text with something to search for in it: control characters and what is not seen alone are as good as blank.

    A text beyond the site's limit is not wrong but too large, where the view says so with 413.
    """

    schema_rules = {
        "maxLength": settings.RAG.limits.message_chars,
        "pattern": rf"^[^\u0000]*[^{_SAYS_NOTHING}][^\u0000]*$",
    }

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not query_text(text) or not is_seen(text):
            self.fail("blank")
        return text
