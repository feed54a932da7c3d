"""A tiny labelled set as files, and golden questions over documents that are indexed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.core.files.base import ContentFile, File

DOCUMENTS = [
    {"id": "leave", "title": "Leave", "text": "Every employee has thirty days of paid leave in a year."},
    {"_id": "travel", "title": "Travel", "text": "Train tickets are refunded when the receipt is handed in."},
    {"id": "kitchen", "title": "Kitchen", "text": "The dishwasher is emptied by whoever comes first."},
    {"id": "parking", "title": "Parking", "text": "Bicycles stand in the cellar. " * 40},
]
QUERIES = [
    {"id": "q1", "text": "How many days of paid leave does an employee have?"},
    {"_id": "q2", "text": "Are train tickets refunded?"},
    {"id": "q3", "text": "Who founded the orchestra of Vienna?", "unanswerable": True},
    {"id": "q4", "text": "Where do bicycles stand?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tleave\t1\nq2\ttravel\t1\nq4\tparking\t1\n"


def jsonl(rows: Sequence[Any]) -> bytes:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows).encode()


def files(**broken: bytes) -> dict[str, File[bytes]]:
    """corpus, queries, qrels; `broken` in place of one of them."""
    content = {"corpus": jsonl(DOCUMENTS), "queries": jsonl(QUERIES), "qrels": QRELS.encode(), **broken}
    return {name: ContentFile(data, name=name) for name, data in content.items()}
