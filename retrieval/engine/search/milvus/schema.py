"""What Milvus keeps of a row: the fields of a collection, and a row as it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval.engine.search.milvus import connection
from retrieval.engine.search.milvus.filters import encode_value
from retrieval.engine.values import IndexRow

if TYPE_CHECKING:
    from retrieval.engine.search.milvus.backends import Backend

MAX_TERMS_BYTES = 65_000  # of Milvus' 65,535 for a VARCHAR
MAX_VALUE_BYTES = 512
MAX_TAGS = 100


def create_collection(
    client: Any,
    backend: Backend,
    name: str,
    *,
    dim: int,
    bm25: dict[str, float],
    keep_existing: bool,
) -> None:
    """Make the collection with its indexes, and load it. `client`: a synchronous MilvusClient."""
    timeout = connection.TIMEOUT_S
    if client.has_collection(name, timeout=timeout):
        if keep_existing:
            return
        client.drop_collection(name, timeout=timeout)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", metric_type="COSINE", **backend.vector_index())
    indexes.add_index("sparse", metric_type="BM25", **backend.bm25_index(bm25))
    schema = _schema(client, backend, dim=dim)
    client.create_collection(name, schema=schema, timeout=timeout, **backend.collection_options())
    client.create_index(
        name, indexes, timeout=timeout, sync=False
    )  # nothing is in it: no need to wait half a second
    client.load_collection(name, timeout=timeout, **backend.load_options())


def _schema(client: Any, backend: Backend, *, dim: int) -> Any:
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk_id", DataType.VARCHAR, max_length=MAX_VALUE_BYTES, is_primary=True)
    schema.add_field(
        "collection_id",
        DataType.VARCHAR,
        max_length=MAX_VALUE_BYTES,
        is_partition_key=backend.has_partition_key,
    )
    for field in ("document_id", "department", "doc_type"):
        schema.add_field(field, DataType.VARCHAR, max_length=MAX_VALUE_BYTES)
    schema.add_field("seq", DataType.INT64)
    schema.add_field("policy_year", DataType.INT64)
    schema.add_field(
        "tags",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MAX_TAGS,
        max_length=MAX_VALUE_BYTES,
    )
    analyzer = {"tokenizer": backend.tokenizer}
    schema.add_field(
        "terms", DataType.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params=analyzer
    )
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
