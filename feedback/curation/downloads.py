"""Files for staff, from the admin and from the API alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db.models import QuerySet
from django.http import HttpResponse

from feedback.curation.gap_selectors import gaps_as_csv, gaps_as_json
from feedback.curation.gaps import Gap
from feedback.curation.golden_files import golden_export
from feedback.models import GoldenQuestion
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import joined, worded

JSONL = "application/x-ndjson"
GAP_FORMATS = ("csv", "json")


def golden_file(questions: QuerySet[GoldenQuestion]) -> HttpResponse:
    return _file("".join(golden_export(questions)), "golden-questions.jsonl", f"{JSONL}; charset=utf-8")


def gaps_file(gaps_read: Callable[[], Sequence[Gap]], format_: str) -> HttpResponse:
    """gaps_read: gives those to write. Raises InvalidInputError for a format that is not in `GAP_FORMATS`."""
    if format_ not in GAP_FORMATS:
        raise InvalidInputError(
            fields={"format": [worded("One of {gap_formats}.", gap_formats=joined(", ", GAP_FORMATS))]}
        )
    gaps = gaps_read()
    if format_ == "csv":
        return _file(gaps_as_csv(gaps), "knowledge-gaps.csv", "text/csv; charset=utf-8")
    return _file(gaps_as_json(gaps), "knowledge-gaps.json", "application/json")


def _file(content: str, name: str, media_type: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=media_type, headers=headers)
