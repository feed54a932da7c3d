"""Milvus Lite's own server, with BM25 that weighs words over the whole collection.

    python -P milvus_lite_server.py server --data-dir DIR --host HOST --port PORT     (the arguments of `milvus-lite`)

Milvus Lite keeps every write in a segment of its own until enough of them are merged, and takes BM25's statistics
(number of documents, their average length, how many hold a word) from each segment alone. A document that is all about
"leave", written by itself, then gets almost no weight for "leave": its segment holds no other text. A Milvus server
counts over its collection, and so does Milvus Lite here: sums over the segments at the time of the search, as Milvus
Lite's own source notes as its plan ("aggregate global statistics", engine/collection.py). Nothing is written
otherwise, so the data stays plain Milvus Lite's. The project's dependencies fix the version that this reaches into.

Runs as a program of its own: no Django, nothing of Ragsite.
"""

from __future__ import annotations

import copy
import os
from contextvars import ContextVar
from typing import Any

from milvus_lite.analyzer.sparse import bytes_to_sparse
from milvus_lite.cmdline import main
from milvus_lite.engine.collection import Collection
from milvus_lite.index.sparse_factory import create_sparse_index, sparse_index_matches
from milvus_lite.index.sparse_inverted import SparseInvertedIndex

# Of an index: its attributes that say what the whole collection holds.
_statistics: ContextVar[dict[str, Any] | None] = ContextVar("statistics", default=None)
_search_segments, _search_index = Collection._search_sparse, SparseInvertedIndex.search


def search_collection(
    self: Any, query_vectors: list[Any], vector_field: str, top_k: int, metric_type: str, **options: Any
) -> Any:
    """`Collection._search_sparse`."""
    statistics = None
    if metric_type == "BM25":
        terms = {term for query in self._prepare_sparse_queries(query_vectors, vector_field) for term in query}
        indexes = _indexes(self, vector_field)
        documents = sum(index.doc_count for index in indexes)
        statistics = {
            "doc_count": documents,
            "avgdl": sum(index.doc_count * index.avgdl for index in indexes) / max(documents, 1),
            "_df": {term: sum(index._df.get(term, 0) for index in indexes) for term in terms},
        }
    token = _statistics.set(statistics)
    try:
        return _search_segments(self, query_vectors, vector_field, top_k, metric_type, **options)
    finally:
        _statistics.reset(token)


def search_with_statistics(self: Any, *args: Any, **options: Any) -> Any:
    """`SparseInvertedIndex.search`. Rows that are in no segment yet are weighed by those that are."""
    seen = copy.copy(self)
    vars(seen).update(_statistics.get() or {})
    return _search_index(seen, *args, **options)


def _indexes(collection: Any, field: str) -> list[Any]:
    """The inverted index of every segment; made where it is missing, as the search itself would make it."""
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


if __name__ == "__main__":
    Collection._search_sparse = search_collection
    SparseInvertedIndex.search = search_with_statistics
    code = main()  # comes back once the data is closed
    os._exit(code)  # freeing every object would take seconds more
