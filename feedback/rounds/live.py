"""The live revision as searches use it: read from the database, kept in memory.

When a search comes and REFRESH_S have passed, the version in the database is compared, and another revision is loaded.
A search, or an answer with all of its searches, keeps the snapshot that it was given first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from django.db import DatabaseError
from django.db.models import Count, F
from numpy.typing import NDArray

from feedback.models import (
    Boost,
    FeedbackState,
    ManualBoost,
    QuestionPair,
    RatedPassage,
    RatedQuestion,
    Revision,
)
from feedback.ranking.boosts import DocumentBoost, QueryBoost
from feedback.ranking.snapshot import Content, ManualRule, Snapshot
from ragsite.core.database import database_call
from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import Models
from retrieval.engine.text.same_question import Wording, vector_decode, wording
from retrieval.engine.values import Boosts, EmbeddingSpace, ScoredChunk, TailHit

REFRESH_S = 2.0  # how often a process looks whether something has changed
Held = TypeVar("Held")
logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ from the database
def feedback_state() -> FeedbackState:
    """The one row; made when it is not there yet."""
    state, _ = FeedbackState.objects.get_or_create(pk=1)
    return state


def live_revision() -> Revision | None:
    return Revision.objects.select_related("parent").filter(status=Revision.Status.LIVE).first()


def version_bump() -> None:
    """Searches see what has changed, here within REFRESH_S and in other processes too."""
    feedback_state()
    FeedbackState.objects.filter(pk=1).update(version=F("version") + 1)


def snapshot_load(held: Snapshot | None = None) -> Snapshot:
    """The live revision and the boosts by hand, as of `version`; `held` itself where that is still the one."""
    version = FeedbackState.objects.filter(pk=1).values_list("version", flat=True).first() or 0
    if held is not None and held.version == version:
        return held
    live = live_revision()
    revision = str(live.pk) if live else ""
    return Snapshot(content_of(live), manual=manual_rules(), revision=revision, version=version)


def boosts_of(revision: Revision | None) -> tuple[list[QueryBoost], list[DocumentBoost]]:
    rows = (
        Boost.objects.filter(revision=revision).order_by("pk") if revision else Boost.objects.none()
    )
    queries: list[QueryBoost] = []
    documents: list[DocumentBoost] = []
    for row in rows.iterator(chunk_size=2000):
        if row.question_id is not None and row.passage_id is not None:
            queries.append(
                QueryBoost(
                    row.question_id, row.passage_id, row.multiplier, row.raters_up, row.raters_down
                )
            )
        else:
            documents.append(
                DocumentBoost(row.document_id, row.multiplier, row.raters_up, row.raters_down)
            )
    return queries, documents


def content_of(revision: Revision | None) -> Content:
    return content_make(*boosts_of(revision))


def content_make(queries: Sequence[QueryBoost], documents: Sequence[DocumentBoost]) -> Content:
    """With the questions and chunks that these boosts refer to."""
    if not queries:
        return Content(documents=documents)
    boosted = {boost.question for boost in queries}
    pairs: dict[int, list[int]] = defaultdict(list)
    for first, second in (
        QuestionPair.objects.filter(same=True).order_by("pk").values_list("first_id", "second_id")
    ):
        pairs[first].append(second)
        pairs[second].append(first)
    # A question that has no boost of its own may be the other wording of one that has.
    known = boosted | {
        question for question, others in pairs.items() if boosted.intersection(others)
    }
    chunks = RatedPassage.objects.exclude(chunk_id=None).values_list("pk", "chunk_id")
    wordings, space = wordings_load()
    return Content(
        queries=queries,
        documents=documents,
        chunk_of={key: str(chunk) for key, chunk in chunks.iterator(chunk_size=2000)},
        wordings={key: own for key, own in wordings.items() if key in known},
        pairs=pairs,
        space=space,
    )


def wordings_load() -> tuple[dict[int, Wording], EmbeddingSpace | None]:
    """All rated questions; with vectors those that are in the space that most of them are in."""
    spaces = RatedQuestion.objects.exclude(embedding_model="").values_list(
        "embedding_model", "embedding_dim"
    )
    most = spaces.annotate(count=Count("pk")).order_by("-count").first()
    space = EmbeddingSpace(most[0], most[1]) if most else None
    rows = RatedQuestion.objects.order_by("pk").values_list(
        "pk", "text", "embedding_model", "embedding_dim", "vector"
    )
    wordings = {
        key: wording(
            text, vector_decode(vector) if space == EmbeddingSpace(model, dim or 0) else None
        )
        for key, text, model, dim, vector in rows.iterator(chunk_size=2000)
    }
    return wordings, space


def manual_rules() -> list[ManualRule]:
    """The boosts that staff set and that are in force."""
    return [
        ManualRule(
            target=str(row.chunk_id or row.document_id),
            multiplier=row.multiplier,
            hide=row.hide,
            expires_at=row.expires_at.timestamp() if row.expires_at else None,
            question=wording(row.question) if row.question else None,
        )
        for row in ManualBoost.in_force().order_by("created_at")
    ]


# ------------------------------------------------------------------------------------------------ in memory
class Latest(Generic[Held]):
    """What the database says, looked at again every REFRESH_S; where it is away, what it said last. Belongs to one
    event loop, as the engine does."""

    def __init__(self, load: Callable[[Held | None], Held]) -> None:
        """load: what is there now; it gets what was there before, to give back where nothing has changed."""
        self._load = load
        self._held: Held | None = None
        self._checked = 0.0
        self._order = asyncio.Lock()

    async def get(self) -> Held:
        """Raises UnavailableError where nothing could be read yet."""
        async with self._order:
            if self._held is None or time.monotonic() - self._checked >= REFRESH_S:
                try:
                    self._held = await database_call(self._load, self._held)
                except DatabaseError as error:
                    if self._held is None:
                        raise UnavailableError(worded("the database could not be read")) from error
                    logger.warning(
                        "The database could not be read, going on with what it said last: %s", error
                    )
                self._checked = time.monotonic()
            return self._held


class LiveBoosts:
    """`retrieval.engine.ports.BoostSource`."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._snapshot = Latest(snapshot_load)

    async def boosts(self, query: str, candidates: Sequence[ScoredChunk | TailHit]) -> Boosts:
        """Of the revision that is live now. Raises UnavailableError."""
        live = SnapshotBoosts(snapshot=await self._snapshot.get(), models=self._models)
        return await live.boosts(query, candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotBoosts:
    """The same of one snapshot, to try a revision with."""

    snapshot: Snapshot
    models: Models

    async def boosts(self, query: str, candidates: Sequence[ScoredChunk | TailHit]) -> Boosts:
        if self.snapshot.is_empty:
            return Boosts(revision=self.snapshot.revision)
        space = self.snapshot.space if self.snapshot.touches(candidates) else None
        vector, degraded = await query_vector(query, space, self.models)
        find = self.snapshot.boosts
        boosts = await asyncio.to_thread(
            lambda: find(wording(query, vector), candidates, now=time.time())
        )
        return replace(boosts, degraded=degraded)


async def query_vector(
    query: str, space: EmbeddingSpace | None, models: Models
) -> tuple[NDArray[np.float32] | None, str]:
    """The question's vector, which the search has mostly computed already; or why there is none."""
    if space is None:
        return None, ""
    try:
        embedder = await models.embedder(space)
        return (await embedder.embed_queries([query]))[0], ""
    except EmbeddingUnavailableError as error:
        return None, worded(
            "rated questions were compared by words alone: {reason}", reason=error.reason
        )
