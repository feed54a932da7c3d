"""The values that a search may filter by: those that the documents of a scope have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count

from retrieval.engine.values import SearchScope
from retrieval.knowledge.scopes import collection_ids
from retrieval.models import Document

MAX_FILTER_VALUES = 100  # of one field
MAX_TAG_SETS = 5000
MAX_KINDS = 20_000  # combinations of department, type and year


def filter_values(scope: SearchScope) -> dict[str, list[dict[str, Any]]]:
    """What the ready documents of a scope can be filtered by: `{"value", "count"}` of each field, bounded.

    Years come newest first, the others by count. Of departments, types and years those of the most common combinations
    are counted, of tags those of the most common sets.
    """
    searched = Document.objects.filter(
        collection__in=collection_ids(scope), status=Document.Status.READY, superseded_at=None
    )
    documents = searched.order_by()
    departments = Counter[str]()
    doc_types = Counter[str]()
    years = Counter[int]()
    kinds = documents.values_list("department", "doc_type", "policy_year").annotate(
        count=Count("*")
    )
    for department, doc_type, year, count in kinds.order_by("-count")[:MAX_KINDS]:
        departments[department] += count
        doc_types[doc_type] += count
        years[year] += count
    tags = Counter[str]()
    for names, count in (
        documents.values_list("tags").annotate(count=Count("*")).order_by("-count")[:MAX_TAG_SETS]
    ):
        tags.update(dict.fromkeys(names, count))
    newest_years = sorted(
        ((year, count) for year, count in years.items() if year is not None), reverse=True
    )
    return {
        "department": _values(_most(departments)),
        "doc_type": _values(_most(doc_types)),
        "policy_year": _values(newest_years),
        "tags": _values(_most(tags)),
    }


def _most(counted: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, those of one frequency by name; without the empty one."""
    named = [(value, count) for value, count in counted.items() if value]
    return sorted(named, key=lambda entry: (-entry[1], entry[0]))


def _values(counted: Sequence[tuple[Any, int]]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in counted[:MAX_FILTER_VALUES]]
