"""Which documents a count looks at, and which of the scope it can't."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import CountFilter
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES
from retrieval.knowledge.scopes import collection_ids
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Document

WORKBOOK = MEDIA_TYPES["xlsx"]


class CountedDocument(NamedTuple):
    """language: ISO 639, as it was read; empty where it shows none. chunks: how many it was cut into. file: by which
    two are the same file. is_workbook: the numbers of its cells are written by its reader."""

    id: UUID
    title: str
    language: str
    chunks: int
    file: str
    is_workbook: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeDocuments:
    """Documents of the scope, whatever the filters say: those that can be counted, and those that are being read,
    failed, or ready but for some parts."""

    ready: int
    being_read: int
    failed: int
    partly_read: int


def filtered_documents(scope: SearchScope, counted: CountFilter) -> list[CountedDocument]:
    """Current documents of the scope that are ready and that the filters let through, by title."""
    rows = _ready(scope).filter(_rule(counted))
    columns = ["pk", "title", "language", "chunk_count", "content_hash", "media_type"]
    tags = set(counted.metadata.tags)
    if tags:
        columns.append("tags")  # lists in JSON can't be searched alike in all databases
    found: list[Any] = list(rows.order_by(Lower("title"), "pk").values_list(*columns))
    return [
        CountedDocument(pk, title, language, chunks, file, media_type == WORKBOOK)
        for pk, title, language, chunks, file, media_type, *own in found
        if not tags or tags & set(own[0])
    ]


def documents_unset(scope: SearchScope, counted: CountFilter) -> int:
    """How many ready documents lack something that is filtered by, and would be let through otherwise."""
    named = counted.metadata.as_dict()
    unset = Q()
    for name in ("department", "doc_type"):
        if name in named:
            unset |= Q(**{name: ""})
    if "policy_year" in named or (counted.year_from, counted.year_to) != (None, None):
        unset |= Q(policy_year=None)
    if "tags" in named:
        unset |= Q(tags=[])
    if not unset:
        return 0
    rows = _ready(scope).filter(unset).filter(_rule(counted, or_unset=True)).order_by()
    tags = set(counted.metadata.tags)
    if not tags:
        return rows.count()
    return sum(not own or bool(tags & set(own)) for own in rows.values_list("tags", flat=True))


def surroundings(scope: SearchScope) -> ScopeDocuments:
    rows = current_documents(scope).order_by()
    ready = rows.filter(status=Document.Status.READY)
    return ScopeDocuments(
        ready=ready.count(),
        being_read=rows.filter(status__in=Document.BEING_READ).count(),
        failed=rows.filter(status=Document.Status.FAILED).count(),
        partly_read=ready.exclude(unread=[]).count(),
    )


def current_documents(scope: SearchScope) -> QuerySet[Document]:
    """Of the scope, in whatever state, but for those that a newer version has replaced."""
    return Document.objects.filter(collection__in=collection_ids(scope), superseded_at=None)


def _ready(scope: SearchScope) -> QuerySet[Document]:
    return current_documents(scope).filter(status=Document.Status.READY)


def _rule(counted: CountFilter, *, or_unset: bool = False) -> Q:
    """Of all filters but tags. or_unset: what a document has no value for lets it through."""
    exact = counted.metadata.as_dict()
    exact.pop("tags", None)
    rule = Q()
    for name, value in exact.items():
        none = Q(**{name: None if name == "policy_year" else ""})
        rule &= Q(**{name: value}) | none if or_unset else Q(**{name: value})
    years = Q()
    if counted.year_from is not None:
        years &= Q(policy_year__gte=counted.year_from)
    if counted.year_to is not None:
        years &= Q(policy_year__lte=counted.year_to)
    if years:
        rule &= years | Q(policy_year=None) if or_unset else years
    if counted.metadata.documents:
        rule &= Q(pk__in=[key for key in map(as_uuid, counted.metadata.documents) if key])
    if counted.added_from is not None:
        rule &= Q(created_at__gte=datetime.combine(counted.added_from, time.min, UTC))
    if counted.added_to is not None:
        rule &= Q(created_at__lte=datetime.combine(counted.added_to, time.max, UTC))
    return rule
