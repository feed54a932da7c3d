"""The engine's side of the memory: finding facts by meaning and by words, and writing one down.

Meaning is looked for in the index, words in the database's own rows, of which a user has a few hundred at most. So a
model server or an index that is away costs the meaning alone; and whatever the index says, only the user's own rows
that still exist are recalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.db import Error as DatabaseError

from ragsite.core.database import database_call
from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError, IndexUnavailableError
from retrieval.memory.selectors import memory_enabled
from retrieval.memory.services import memories_used, memory_remember
from retrieval.models import Memory
from retrieval.ports import ChunkIndex, Models
from retrieval.search import fusion
from retrieval.search.fusion import rrf_scores
from retrieval.steps import memory as memory_step
from retrieval.text.term_coverage import coverage, term_weights
from retrieval.values import EmbeddingSpace, Exchange, Recall, RememberedFact, SearchFilters

MIN_SIMILARITY = 0.5  # cosine, from which a fact is near enough to the question
MIN_COVERAGE = 0.5  # or the share of the question's words that it holds, rare ones counting more

WINDOW = 3  # times as many hits are looked at as are wanted


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    question: str
    text: str
    terms: frozenset[str]
    space: EmbeddingSpace | None


def user_key(user_id: int) -> str:
    """Whose a row of the index is: every search is filtered by it."""
    return f"user-{user_id}"


class DatabaseMemoryStore:
    """`retrieval.ports.MemoryStore`."""

    def __init__(self, *, index: ChunkIndex, models: Models) -> None:
        self._index = index
        self._models = models

    async def recall(self, user_id: str, query: str, *, limit: int) -> Recall:
        """Facts near enough by cosine or by words, joined by rank; they count as used. Raises UnavailableError."""
        owner = int(user_id)
        try:
            enabled, rows = await database_call(_read, owner)
            if not enabled or not rows or limit <= 0:
                return Recall(enabled=enabled)
            words = asyncio.to_thread(_by_words, query, rows, MIN_COVERAGE)
            by_words, (by_meaning, degraded) = await asyncio.gather(words, self._by_meaning(owner, query, rows, limit))
            scores = rrf_scores([by_meaning, by_words], k=fusion.RRF_K)
            best = sorted(scores, key=lambda fact_id: -scores[fact_id])[:limit]
            if best:
                await database_call(memories_used, user_id=owner, memory_ids=best)
        except DatabaseError as error:
            raise UnavailableError(worded("The memory can't be read; try again shortly.")) from error
        known = {row.id: row for row in rows}
        facts = tuple(
            RememberedFact(id=row.id, question=row.question, text=row.text, score=scores[row.id])
            for row in (known[fact_id] for fact_id in best)
        )
        return Recall(facts=facts, degraded=degraded)

    async def remember(self, user_id: str, exchange: Exchange) -> Literal["added", "updated", "off"]:
        try:
            return await database_call(memory_remember, user_id=int(user_id), exchange=exchange)
        except DatabaseError as error:
            raise UnavailableError(worded("The memory can't be written; try again shortly.")) from error

    async def _by_meaning(self, owner: int, query: str, rows: Sequence[_Row], limit: int) -> tuple[list[str], str]:
        """Ids, nearest first, and why there may be too few."""
        scores: dict[str, float] = {}
        own = {row.id for row in rows}
        try:
            async with asyncio.timeout(memory_step.TIMEOUT_S):
                for space in {row.space for row in rows if row.space}:
                    vector = await (await self._models.embedder(space)).embed_query(query)
                    [hits] = await self._index.search_dense(
                        space, vector[None, :], collection_ids=[user_key(owner)], filters=SearchFilters(),
                        limit=limit * WINDOW,
                    )  # fmt: skip
                    scores |= {hit.chunk_id: hit.score for hit in hits if hit.score >= MIN_SIMILARITY}
        except (EmbeddingUnavailableError, IndexUnavailableError) as error:
            return [], worded("looked for words alone: {reason}", reason=error.message)
        except TimeoutError:
            return [], worded("looked for words alone: no vectors within {limit_s:g} s", limit_s=memory_step.TIMEOUT_S)
        return [fact_id for fact_id in sorted(scores, key=lambda fact_id: -scores[fact_id]) if fact_id in own], ""


def _read(user_id: int) -> tuple[bool, list[_Row]]:
    if not memory_enabled(user_id=user_id):
        return False, []
    columns = ("pk", "question", "text", "terms", "embedding_model", "embedding_dim")
    return True, [
        _Row(str(pk), question, text, frozenset(terms.split()), EmbeddingSpace(model, dim) if model else None)
        for pk, question, text, terms, model, dim in Memory.objects.filter(user=user_id).values_list(*columns)
    ]


def _by_words(query: str, rows: Sequence[_Row], least: float) -> list[str]:
    """Ids of the facts that hold enough of the query's terms, rare ones counting more; the best first."""
    weights = term_weights(query, [row.terms for row in rows])
    shares = {row.id: coverage(row.terms, weights) for row in rows}
    return [fact_id for fact_id in sorted(shares, key=lambda fact_id: -shares[fact_id]) if shares[fact_id] >= least]
