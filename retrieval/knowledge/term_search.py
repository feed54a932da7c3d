"""BM25 without the index: over the terms that each chunk was indexed by, which its row keeps.

For the time in which Milvus is away, or a part of it was lost. Meant for tens of thousands of chunks: two scans over
the terms of the collections that are searched, one that counts how many chunks hold each term, one that reads those
that hold the rarest ones. What it costs is bounded by MOST_TERMS and MOST_READ, not by the question.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Avg, Count, Q, QuerySet, Sum, Value
from django.db.models.functions import Length, StrIndex
from django.db.models.lookups import GreaterThan

from ragsite.core.database import database_call
from retrieval.engine.ports import LegHit
from retrieval.engine.search.milvus.index import BM25_B, BM25_K1
from retrieval.engine.values import EmbeddingSpace, Level, SearchFilters
from retrieval.models import Chunk, Collection, Document

MOST_TERMS = 24  # of a query: the weightiest
MOST_READ = 5_000  # chunks whose terms are read and scored


def stored_terms(terms: str) -> str:
    """As the column holds them: a term has a space on either side, so that it is found whole."""
    return f" {terms} "


def rows_expected(space: EmbeddingSpace) -> int:
    """How many rows the index has to hold of a space: chunks, and summaries of documents."""
    collections = Collection.objects.filter(embedding_model=space.model, embedding_dim=space.dim)
    documents = Document.objects.filter(superseded_at=None, collection__in=collections.values("pk"))
    ready = documents.filter(status=Document.Status.READY)
    chunks = (
        ready.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0
    )  # a million rows are not to be counted
    unready = documents.exclude(status=Document.Status.READY)
    begun = Chunk.objects.filter(indexed=True, document__in=unready.values("pk"))
    return chunks + begun.count() + ready.exclude(summary="").count()


def search(
    texts: Sequence[str],
    *,
    collection_ids: Sequence[str],
    filters: SearchFilters,
    limit: int,
    level: Level,
) -> list[list[LegHit]]:
    """One list per text, best first. texts: terms separated by spaces, each as often as it weighs.

    level "documents": first chunks alone; what no document's summary says is not found then.
    """
    if not collection_ids:
        return [[] for _ in texts]
    rows = Chunk.objects.filter(_documents(collection_ids, filters)).exclude(terms="").order_by()
    if level == "documents":
        rows = rows.filter(seq=0)
    return [_ranked(rows, Counter(text.split()), limit) for text in texts]


def _documents(collection_ids: Sequence[str], filters: SearchFilters) -> Q:
    """Of chunks: that their document is current, and let through by the filters."""
    collections = [uuid.UUID(key) for key in collection_ids]
    rule = Q(document__collection__in=collections, document__superseded_at=None)
    if filters.documents:
        rule &= Q(document__in=[uuid.UUID(key) for key in filters.documents])
    exact = filters.as_dict()
    tags = set(exact.pop("tags", ()))
    let_through = Q(**{f"document__{name}": value for name, value in exact.items()})
    if tags:
        # Lists in JSON can't be searched alike in all databases.
        rows = Document.objects.filter(collection__in=collections, superseded_at=None).order_by()
        tagged = [pk for pk, own in rows.values_list("pk", "tags") if tags & set(own)]
        let_through &= Q(document__in=tagged)
    if let_through:
        spared = [uuid.UUID(key) for key in filters.spared]
        rule &= let_through | Q(document__collection__in=spared)
    return rule


def _ranked(rows: QuerySet[Chunk], weights: Counter[str], limit: int) -> list[LegHit]:
    terms = [term for term, _ in weights.most_common(MOST_TERMS)]
    if not terms:
        return []
    holding = {term: GreaterThan(StrIndex("terms", Value(stored_terms(term))), 0) for term in terms}
    counts = {f"term{at}": Count("pk", filter=Q(holding[term])) for at, term in enumerate(terms)}
    found = rows.aggregate(chunks=Count("pk"), length=Avg(Length("terms")), **counts)
    frequencies = {term: found[f"term{at}"] for at, term in enumerate(terms) if found[f"term{at}"]}
    if not frequencies:
        return []
    rules = [Q(holding[term]) for term in _rarest(frequencies)]
    read = rows.filter(reduce(or_, rules)).values_list("pk", "document_id", "terms")[:MOST_READ]
    inverse = {
        term: weights[term] * math.log(1 + (found["chunks"] - count + 0.5) / (count + 0.5))
        for term, count in frequencies.items()
    }
    hits = [
        LegHit(str(pk), str(document), _score(text, inverse, found["length"]))
        for pk, document, text in read
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]


def _rarest(frequencies: Mapping[str, int]) -> list[str]:
    """As many as MOST_READ chunks hold; at least one."""
    chosen: list[str] = []
    total = 0
    for term in sorted(frequencies, key=lambda term: (frequencies[term], term)):
        total += frequencies[term]
        if chosen and total > MOST_READ:
            break
        chosen.append(term)
    return chosen


def _score(text: str, inverse: Mapping[str, float], average: float) -> float:
    """BM25 with the index's constants; lengths in characters, which only their ratio matters of."""
    counts = Counter(text.split())
    norm = BM25_K1 * (1 - BM25_B + BM25_B * len(text) / average)
    score = 0.0
    for term, weight in inverse.items():
        if counts[term]:
            score += weight * counts[term] * (BM25_K1 + 1) / (counts[term] + norm)
    return score


class DatabaseTermStore:
    """`retrieval.engine.ports.TermStore`."""

    async def row_count(self, space: EmbeddingSpace) -> int:
        return await database_call(lambda: rows_expected(space))

    async def search_terms(
        self,
        texts: Sequence[str],
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level,
    ) -> list[list[LegHit]]:
        where: dict[str, Any] = {"collection_ids": collection_ids, "filters": filters}
        return await database_call(lambda: search(texts, limit=limit, level=level, **where))
