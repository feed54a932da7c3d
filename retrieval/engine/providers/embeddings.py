"""Embedding models of any kind of server: prefixes that models expect, batches, checks, a cache for queries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from ragsite.core.messages import worded
from retrieval.engine.errors import EmbeddingUnavailableError, ModelError
from retrieval.engine.model_calls import model_call
from retrieval.engine.ports import Vectors
from retrieval.engine.providers.server import CircuitBreaker, ModelServer
from retrieval.engine.usage import ModelCall
from retrieval.engine.values import EmbeddingSpace

EMBED_BATCH_SIZE = 16  # texts in one call: few enough for a model without a GPU
MAX_QUERY_VECTORS = 512
VectorCache = LRUCache[
    tuple[EmbeddingSpace, str], NDArray[np.float32]
]  # of one event loop: it has no lock

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


class ServedEmbedder:
    """Implements `retrieval.engine.ports.Embedder`: the model that made, or will make, a space."""

    def __init__(
        self,
        space: EmbeddingSpace,
        *,
        server: ModelServer,
        breaker: CircuitBreaker,
        cache: VectorCache,
        timeout_s: float,
    ) -> None:
        self._space = space
        self._server = server
        self._breaker = breaker
        self._cache = cache
        self._timeout_s = timeout_s
        self._query_prefix, self._document_prefix = prefixes(space.model)
        self._asked: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._in_batches([self._document_prefix + text for text in texts])

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        # Searches that run side by side ask for the same texts: the second one finds the vectors of the first.
        async with self._asked.setdefault(tuple(texts), asyncio.Lock()):
            vectors = {text: self._cache.get((self._space, text)) for text in texts}
            missing = [text for text, vector in vectors.items() if vector is None]
            made = await self._in_batches([self._query_prefix + text for text in missing])
            for text, vector in zip(missing, made, strict=True):
                vectors[text] = self._cache[self._space, text] = vector
        return np.array([vectors[text] for text in texts], dtype=np.float32).reshape(
            len(texts), self._space.dim
        )

    async def measure(self) -> int:
        """Numbers per embedding, as the model really gives them: its description may tell another."""
        rows = await self._rows(["dimension"])
        if not rows or not rows[0]:
            raise EmbeddingUnavailableError(
                worded("model '{model}' gave an empty embedding", model=self._space.model)
            )
        return len(rows[0])

    async def _in_batches(self, texts: list[str]) -> Vectors:
        rows: list[list[float]] = []
        for start in range(0, len(texts), EMBED_BATCH_SIZE):
            rows += await self._rows(texts[start : start + EMBED_BATCH_SIZE])
        return unit_vectors(rows, count=len(texts), space=self._space)

    async def _rows(self, texts: list[str]) -> list[list[float]]:
        """One call, through the gate and into the trace. Raises EmbeddingUnavailableError."""
        try:
            with model_call(ModelCall(kind="embed", model=self._space.model)):
                async with (
                    self._breaker.call(wait_s=self._timeout_s),
                    self._server.in_time(self._timeout_s),
                ):
                    return await self._server.embed(self._space.model, texts)
        except ModelError as error:
            raise EmbeddingUnavailableError(error.reason) from error


def prefixes(model: str) -> tuple[str, str]:
    """What to put before a query and before a document."""
    name = model.rpartition("/")[2].lower()
    return next(
        ((query, document) for begin, query, document in PREFIXES if name.startswith(begin)),
        ("", ""),
    )


def unit_vectors(rows: Sequence[Sequence[float]], *, count: int, space: EmbeddingSpace) -> Vectors:
    """float32, shape (count, space.dim), unit length. Raises EmbeddingUnavailableError for anything else."""
    sizes = {len(row) for row in rows}
    if len(rows) != count or len(sizes) > 1:
        reason = worded(
            "model '{model}' gave {rows} embeddings for {count} texts",
            model=space.model,
            rows=len(rows),
            count=count,
        )
        raise EmbeddingUnavailableError(reason)
    if sizes and sizes != {space.dim}:
        reason = worded(
            "model '{model}' now gives {numbers} numbers per embedding, and the collection has {dim}; "
            "re-embed the collection",
            model=space.model,
            numbers=sizes.pop(),
            dim=space.dim,
        )
        raise EmbeddingUnavailableError(reason)
    vectors = np.asarray(rows, dtype=np.float32).reshape(count, space.dim)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not lengths.all():
        reason = worded(
            "model '{model}' gave an embedding that is not a direction", model=space.model
        )
        raise EmbeddingUnavailableError(reason)
    return np.asarray(vectors / lengths, dtype=np.float32)
