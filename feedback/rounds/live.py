"""The live revision as searches use it: read from the database, kept in memory.

When a search comes and REFRESH_S have passed, the version in the database is compared. Another revision is loaded
beside the searches, and replaces the old one in one assignment. A search, or an answer with all of its searches, keeps
the snapshot that it was given first.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.db.models import F, Q
from django.utils import timezone
from numpy.typing import NDArray

from feedback.models import (
    Boost,
    FeedbackState,
    ManualBoost,
    QuestionPair,
    QuestionVector,
    RatedPassage,
    RatedQuestion,
    Revision,
)
from feedback.ranking.boosts import DocumentBoost, QueryBoost
from feedback.ranking.same_question import Wording, wording
from feedback.ranking.snapshot import Content, ManualRule, Snapshot
from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import Models
from retrieval.values import Boosts, EmbeddingSpace, ScoredChunk, TailHit

REFRESH_S = 2.0  # how often a process looks whether another revision is live
PATIENCE_S = 0.5  # how long a search waits for the database to say whether another revision is live
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ from the database
def feedback_state() -> FeedbackState:
    """The one row that says what is live; made when it is not there yet."""
    state, _ = FeedbackState.objects.select_related("live").get_or_create(pk=1)
    return state


def live_version() -> int:
    """Grows with every switch and every boost by hand; 0 before the first."""
    return FeedbackState.objects.filter(pk=1).values_list("version", flat=True).first() or 0


def version_bump() -> None:
    """Searches see what has changed, here within REFRESH_S and in other processes too."""
    feedback_state()
    FeedbackState.objects.filter(pk=1).update(version=F("version") + 1)


def snapshot_load() -> Snapshot:
    """The live revision and the boosts by hand, as of `version`."""
    state = FeedbackState.objects.select_related("live").filter(pk=1).first()
    live = state.live if state else None
    return Snapshot(
        content_of(live), manual=manual_rules(), revision=str(live.pk) if live else "",
        version=state.version if state else 0,
    )  # fmt: skip


def boosts_of(revision: Revision | None) -> tuple[list[QueryBoost], list[DocumentBoost]]:
    rows = Boost.objects.filter(revision=revision).order_by("pk") if revision else Boost.objects.none()
    queries: list[QueryBoost] = []
    documents: list[DocumentBoost] = []
    for row in rows.iterator(chunk_size=2000):
        if row.question_id is not None and row.passage_id is not None:
            queries.append(QueryBoost(row.question_id, row.passage_id, row.multiplier, row.raters_up, row.raters_down))
        else:
            documents.append(DocumentBoost(row.document_id, row.multiplier, row.raters_up, row.raters_down))
    return queries, documents


def content_of(revision: Revision | None) -> Content:
    return content_make(*boosts_of(revision))


def content_make(queries: Sequence[QueryBoost], documents: Sequence[DocumentBoost]) -> Content:
    """With the questions and chunks that these boosts refer to."""
    if not queries:
        return Content(documents=documents)
    boosted = {boost.question for boost in queries}
    pairs: dict[int, list[int]] = defaultdict(list)
    for first, second in QuestionPair.objects.filter(same=True).order_by("pk").values_list("first_id", "second_id"):
        pairs[first].append(second)
        pairs[second].append(first)
    # A question that has no boost of its own may be the other wording of one that has.
    known = boosted | {question for question, others in pairs.items() if boosted.intersection(others)}
    chunks = RatedPassage.objects.exclude(chunk_id=None).values_list("pk", "chunk_id")
    return Content(
        queries=queries,
        documents=documents,
        chunk_of={key: str(chunk) for key, chunk in chunks.iterator(chunk_size=2000)},
        wordings={key: own for key, own in wordings_load().items() if key in known},
        pairs=pairs,
    )


def wordings_load() -> dict[int, Wording]:
    """All rated questions, with their vectors."""
    from feedback.rounds.questions import vector_decode  # it reads `version_bump` of this module

    vectors: dict[int, dict[EmbeddingSpace, NDArray[np.float32]]] = defaultdict(dict)
    rows = QuestionVector.objects.values_list("question_id", "embedding_model", "embedding_dim", "vector")
    for question, model, dim, data in rows.iterator(chunk_size=2000):
        vectors[question][EmbeddingSpace(model, dim)] = vector_decode(data)
    texts = RatedQuestion.objects.order_by("pk").values_list("pk", "text")
    return {key: wording(text, vectors.get(key)) for key, text in texts.iterator(chunk_size=2000)}


def manual_rules() -> list[ManualRule]:
    """The boosts that staff set and that are in force."""
    rows = ManualBoost.objects.filter(ended_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    return [
        ManualRule(
            target=str(row.chunk_id or row.document_id),
            multiplier=row.multiplier,
            hide=row.hide,
            expires_at=row.expires_at.timestamp() if row.expires_at else None,
            question=wording(row.question) if row.question else None,
        )
        for row in rows.order_by("created_at")
    ]


# ------------------------------------------------------------------------------------------------ in memory
class LiveBoosts:
    """`retrieval.ports.BoostSource`. Belongs to one event loop, as the engine does."""

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
        except DatabaseError as error:
            logger.warning("The live ratings could not be read, going on with the last ones: %s", error)
        self._checked = time.monotonic()


class FixedBoosts:
    """One stored snapshot, whatever is live: to try a revision with."""

    def __init__(self, snapshot: Snapshot, models: Models) -> None:
        self._boosts = SnapshotBoosts(snapshot=snapshot, models=models)

    async def current(self) -> SnapshotBoosts:
        return self._boosts


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotBoosts:
    """`retrieval.ports.RevisionBoosts` of one snapshot, for one answer with all of its searches: a question is read
    once."""

    snapshot: Snapshot
    models: Models
    _read: dict[str, Wording] = field(default_factory=dict)  # by query

    async def boosts(self, query: str, candidates: Sequence[ScoredChunk | TailHit]) -> Boosts:
        if self.snapshot.is_empty:
            return Boosts(revision=self.snapshot.revision)
        degraded = ""
        if (own := self._read.get(query)) is None:
            vectors: dict[EmbeddingSpace, NDArray[np.float32]] = {}
            if self.snapshot.touches(candidates):
                vectors, degraded = await query_vectors(query, self.snapshot.spaces, self.models)
            own = await asyncio.to_thread(wording, query, vectors)
            if vectors and not degraded:  # else the next search tries again
                self._read[query] = own
        boosts = await asyncio.to_thread(self.snapshot.boosts, own, candidates, now=time.time())
        return replace(boosts, degraded=degraded)


async def query_vectors(
    query: str, spaces: Sequence[EmbeddingSpace], models: Models
) -> tuple[dict[EmbeddingSpace, NDArray[np.float32]], str]:
    """The question's vectors, which the search has mostly computed already; and why one is missing, or ""."""

    async def vector(space: EmbeddingSpace) -> NDArray[np.float32] | str:
        try:
            return await (await models.embedder(space)).embed_query(query)
        except EmbeddingUnavailableError as error:
            return error.reason

    results = await asyncio.gather(*map(vector, spaces))
    reasons = [result for result in results if isinstance(result, str)]
    vectors = {space: result for space, result in zip(spaces, results, strict=True) if not isinstance(result, str)}
    degraded = worded("rated questions were compared by words alone: {reason}", reason=reasons[0]) if reasons else ""
    return vectors, degraded


async def _read(function: Callable[[], Result]) -> Result:
    """In a thread of the pool: a request's own database thread would keep the request waiting."""
    return await database_sync_to_async(function, thread_sensitive=False)()
