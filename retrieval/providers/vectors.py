"""What surrounds an embedding model's numbers: prefixes that models expect, checks, and a cache for queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import Vectors
from retrieval.values import EmbeddingSpace

QUERY_VECTORS_KEPT = 512
VectorCache = LRUCache[tuple[EmbeddingSpace, str], NDArray[np.float32]]  # of one event loop: it has no lock

# Retrieval models are trained with these (their model cards); without them the distance of query and document suffers.
# The first name that the model's begins with holds; names without a namespace.
PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
    ("snowflake-arctic-embed2", "query: ", ""),
    ("snowflake-arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("bge-large", "Represent this sentence for searching relevant passages: ", ""),
    ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (
        "qwen3-embedding",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        "",
    ),
    ("multilingual-e5", "query: ", "passage: "),
    ("e5-", "query: ", "passage: "),
)


def prefixes(model: str) -> tuple[str, str]:
    """What to put before a query and before a document."""
    name = model.rpartition("/")[2].lower()
    for begin, query, document in PREFIXES:
        if name.startswith(begin):
            return query, document
    return "", ""


def unit_vectors(rows: Sequence[Sequence[float]], *, count: int, space: EmbeddingSpace) -> Vectors:
    """float32, shape (count, space.dim), unit length. Raises EmbeddingUnavailableError for anything else."""
    sizes = {len(row) for row in rows}
    if len(rows) != count or len(sizes) > 1:
        raise EmbeddingUnavailableError(
            worded(
                "model '{model}' gave {rows} embeddings for {count} texts",
                model=space.model,
                rows=len(rows),
                count=count,
            )
        )
    if sizes and sizes != {space.dim}:
        raise EmbeddingUnavailableError(
            worded(
                "model '{model}' now gives {numbers} numbers per embedding, and the collection has {dim}; "
                "re-embed the collection",
                model=space.model,
                numbers=sizes.pop(),
                dim=space.dim,
            )
        )
    vectors = np.asarray(rows, dtype=np.float32).reshape(count, space.dim)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not lengths.all():
        raise EmbeddingUnavailableError(
            worded("model '{model}' gave an embedding that is not a direction", model=space.model)
        )
    return np.asarray(vectors / lengths, dtype=np.float32)
