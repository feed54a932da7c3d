"""Chunks and documents as the engine reads them, out of the database."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from cachetools import LRUCache
from django.db.models import F, Q, QuerySet

from ragsite.core.database import database_call
from retrieval.engine.values import DocumentRef, SearchFilters, SearchScope, StoredChunk, Vocabulary
from retrieval.knowledge.scopes import collection_ids
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Chunk, Document

VOCABULARIES_KEPT = 64


class DatabaseChunkStore:
    """`retrieval.engine.ports.ChunkStore` on the database. What is not here does not exist, whatever the index says."""

    def __init__(self) -> None:
        self._vocabularies = LRUCache[tuple[tuple[str, int], ...], Vocabulary](VOCABULARIES_KEPT)

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        ids = [key for key in map(as_uuid, chunk_ids) if key is not None]
        if not ids or not scope.collections:
            return {}
        current = Chunk.objects.filter(
            document__collection__in=collection_ids(scope), document__superseded_at=None
        )
        return {
            chunk.chunk_id: chunk for chunk in await _stored(current.filter(pk__in=ids).order_by())
        }

    async def vocabulary(self, scope: SearchScope) -> Vocabulary:
        """Metadata values of the ready documents, sorted; kept until one of the collections changes."""
        key = tuple((ref.id, ref.version) for ref in scope.collections)
        if key in self._vocabularies:
            return self._vocabularies[key]
        ready = Document.objects.filter(status=Document.Status.READY, superseded_at=None)
        rows = ready.filter(collection__in=collection_ids(scope))
        columns = ("department", "doc_type", "policy_year", "tags")
        distinct = rows.order_by().values(*columns).distinct()
        vocabulary = vocabulary_of(await database_call(lambda: list(distinct.all())))
        self._vocabularies[key] = vocabulary
        return vocabulary


class DatabaseDocumentReader:
    """`retrieval.engine.ports.DocumentReader` on the database."""

    async def documents(
        self, scope: SearchScope, *, filters: SearchFilters, limit: int
    ) -> tuple[DocumentRef, ...]:
        if not scope.collections:
            return ()
        rows = Document.objects.filter(
            collection__in=collection_ids(scope), status=Document.Status.READY
        )
        if filters.documents:
            rows = rows.filter(pk__in=filters.documents)
        exact = filters.as_dict()
        tags = exact.pop("tags", ())
        # No other filter hides what is attached to the conversation.
        attached = {ref.id for ref in scope.collections if ref.attached}
        if exact:
            rows = rows.filter(Q(**exact) | Q(collection__in=[uuid.UUID(key) for key in attached]))
        columns = ("pk", "collection", "title", "policy_year", "chunk_count", "tags")
        found = rows.order_by("-created_at", "pk").values(*columns)[:limit]
        return tuple(
            DocumentRef(
                id=str(row["pk"]),
                title=row["title"],
                policy_year=row["policy_year"],
                chunk_count=row["chunk_count"],
            )
            for row in await database_call(lambda: list(found))
            if not tags or set(tags) & set(row["tags"]) or str(row["collection"]) in attached
        )

    async def chunks(
        self, document_id: str, *, scope: SearchScope, limit: int
    ) -> tuple[StoredChunk, ...]:
        key = as_uuid(document_id)
        if key is None or not scope.collections:
            return ()
        return await _stored(
            Chunk.objects.filter(
                document=key, document__collection__in=collection_ids(scope)
            ).order_by("seq")[:limit]
        )

    async def at(
        self, places: Sequence[tuple[str, int]], *, scope: SearchScope
    ) -> tuple[StoredChunk, ...]:
        keys = [
            (key, seq)
            for document_id, seq in places
            if (key := as_uuid(document_id)) is not None and seq >= 0
        ]
        if not keys or not scope.collections:
            return ()
        rule = reduce(or_, (Q(document=key, seq=seq) for key, seq in keys))
        return await _stored(
            Chunk.objects.filter(rule, document__collection__in=collection_ids(scope))
        )


# A row of these takes less than two models do, and a search reads dozens.
CHUNK_COLUMNS = (
    "document_id",
    "seq",
    "text",
    "page",
    "heading",
    "char_start",
    "char_end",
    "table_rows",
)
DOCUMENT_COLUMNS = (
    "title",
    "file_name",
    "language",
    "department",
    "doc_type",
    "policy_year",
    "tags",
    "collection_id",
    "created_at",
    "version",
    "review_due",
)
STORED_FIELDS = (*CHUNK_COLUMNS, *DOCUMENT_COLUMNS)
STORED_NAMES = {"chunk_id": F("pk")} | {name: F(f"document__{name}") for name in DOCUMENT_COLUMNS}


async def _stored(chunks: QuerySet[Chunk]) -> tuple[StoredChunk, ...]:
    rows = await database_call(lambda: list(chunks.values(*CHUNK_COLUMNS, **STORED_NAMES)))
    return tuple(map(stored_row, rows))


def stored_chunk(chunk: Chunk) -> StoredChunk:
    """The engine's value of a row; `chunk.document` must be loaded."""
    row = {name: getattr(chunk, name) for name in CHUNK_COLUMNS}
    return stored_row(
        {
            "chunk_id": chunk.pk,
            **row,
            **{name: getattr(chunk.document, name) for name in DOCUMENT_COLUMNS},
        }
    )


def stored_row(row: Mapping[str, Any]) -> StoredChunk:
    """row: values of CHUNK_COLUMNS and STORED_NAMES; others are left out."""
    ids = {name: str(row[name]) for name in ("chunk_id", "document_id", "collection_id")}
    table_rows = tuple(row["table_rows"]) if row["table_rows"] else None
    known = {name: row[name] for name in STORED_FIELDS}
    return StoredChunk(**{**known, **ids, "tags": tuple(row["tags"]), "table_rows": table_rows})


def vocabulary_of(rows: Sequence[Mapping[str, Any]]) -> Vocabulary:
    """rows: of documents or chunks, each with its metadata by name."""
    return Vocabulary(
        departments=tuple(sorted({row["department"] for row in rows} - {""})),
        doc_types=tuple(sorted({row["doc_type"] for row in rows} - {""})),
        policy_years=tuple(
            sorted({row["policy_year"] for row in rows if row["policy_year"] is not None})
        ),
        tags=tuple(sorted({tag for row in rows for tag in row["tags"]})),
    )
