"""The Milvus schema of an embedding space, and a row of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from retrieval.search.filters import encode_value
from retrieval.search.index import connection
from retrieval.values import IndexRow

HNSW_M = 16  # neighbours per node of the graph
HNSW_EF_CONSTRUCTION = 200  # candidates while building; more is slower and better
BM25_K1 = 0.9  # saturation of a term's frequency
BM25_B = 0.4  # weight of a chunk's length

MAX_RESULTS = 16_384  # of one query or search, on every backend
MAX_TERMS_BYTES = 65_000  # of Milvus' 65,535 for a VARCHAR
MAX_VALUE_BYTES = 512
MAX_TAGS = 100
SERVER_PARTITIONS = 64  # of the partition key, collection_id


def backend_options(server_version: str) -> tuple[str, dict[str, Any]]:
    """The tokenizer that leaves our terms as they are, and the options of `create_collection`.

    Milvus Lite has no `whitespace` tokenizer, and its searches cost per segment: there more partitions only slow down.
    """
    if "lite" in server_version:
        return "standard", {"num_partitions": 1}
    return "whitespace", {"num_partitions": SERVER_PARTITIONS}


def index_options(server_version: str, options: Mapping[str, float]) -> dict[str, Any]:
    """What to give `add_index` as `params`.

    pymilvus 3 sends each as a field of its own, as servers take them; Milvus Lite reads them from one field `params`
    alone, and would go on with its defaults (BM25: k1 1.5, b 0.75) without a word.
    """
    return {"params": dict(options)} if "lite" in server_version else dict(options)


def create_collection(client: Any, name: str, *, dim: int, bm25: dict[str, float], keep_existing: bool) -> None:
    """Make the collection with its indexes, and load it. `client`: a synchronous MilvusClient."""
    timeout = connection.TIMEOUT_S
    if client.has_collection(name, timeout=timeout):
        if keep_existing:
            return
        client.drop_collection(name, timeout=timeout)
    version = client.get_server_version(timeout=timeout)
    tokenizer, options = backend_options(version)
    indexes = client.prepare_index_params()
    hnsw = {"M": HNSW_M, "efConstruction": HNSW_EF_CONSTRUCTION}
    indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params=index_options(version, hnsw))
    bm25_options = index_options(version, bm25)
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=bm25_options)
    schema = _schema(client, dim=dim, tokenizer=tokenizer)
    client.create_collection(name, schema=schema, timeout=timeout, **options)
    client.create_index(name, indexes, timeout=timeout, sync=False)  # nothing is in it: no need to wait half a second
    client.load_collection(name, timeout=timeout)


def _schema(client: Any, *, dim: int, tokenizer: str) -> Any:
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk_id", DataType.VARCHAR, max_length=MAX_VALUE_BYTES, is_primary=True)
    schema.add_field("collection_id", DataType.VARCHAR, max_length=MAX_VALUE_BYTES, is_partition_key=True)
    for field in ("document_id", "department", "doc_type"):
        schema.add_field(field, DataType.VARCHAR, max_length=MAX_VALUE_BYTES)
    schema.add_field("seq", DataType.INT64)
    schema.add_field("policy_year", DataType.INT64)
    schema.add_field(
        "tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=MAX_TAGS, max_length=MAX_VALUE_BYTES
    )
    analyzer = {"tokenizer": tokenizer}
    schema.add_field("terms", DataType.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    names = {"input_field_names": ["terms"], "output_field_names": ["sparse"]}
    schema.add_function(Function(name="bm25", function_type=FunctionType.BM25, **names))
    return schema


def entity(row: IndexRow) -> dict[str, Any]:
    """A row as Milvus takes it. No year is 0; tags beyond MAX_TAGS can't be filtered by."""
    return {
        "chunk_id": row.chunk_id,
        "collection_id": row.collection_id,
        "document_id": row.document_id,
        "seq": row.seq,
        "department": encode_value(row.department),
        "doc_type": encode_value(row.doc_type),
        "policy_year": row.policy_year or 0,
        "tags": [encode_value(tag) for tag in row.tags[:MAX_TAGS]],
        "terms": _cut(row.terms),
        "vector": np.asarray(row.vector, dtype=np.float32),
    }


def _cut(terms: str) -> str:
    """Whole terms up to the field's size in bytes."""
    encoded = terms.encode()
    if len(encoded) <= MAX_TERMS_BYTES:
        return terms
    return encoded[:MAX_TERMS_BYTES].decode("utf-8", "ignore").rpartition(" ")[0]
