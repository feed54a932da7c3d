"""What people say about a document: validated once, for uploads, edits and commands alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragsite.core.errors import InvalidInputError
from ragsite.core.text import clean_line
from ragsite.core.wording import worded
from retrieval.models import Document

MAX_NAME_CHARS = 100
MAX_TITLE_CHARS = 300
MAX_TAGS = 20
MAX_TAG_CHARS = 50
YEARS = range(1000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMetadata:
    """The fields that filters work on."""

    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    tags: tuple[str, ...] = ()

    def filled_from(self, document: Document) -> DocumentMetadata:
        """What is empty here is as of that document."""
        return DocumentMetadata(
            department=self.department or document.department,
            doc_type=self.doc_type or document.doc_type,
            policy_year=self.policy_year if self.policy_year is not None else document.policy_year,
            tags=self.tags or tuple(document.tags),
        )


def metadata_clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields, and only those, in the form of the model. Tags: a list, or text parted by commas.

    Raises InvalidInputError that names every wrong field.
    """
    clean: dict[str, Any] = {}
    wrong: dict[str, list[str]] = {}
    for name, parse in PARSERS.items():
        if name not in values:
            continue
        try:
            clean[name] = parse(values[name])
        except ValueError as error:
            wrong[name] = [str(error)]
    if wrong:
        raise InvalidInputError(fields=wrong)
    return clean


def metadata_from(values: Mapping[str, Any]) -> DocumentMetadata:
    """As `metadata_clean`, for a new document."""
    clean = metadata_clean({name: values[name] for name in values if name != "title"})
    return DocumentMetadata(**{**clean, "tags": tuple(clean.get("tags", ()))})


def _text(value: Any, *, limit: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(worded("Give a text."))
    text = clean_line(value)
    if len(text) > limit:
        raise ValueError(worded("{limit} characters at most.", limit=limit))
    return text


def _name(value: Any) -> str:
    return _text(value, limit=MAX_NAME_CHARS)


def _title(value: Any) -> str:
    if not (title := _text(value, limit=MAX_TITLE_CHARS)):
        raise ValueError(worded("A document needs a title."))
    return title


def _year(value: Any) -> int | None:
    if value is None or value == "":
        return None
    message = worded("Give a year of four digits.")
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip().isdecimal():
        raise ValueError(message)
    if len(str(value).strip()) != 4 or int(value) not in YEARS:
        raise ValueError(message)
    return int(value)


def _tags(value: Any) -> list[str]:
    parts = [] if value is None else value.replace("，", ",").split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence):
        raise ValueError(worded("Give a list of tags."))
    tags = list(dict.fromkeys(tag for part in parts if (tag := _text(part, limit=MAX_TAG_CHARS))))
    if len(tags) > MAX_TAGS:
        raise ValueError(worded("{most} tags at most.", most=MAX_TAGS))
    return tags


PARSERS = {"title": _title, "department": _name, "doc_type": _name, "policy_year": _year, "tags": _tags}
