"""Embeddings kept on disk by model and text: an evaluation is repeated often, its texts stay."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from retrieval.ports import ChatModel, Embedder, Models, ModelStatus, Vectors
from retrieval.providers import embeddings
from retrieval.values import EmbeddingSpace

Kind = Literal["document", "query"]  # models may embed them differently
LOOKED_UP_AT_ONCE = 500
EMBEDDINGS = "embeddings.sqlite3"  # in the folder `cache` of the data


class ProgressBar(Protocol):
    def update(self, n: int = 1, /) -> object: ...

    def close(self) -> None: ...


class EmbeddingCache:
    """One SQLite file; several evaluations may use it at once. A model that is pulled anew keeps its name: delete the
    file then."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=30.0)
        with self._database:
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS embedding (model TEXT, dim INT, key BLOB, vector BLOB,"
                " PRIMARY KEY (model, dim, key)) WITHOUT ROWID"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._database.close()

    def get(self, space: EmbeddingSpace, kind: Kind, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        vectors: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(texts), LOOKED_UP_AT_ONCE):
            keys = {_key(kind, text): text for text in texts[start : start + LOOKED_UP_AT_ONCE]}
            marks = ",".join("?" * len(keys))
            rows = self._database.execute(
                f"SELECT key, vector FROM embedding WHERE model = ? AND dim = ? AND key IN ({marks})",  # noqa: S608
                [space.model, space.dim, *keys],
            )
            vectors.update({keys[key]: np.frombuffer(vector, dtype=np.float32) for key, vector in rows})
        return vectors

    def put(self, space: EmbeddingSpace, kind: Kind, texts: Sequence[str], vectors: Vectors) -> None:
        rows = [
            (space.model, space.dim, _key(kind, text), vector.astype(np.float32).tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", rows)

    async def embed(
        self, embedder: Embedder, kind: Kind, texts: Sequence[str], *, bar: ProgressBar
    ) -> dict[str, NDArray[np.float32]]:
        """text → vector, shape (dim,). Texts of about one length go together. Raises EmbeddingUnavailableError."""
        wanted = list(dict.fromkeys(texts))
        known = self.get(embedder.space, kind, wanted)
        bar.update(len(known))
        missing = sorted((text for text in wanted if text not in known), key=len)
        embed = embedder.embed_documents if kind == "document" else embedder.embed_queries
        for start in range(0, len(missing), embeddings.EMBED_BATCH_SIZE):
            some = missing[start : start + embeddings.EMBED_BATCH_SIZE]
            vectors = await embed(some)
            self.put(embedder.space, kind, some, vectors)
            known.update(zip(some, vectors, strict=True))
            bar.update(len(some))
        return known


def _key(kind: Kind, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


class KnownQueries:
    """An embedder that has the questions' vectors already; other texts (rewrites, HyDE) it embeds as always."""

    def __init__(self, embedder: Embedder, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self._embedder = embedder
        self._vectors = vectors

    @property
    def space(self) -> EmbeddingSpace:
        return self._embedder.space

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray((await self.embed_queries([text]))[0], dtype=np.float32)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = {text: self._vectors[text] for text in texts if text in self._vectors}
        unknown = [text for text in texts if text not in vectors]
        if unknown:
            vectors.update(zip(unknown, await self._embedder.embed_queries(unknown), strict=True))
        return np.stack([vectors[text] for text in texts])


class ModelsOfRun:
    """`retrieval.ports.Models` with one embedder put in place for its space."""

    def __init__(self, models: Models, embedder: Embedder) -> None:
        self._models = models
        self._embedder = embedder

    async def status(self, *, refresh: bool = False) -> ModelStatus:
        return await self._models.status(refresh=refresh)

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        return await self._models.chat(role, name=name)

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        return self._embedder if space == self._embedder.space else await self._models.embedder(space)

    async def default_embedder(self) -> Embedder:
        return self._embedder

    async def context_length(self, space: EmbeddingSpace) -> int | None:
        return await self._models.context_length(space)

    async def close(self) -> None:
        await self._models.close()
