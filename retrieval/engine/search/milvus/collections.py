"""The Milvus collections of embedding spaces: one of each is in use, reached through an alias.

`ragsite_<model>_<dim>_<hash>` → `…_g1`: a rebuild fills the next generation beside it and swaps.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ragsite.core.server_settings import MilvusSettings
from retrieval.engine.search.milvus import connection
from retrieval.engine.search.milvus.backends import Backend, find_backend, generations
from retrieval.engine.search.milvus.connection import MilvusConnection
from retrieval.engine.search.milvus.schema import create_collection
from retrieval.engine.search.milvus.writing import WriteRight
from retrieval.engine.values import EmbeddingSpace

WRITE_TIMEOUT_S = 120.0  # of one batch, and of reading all ids back


@dataclass(frozen=True, slots=True)
class Generation:
    """A Milvus collection that is being filled beside the one in use; `MilvusIndex.swapping` puts it in its place."""

    space: EmbeddingSpace
    alias: str
    name: str


class MilvusCollections:
    """Those of every embedding space. Raises IndexUnavailableError. Belongs to one event loop."""

    def __init__(
        self, settings: MilvusSettings, *, find_uri: Callable[[], str], k1: float, b: float
    ) -> None:
        self._settings = settings
        self._connection = MilvusConnection(settings, find_uri=find_uri)
        self._bm25 = {"bm25_k1": k1, "bm25_b": b}
        self._known: set[str] = set()  # aliases that were there when last used
        self._found_backend: Backend | None = None

    def alias(self, space: EmbeddingSpace) -> str:
        """Also the key of the writer lock. Models whose names differ in punctuation alone do not meet."""
        slug = re.sub(r"[^a-z0-9]+", "_", space.model.lower()).strip("_")[:60]
        digest = hashlib.sha256(space.model.encode()).hexdigest()[:6]
        return f"{self._settings.prefix}_{slug}_{space.dim}_{digest}"

    async def ensure_collection(self, space: EmbeddingSpace, right: WriteRight) -> None:
        alias = self.alias(space)
        if alias in self._known:
            return
        if not await (await self.backend()).generation_in_use(self.do, alias):
            generation = Generation(space, alias, f"{alias}_g1")
            await self.create(generation, keep_existing=True)
            await self.swap(generation, right)
        self._known.add(alias)

    async def create(self, generation: Generation, *, keep_existing: bool) -> None:
        backend = await self.backend()
        await self._connection.define(
            lambda client: create_collection(
                client,
                backend,
                generation.name,
                dim=generation.space.dim,
                bm25=self._bm25,
                keep_existing=keep_existing,
            )
        )

    async def in_use(self, alias: str) -> str:
        """Raises MissingCollectionError."""
        return await (await self.backend()).name_in_use(self.do, alias)

    async def backend(self) -> Backend:
        if self._found_backend is None:
            self._found_backend = await find_backend(self.do, self._settings)
        return self._found_backend

    async def change(self, right: WriteRight, method: str, *args: Any, **kwargs: Any) -> Any:
        """`_do`, as long as this process is the one that may write."""
        await right.aensure()
        return await self.do(method, *args, **kwargs)

    async def do(self, method: str, *args: Any, slow: bool = False, **kwargs: Any) -> Any:
        """Call a method of the client; the first of `args` is the collection. Raises IndexUnavailableError,
        MissingCollectionError."""
        timeout = WRITE_TIMEOUT_S if slow else connection.TIMEOUT_S
        return await self._connection.call(
            lambda client: getattr(client, method)(*args, timeout=timeout, **kwargs),
            collection=args[0] if args else "",
            load_options=self._found_backend.load_options() if self._found_backend else {},
            timeout_s=timeout,
        )

    async def swap(self, generation: Generation, right: WriteRight) -> None:
        backend = await self.backend()
        await self.do("load_collection", generation.name, slow=True, **backend.load_options())
        await backend.put_in_use(
            self.do, partial(self.change, right), generation.alias, generation.name
        )
        self._known.add(generation.alias)
        await self.drop_generations(right, generation.alias, keep=generation.name)

    async def drop_generations(self, right: WriteRight, alias: str, *, keep: str) -> None:
        """The one before, and what a killed rebuild has left."""
        for name in generations(await self.do("list_collections"), alias):
            if name != keep:
                await self.change(right, "drop_collection", name)

    def forget(self, space: EmbeddingSpace) -> None:
        """Look again whether its collection is there."""
        self._known.discard(self.alias(space))

    async def ping(self) -> None:
        """Raises IndexUnavailableError."""
        timeout = connection.CONNECT_TIMEOUT_S
        await self._connection.call(
            lambda client: client.list_collections(timeout=timeout), timeout_s=timeout
        )

    async def close(self) -> None:
        await self._connection.close()
