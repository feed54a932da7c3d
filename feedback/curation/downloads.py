"""Files for staff, from the admin and from the API alike."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpResponse

from feedback.curation.golden_files import golden_export
from feedback.models import GoldenQuestion

JSONL = "application/x-ndjson"


def golden_file(questions: QuerySet[GoldenQuestion]) -> HttpResponse:
    return _file("".join(golden_export(questions)), "golden-questions.jsonl", f"{JSONL}; charset=utf-8")


def _file(content: str, name: str, media_type: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=media_type, headers=headers)
