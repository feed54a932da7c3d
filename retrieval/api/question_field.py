"""The text of a question or query."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from ragsite.core.api.fields import TextField
from ragsite.core.text import CONTROL
from retrieval.search.queries import query_text

_SAYS_NOTHING = rf"\s{CONTROL}\ufeff"


class QuestionField(TextField):
    """A text with something to search for in it: control characters alone are as good as blank.

    A text beyond the site's limit is not wrong but too large, where the view says so with 413.
    """

    schema_rules = {
        "maxLength": settings.RAG.limits.message_chars,
        "pattern": rf"^[^\u0000]*[^{_SAYS_NOTHING}][^\u0000]*$",
    }

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not query_text(text):
            self.fail("blank")
        return text
