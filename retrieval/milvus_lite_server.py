"""Milvus Lite's own server, with BM25 that weighs words over the whole collection.

    python -P milvus_lite_server.py server --data-dir DIR --host HOST --port PORT     (the arguments of `milvus-lite`)

Milvus Lite keeps every write in a segment of its own until enough of them are merged, and takes BM25's statistics
(number of documents, their average length, how many hold a word) from each segment alone. A document that is all about
"leave", written by itself, then gets almost no weight for "leave": its segment holds no other text. A Milvus server
counts over its collection, and so does Milvus Lite here: sums over the segments at the time of the search, as Milvus
Lite's own source notes as its plan ("aggregate global statistics", engine/collection.py). Nothing is written
otherwise, so the data stays plain Milvus Lite's. Where a later version has other insides, its own server runs
unchanged and its log says so.

Runs as a program of its own: no Django, nothing of Ragsite.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of some inverted indexes together. terms: how many documents hold each term of the queries, by its hash."""

    indexes: Sequence[Any]
    documents: int
    length: float  # all documents' terms
    terms: Mapping[int, int]

    @classmethod
    def of(cls, indexes: Sequence[Any], terms: Iterable[int]) -> Statistics:
        return cls(
            indexes=indexes,
            documents=sum(index.doc_count for index in indexes),
            length=sum(index.doc_count * index.avgdl for index in indexes),
            terms={term: sum(index._df.get(term, 0) for index in indexes) for term in terms},
        )

    def view(self, index: Any) -> Any:
        """`index`, its postings scored by these statistics; with its own added if it was not among them (rows that
        are not in a segment yet)."""
        every = self
        if not any(index is known for known in self.indexes):
            every = Statistics.of([*self.indexes, index], self.terms)
        seen = copy.copy(index)
        seen.doc_count = every.documents
        seen.avgdl = every.length / every.documents if every.documents else 0.0
        seen._df = every.terms
        return seen


_statistics: ContextVar[Statistics | None] = ContextVar("statistics", default=None)


def count_over_collections() -> None:
    """Change the library in this process. Raises AttributeError, ImportError: it is built differently."""
    from milvus_lite.engine.collection import Collection
    from milvus_lite.index.sparse_inverted import SparseInvertedIndex

    search_segments, search_index = Collection._search_sparse, SparseInvertedIndex.search
    parameters = inspect.signature(search_segments)
    _needs(Collection, "_prepare_sparse_queries", "_segments_snapshot")
    _needs(SparseInvertedIndex(), "doc_count", "avgdl", "_df")
    if not {"query_vectors", "vector_field", "metric_type"} <= set(parameters.parameters):
        raise AttributeError(f"its search takes {parameters}")

    @functools.wraps(search_segments)
    def search_collection(*args: Any, **options: Any) -> Any:
        asked = parameters.bind(*args, **options).arguments
        if asked["metric_type"] != "BM25":
            return search_segments(*args, **options)
        queries = asked["self"]._prepare_sparse_queries(asked["query_vectors"], asked["vector_field"])
        terms = {term for query in queries for term in query}
        token = _statistics.set(Statistics.of(_indexes(asked["self"], asked["vector_field"]), terms))
        try:
            return search_segments(*args, **options)
        finally:
            _statistics.reset(token)

    @functools.wraps(search_index)
    def search_with_statistics(self: Any, *args: Any, **options: Any) -> Any:
        statistics = _statistics.get()
        return search_index(statistics.view(self) if statistics else self, *args, **options)

    Collection._search_sparse = search_collection
    SparseInvertedIndex.search = search_with_statistics


def _needs(owner: object, *names: str) -> None:
    for name in names:
        getattr(owner, name)


def _indexes(collection: Any, field: str) -> list[Any]:
    """The inverted index of every segment; made where it is missing, as the search itself would make it."""
    from milvus_lite.analyzer.sparse import bytes_to_sparse
    from milvus_lite.index.sparse_factory import create_sparse_index, sparse_index_matches

    spec = collection._index_specs.get(field)
    params = spec.build_params if spec else {}
    indexes = []
    for segment in collection._segments_snapshot():
        if segment.table is None or not len(segment.table):
            continue
        index = segment.sparse_indexes.get(field)
        if not sparse_index_matches(index, "BM25", params):
            stored = segment.table.column(field).to_pylist()
            index = create_sparse_index("BM25", params)
            index.build([bytes_to_sparse(row) if isinstance(row, bytes) else (row or {}) for row in stored])
            segment.sparse_indexes[field] = index
        indexes.append(index)
    return indexes


def main() -> int:
    from milvus_lite.cmdline import main as milvus_lite

    try:
        count_over_collections()
    except (AttributeError, ImportError) as error:
        sys.stderr.write(f"This version of Milvus Lite weighs words within each segment: {error}\n")
    return int(milvus_lite())


if __name__ == "__main__":
    sys.exit(main())
