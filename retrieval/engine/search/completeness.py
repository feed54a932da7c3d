"""Whether the index holds what the database says it should: a search over half of it must say so.

Rows are written to the index before the database counts them, and deleted there after. So rows are missing where the
index holds fewer than the database counted both before and after. Rows that should have gone hide as many missing ones
until the daily comparison (`retrieval.knowledge.index_sync.repair`) has cleared them away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from retrieval.engine.ports import TermStore
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.values import EmbeddingSpace

LOOK_EVERY_S = 5.0  # at a space, however many ask
REPAIR_EVERY_S = 30.0  # is asked for, as long as something is missing


@dataclass(frozen=True, slots=True)
class Holdings:
    """Rows of a space."""

    expected: int
    missing: int


class IndexCompleteness:
    """Belongs to one event loop. ask_repair: has a worker compare index and database; called in a thread."""

    def __init__(
        self, *, index: MilvusIndex, store: TermStore, ask_repair: Callable[[], object]
    ) -> None:
        self._index = index
        self._store = store
        self._ask_repair = ask_repair
        self._repair_asked_at = float("-inf")
        self._locks: dict[EmbeddingSpace, asyncio.Lock] = {}
        self._seen: dict[EmbeddingSpace, tuple[float, Holdings]] = {}

    async def holdings(self, space: EmbeddingSpace) -> Holdings:
        """As of the last seconds. Raises IndexUnavailableError."""
        now = asyncio.get_running_loop().time
        async with self._locks.setdefault(space, asyncio.Lock()):
            looked_at, seen = self._seen.get(space, (float("-inf"), None))
            if seen is not None and now() < looked_at + LOOK_EVERY_S:
                return seen
            seen = await self._look(space)
            self._seen[space] = (now(), seen)
        if seen.missing:
            await self.repair()
        return seen

    async def repair(self) -> None:
        """Ask for it, unless that was done just now."""
        now = asyncio.get_running_loop().time()
        if now > self._repair_asked_at + REPAIR_EVERY_S:
            self._repair_asked_at = now
            await asyncio.to_thread(self._ask_repair)

    async def _look(self, space: EmbeddingSpace) -> Holdings:
        expected = await self._store.row_count(space)
        there = await self._index.count(space) if expected else 0
        if there < expected:
            expected = min(expected, await self._store.row_count(space))
        return Holdings(expected=expected, missing=max(0, expected - there))
