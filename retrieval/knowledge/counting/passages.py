"""Chunks of the documents that are counted, read some documents at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from retrieval.engine.text.mentions import Mention
from retrieval.engine.values.chunks import StoredChunk
from retrieval.knowledge.chunk_store import CHUNK_COLUMNS, STORED_NAMES, stored_row
from retrieval.knowledge.counting.documents import CountedDocument
from retrieval.knowledge.term_search import stored_terms
from retrieval.models import Chunk

Row = dict[str, Any]
DOCUMENTS_AT_ONCE = 200
CHUNKS_AT_ONCE = 4000  # some 10 MB of texts and terms


def holding(mention: Mention) -> Q | None:
    """Of chunks: that their terms do not rule the mention out; a chunk that has none yet may hold anything. None: no
    term says something of the mention."""
    groups = [
        reduce(or_, (Q(_holds(term)) for term in sorted(group)))
        for group in mention.groups
        if group
    ]
    return Q(terms="") | reduce(and_, groups) if groups else None


def _holds(term: str) -> GreaterThan:
    return GreaterThan(StrIndex("terms", Value(stored_terms(term))), 0)


def holding_any(mentions: Iterable[Mention]) -> Q:
    """Of chunks: that they may hold one of the mentions."""
    rules = [holding(mention) for mention in mentions]
    known = [rule for rule in rules if rule is not None]
    return reduce(or_, known) if known and len(known) == len(rules) else Q()


def chunk_rows(
    documents: Sequence[CountedDocument], rule: Q, *, terms: bool = False
) -> dict[UUID, list[Row]]:
    """By document, in order: what `stored_row` takes; with their `terms`, which it leaves out, where they are wanted."""
    columns = (*CHUNK_COLUMNS, "terms") if terms else CHUNK_COLUMNS
    found = _chunks(documents).filter(rule).order_by("document_id", "seq")
    rows = found.values(*columns, **STORED_NAMES)
    return {key: list(group) for key, group in groupby(rows, key=lambda row: row["document_id"])}


def documents_holding(
    documents: Sequence[CountedDocument], mentions: Sequence[Mention]
) -> list[CountedDocument]:
    """Those that may hold each of the mentions, in any of their chunks."""
    for mention in mentions:
        rule = holding(mention)
        if rule is not None and documents:
            keys = set(
                _chunks(documents).filter(rule).order_by().values_list("document", flat=True)
            )
            documents = [document for document in documents if document.id in keys]
    return list(documents)


def first_chunks(documents: Sequence[CountedDocument]) -> dict[UUID, StoredChunk]:
    rows = _chunks(documents).filter(seq=0).order_by().values(*CHUNK_COLUMNS, **STORED_NAMES)
    return {row["document_id"]: stored_row(row) for row in rows}


def in_batches(documents: Iterable[CountedDocument]) -> Iterator[list[CountedDocument]]:
    """As many as hold CHUNKS_AT_ONCE together, DOCUMENTS_AT_ONCE at most; one at least."""
    batch: list[CountedDocument] = []
    chunks = 0
    for document in documents:
        if batch and (len(batch) == DOCUMENTS_AT_ONCE or chunks + document.chunks > CHUNKS_AT_ONCE):
            yield batch
            batch = []
            chunks = 0
        batch.append(document)
        chunks += document.chunks
    if batch:
        yield batch


def _chunks(documents: Sequence[CountedDocument]) -> QuerySet[Chunk]:
    return Chunk.objects.filter(document__in=[document.id for document in documents])
