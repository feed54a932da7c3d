"""Milvus Lite's own server, with BM25 that weighs words over the whole collection, and hits that are read in part.

    python -P milvus_lite_server.py server --data-dir DIR --host HOST --port PORT     (the arguments of `milvus-lite`)

Milvus Lite keeps every write in a segment of its own until enough of them are merged, and takes BM25's statistics
(number of documents, their average length, how many hold a word) from each segment alone. A document that is all about
"leave", written by itself, then gets almost no weight for "leave": its segment holds no other text. A Milvus server
counts over its collection, and so does Milvus Lite here: sums over the segments at the time of the search, as Milvus
Lite's own source notes as its plan ("aggregate global statistics", engine/collection.py). Nothing is written
otherwise, so the data stays plain Milvus Lite's.

For each hit of a search Milvus Lite reads all fields of its row, the vector among them, and then drops what was not
asked for; that took most of the time of a search. Here it reads the fields that were asked for.

Where a later version has other insides, its own server runs unchanged and its log says so.

Beside the data it keeps `ragsite-history.json`: {"id", "closed"}. The id stays the same as long as the server was
closed in order each time; after a kill, which may have cost rows that were acknowledged, it is another.

Runs as a program of its own: no Django, nothing of Ragsite.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HISTORY = "ragsite-history.json"  # read by milvus_lite.py too


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


# ------------------------------------------------------------------------------------------------ fields of hits
@dataclass(frozen=True, slots=True)
class Wanted:
    """fields: what the search reads of a row. sparse: the field of words that it searches; "" for vectors."""

    fields: frozenset[str]
    sparse: str
    metric: str
    parameters: Mapping[str, Any]

    def part_of(self, segment: Any) -> Any:
        """The segment itself where the search is to make its missing index of words from the rows."""
        from milvus_lite.index.sparse_factory import sparse_index_matches

        if segment.table is None:
            return segment
        if self.sparse and not sparse_index_matches(
            segment.sparse_indexes.get(self.sparse), self.metric, self.parameters
        ):
            return segment
        return InPart(segment, self.fields)


_wanted: ContextVar[Wanted | None] = ContextVar("wanted", default=None)  # None: all fields


class InPart:
    """A segment whose rows are read with some of their fields; in all else it is the segment."""

    __slots__ = ("table", "whole")

    def __init__(self, whole: Any, fields: frozenset[str]) -> None:
        self.whole = whole
        self.table = whole.table.select([name for name in whole.table.column_names if name in fields])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def row_to_dict(self, row: int) -> Any:
        return type(self.whole).row_to_dict(self, row)


def read_what_is_asked_for() -> None:
    """Change the library in this process. Raises AttributeError, ImportError: it is built differently."""
    from milvus_lite.engine.collection import Collection
    from milvus_lite.index import sparse_factory
    from milvus_lite.search import indexed_filter
    from milvus_lite.storage.segment import Segment

    search, snapshot, evaluate = Collection.search, Collection._read_snapshot, indexed_filter.evaluate_segment_filter
    parameters = inspect.signature(search)
    _needs(Segment, "table", "row_to_dict", "vector_data", "sparse_indexes")
    _needs(Collection, "_resolve_anns_field", "resolve_search_metric")
    _needs(sparse_factory, "sparse_index_matches")
    if not {"output_fields", "group_by_field", "ranker"} <= set(parameters.parameters):
        raise AttributeError(f"its search takes {parameters}")

    @functools.wraps(search)
    def search_in_part(*args: Any, **options: Any) -> Any:
        asked = parameters.bind(*args, **options).arguments
        token = _wanted.set(_what_is_asked_for(asked))
        try:
            return search(*args, **options)
        finally:
            _wanted.reset(token)

    @functools.wraps(snapshot)
    def segments_in_part(self: Any) -> Any:
        segments, deleted = snapshot(self)
        wanted = _wanted.get()
        return tuple(map(wanted.part_of, segments)) if wanted else segments, deleted

    @functools.wraps(evaluate)
    def evaluate_on_all_fields(segment: Any, *args: Any, **options: Any) -> Any:
        return evaluate(segment.whole if isinstance(segment, InPart) else segment, *args, **options)

    Collection.search = search_in_part
    Collection._read_snapshot = segments_in_part
    indexed_filter.evaluate_segment_filter = evaluate_on_all_fields


def _what_is_asked_for(asked: Mapping[str, Any]) -> Wanted | None:
    """None where it can't be told."""
    collection, fields = asked["self"], asked.get("output_fields")
    types = {field.name: field.dtype.name for field in collection._schema.fields}
    if fields is None or not types.keys() >= set(fields) or asked.get("group_by_field") or asked.get("ranker"):
        return None
    searched = collection._resolve_anns_field(asked.get("anns_field"))
    spec = collection._index_specs.get(searched)
    return Wanted(
        fields=frozenset({collection._pk_name, "_seq", *fields}),
        sparse=searched if types[searched] == "SPARSE_FLOAT_VECTOR" else "",
        metric=collection.resolve_search_metric(searched, asked.get("metric_type")),
        parameters=spec.build_params if spec else {},
    )


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


class History:
    """Whether anything can have happened to the data that its server did not do."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / HISTORY
        self._id = ""

    def begin(self) -> None:
        try:
            before = json.loads(self._path.read_text())
            self._id = str(before["id"]) if before["closed"] is True else ""
        except (OSError, ValueError, KeyError, TypeError):
            self._id = ""
        self._id = self._id or uuid.uuid4().hex
        self._write(closed=False)

    def close(self) -> None:
        self._write(closed=True)

    def _write(self, *, closed: bool) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps({"id": self._id, "closed": closed}))
        fresh.replace(self._path)


def main() -> int:
    from milvus_lite.cmdline import main as milvus_lite

    try:
        count_over_collections()
    except (AttributeError, ImportError) as error:
        sys.stderr.write(f"This version of Milvus Lite weighs words within each segment: {error}\n")
    try:
        read_what_is_asked_for()
    except (AttributeError, ImportError) as error:
        sys.stderr.write(f"This version of Milvus Lite reads all fields of each hit: {error}\n")
    if "--data-dir" not in sys.argv:
        return int(milvus_lite())
    history = History(Path(sys.argv[sys.argv.index("--data-dir") + 1]))
    history.begin()
    code = int(milvus_lite())  # comes back once the data is closed
    history.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
