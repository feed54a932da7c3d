"""Embeddings kept on disk by model and text: an evaluation is repeated often, its texts stay."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval.engine.ports import Embedder, Models, Vectors
from retrieval.engine.providers import embeddings
from retrieval.engine.values import EmbeddingSpace

Kind = Literal["document", "query"]  # models may embed them differently
LOOKED_UP_AT_ONCE = 500


class KeptEmbedder:
    """`retrieval.engine.ports.Embedder` around another one: what it has embedded once it finds in memory or in an
    SQLite file.

    Several evaluations may use the file at once. A model that is pulled anew keeps its name: delete the file then.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._known: dict[bytes, NDArray[np.float32]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS embedding (model TEXT, dim INT, key BLOB, vector BLOB,"
                " PRIMARY KEY (model, dim, key)) WITHOUT ROWID"
            )

    @property
    def space(self) -> EmbeddingSpace:
        return self._embedder.space

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embed("document", texts, self._embedder.embed_documents)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed("query", texts, self._embedder.embed_queries)

    async def _embed(
        self, kind: Kind, texts: Sequence[str], embed: Callable[[Sequence[str]], Awaitable[Vectors]]
    ) -> Vectors:
        """Texts of about one length go together. Raises EmbeddingUnavailableError."""
        keys = {
            text: hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()
            for text in texts
        }
        if any(key not in self._known for key in keys.values()):
            self._look_up([key for key in keys.values() if key not in self._known])
            missing = sorted(
                (text for text, key in keys.items() if key not in self._known), key=len
            )
            for start in range(0, len(missing), embeddings.EMBED_BATCH_SIZE):
                batch = missing[start : start + embeddings.EMBED_BATCH_SIZE]
                self._keep([keys[text] for text in batch], await embed(batch))
        return np.stack([self._known[keys[text]] for text in texts])

    def _look_up(self, keys: Sequence[bytes]) -> None:
        with closing(self._open()) as database:
            for start in range(0, len(keys), LOOKED_UP_AT_ONCE):
                page = keys[start : start + LOOKED_UP_AT_ONCE]
                rows = database.execute(
                    "SELECT key, vector FROM embedding WHERE model = ? AND dim = ? AND key IN"
                    f" ({','.join('?' * len(page))})",
                    [self.space.model, self.space.dim, *page],
                )
                self._known.update(
                    (key, np.frombuffer(vector, dtype=np.float32)) for key, vector in rows
                )

    def _keep(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        self._known.update(zip(keys, vectors.astype(np.float32), strict=True))
        rows = [(self.space.model, self.space.dim, key, self._known[key].tobytes()) for key in keys]
        with closing(self._open()) as database, database:
            database.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30.0)


class ModelsOfRun:
    """`retrieval.engine.ports.Models` with one embedder put in place for its space."""

    def __init__(self, models: Models, embedder: Embedder) -> None:
        self._models = models
        self._embedder = embedder

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        return (
            self._embedder if space == self._embedder.space else await self._models.embedder(space)
        )

    async def default_embedder(self) -> Embedder:
        return self._embedder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)
