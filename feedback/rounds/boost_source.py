"""`retrieval.ports.BoostSource`: the live revision, kept in memory.

When a search comes and REFRESH_S have passed, the version in the database is compared. Another revision is loaded
beside the searches, and replaces the old one in one assignment. A search, or an answer with all of its searches, keeps
the snapshot that it was given first.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from channels.db import database_sync_to_async
from django.db import DatabaseError
from numpy.typing import NDArray

from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Similarities, Snapshot
from feedback.rounds.live import live_version, snapshot_load
from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import Models
from retrieval.text.analysis import query_terms
from retrieval.values import Boosts, EmbeddingSpace, ScoredChunk, TailHit

REFRESH_S = 2.0  # how often a process looks whether another revision is live
PATIENCE_S = 0.5  # how long a search waits for the database to say whether another revision is live
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class LiveBoosts:
    """Belongs to one event loop, as the engine does."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._snapshot: Snapshot | None = None
        self._checked = self._begun = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    async def current(self) -> SnapshotBoosts:
        """Raises UnavailableError when no revision could be read yet."""
        return SnapshotBoosts(snapshot=await self._current(), models=self._models)

    async def _current(self) -> Snapshot:
        """Waits for the first snapshot, and at most PATIENCE_S for a later one: so the next search uses a revision that
        has just gone live, and a slow database delays no search for long."""
        if self._refreshing and self._refreshing.done():
            self._refreshing = None
        now = time.monotonic()
        due = now - self._checked >= REFRESH_S
        if (due or self._snapshot is None) and self._refreshing is None:
            # An empty context: the request that starts the task may end before it does.
            self._refreshing = asyncio.create_task(self._refresh(), context=contextvars.Context())
            self._begun = now
        if self._refreshing and self._snapshot is None:
            await asyncio.shield(self._refreshing)
        elif self._refreshing and (left := self._begun + PATIENCE_S - now) > 0:
            await asyncio.wait({self._refreshing}, timeout=left)
        if self._snapshot is None:
            raise UnavailableError(worded("The ratings can't be read at the moment."))
        return self._snapshot

    async def _refresh(self) -> None:
        try:
            version = await _read(live_version)
            if self._snapshot is None or version != self._snapshot.version:
                self._snapshot = await _read(snapshot_load)
        except (DatabaseError, ValueError) as error:
            logger.warning("The live ratings could not be read, going on with the last ones: %s", error)
        self._checked = time.monotonic()


class FixedBoosts:
    """One stored snapshot, whatever is live: to try a revision with."""

    def __init__(self, snapshot: Snapshot, models: Models) -> None:
        self._boosts = SnapshotBoosts(snapshot=snapshot, models=models)

    async def current(self) -> SnapshotBoosts:
        return self._boosts


@dataclass(frozen=True, slots=True)
class _Compared:
    """A question with its similarities. degraded: why a vector is missing, or ""."""

    asked: AskedQuestion
    similarities: Similarities
    degraded: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotBoosts:
    """`retrieval.ports.RevisionBoosts` of one snapshot, for one answer with all of its searches: a question is compared
    with the rated ones once."""

    snapshot: Snapshot
    models: Models
    _compared: dict[str, _Compared] = field(default_factory=dict)  # by query

    async def _compare(self, query: str) -> _Compared:
        """With the question's vectors in all spaces that are needed."""
        if (known := self._compared.get(query)) is not None:
            return known
        vectors, degraded = await self._vectors(query, self.snapshot.spaces)
        terms = await asyncio.to_thread(query_terms, query)
        asked = AskedQuestion(text=query, terms=terms, vectors=vectors)
        compared = _Compared(asked, self.snapshot.similarities(asked), degraded)
        if not degraded:  # else the next search tries again
            self._compared[query] = compared
        return compared

    async def boosts(self, query: str, candidates: Sequence[ScoredChunk | TailHit]) -> Boosts:
        snapshot = self.snapshot
        if snapshot.is_empty:
            return Boosts(revision=snapshot.revision)
        compared = self._compared.get(query)
        if compared is None and snapshot.spaces and snapshot.touches(candidates):
            compared = await self._compare(query)
        degraded = compared.degraded if compared else ""

        def evaluate() -> Boosts:
            asked = compared.asked if compared else AskedQuestion(text=query, terms=query_terms(query))
            similarities = compared.similarities if compared else None
            return snapshot.boosts(asked, candidates, now=time.time(), similarities=similarities)

        boosts = await asyncio.to_thread(evaluate)
        return replace(boosts, degraded=degraded)

    async def _vectors(
        self, query: str, spaces: Sequence[EmbeddingSpace]
    ) -> tuple[dict[EmbeddingSpace, NDArray[np.float32]], str]:
        """The question's vectors, which the search has mostly computed already; and why one is missing, or ""."""
        results = await asyncio.gather(*(self._vector(query, space) for space in spaces))
        reasons = [result for result in results if isinstance(result, str)]
        vectors = {space: vector for space, vector in zip(spaces, results, strict=True) if not isinstance(vector, str)}
        told = worded("rated questions were compared by words alone: {reason}", reason=reasons[0]) if reasons else ""
        return vectors, told

    async def _vector(self, query: str, space: EmbeddingSpace) -> NDArray[np.float32] | str:
        try:
            embedder = await self.models.embedder(space)
            return await embedder.embed_query(query)
        except EmbeddingUnavailableError as error:
            return error.reason


async def _read(function: Callable[[], Result]) -> Result:
    """In a thread of the pool: a request's own database thread would keep the request waiting."""
    return await database_sync_to_async(function, thread_sensitive=False)()
