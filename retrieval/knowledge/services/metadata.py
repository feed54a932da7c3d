"""What people say about a document: validated once, for uploads, edits and commands alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line
from retrieval.models import Document

FILTERED = ("department", "doc_type", "policy_year", "tags")  # what filters work on
INDEXED = ("title", *FILTERED)  # what the index knows of a document, too
FIELDS = (*INDEXED, "review_by")
MAX_TAGS = 20
MAX_TAG_CHARS = 50


def metadata_clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields, and only those, in the form of the model. Tags: a list, or text parted by commas.

    Raises InvalidInputError that names every wrong field.
    """
    clean: dict[str, Any] = {}
    for name in FIELDS:
        match name, values.get(name):
            case _, _ if name not in values:
                continue
            case "policy_year" | "review_by", value:
                clean[name] = None if value == "" else value
            case "tags", tags:
                parts = tags.replace("，", ",").split(",") if isinstance(tags, str) else tags or ()
                clean[name] = list(
                    dict.fromkeys(tag for part in parts if (tag := clean_line(part)))
                )
            case _, text:
                clean[name] = clean_line(text or "")
    document = Document(**clean)
    wrong: dict[str, list[str]] = {}
    try:
        document.clean_fields(
            exclude={field.name for field in Document._meta.fields} - clean.keys()
        )
    except ValidationError as error:
        wrong = error.message_dict
    if len(document.tags) > MAX_TAGS:
        wrong["tags"] = [worded("{most} tags at most.", most=MAX_TAGS)]
    elif any(len(tag) > MAX_TAG_CHARS for tag in document.tags):
        wrong["tags"] = [worded("{limit} characters at most.", limit=MAX_TAG_CHARS)]
    if wrong:
        raise InvalidInputError(fields=wrong)
    return {name: getattr(document, name) for name in clean}
