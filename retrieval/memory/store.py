"""The engine's side of the memory: finding facts by meaning and by words, and writing one down.

A user has a few hundred facts at most, so both are compared in memory, with the database's own rows; an embedding model
that is away costs the meaning alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import numpy as np
from django.db import Error as DatabaseError

from ragsite.core.database import database_call
from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import Models
from retrieval.engine.search.fusion import rrf_scores
from retrieval.engine.steps import memory as memory_step
from retrieval.engine.text.term_weights import held_share, term_weights
from retrieval.engine.values import EmbeddingSpace, Exchange, Recall, RememberedFact
from retrieval.memory.selectors import memory_enabled
from retrieval.memory.services import memories_used, memory_remember
from retrieval.models import Memory

MIN_SIMILARITY = 0.5  # cosine, from which a fact is near enough to the question
MIN_COVERAGE = 0.5  # or the share of the question's words that it holds, rare ones counting more


class DatabaseMemoryStore:
    """`retrieval.engine.ports.MemoryStore`."""

    def __init__(self, *, models: Models) -> None:
        self._models = models

    async def recall(self, user_id: str, query: str, *, limit: int) -> Recall:
        """Facts near enough by cosine or by words, joined by rank; they count as used. Raises UnavailableError."""
        owner = int(user_id)
        try:
            enabled, rows = await database_call(_read, owner)
            if not enabled or not rows:
                return Recall(enabled=enabled)
            words = asyncio.to_thread(_by_words, query, rows)
            by_words, (by_meaning, degraded) = await asyncio.gather(
                words, self._by_meaning(query, rows)
            )
            scores = rrf_scores([by_meaning, by_words])
            best = sorted(scores, key=lambda fact_id: -scores[fact_id])[:limit]
            if best:
                await database_call(memories_used, user_id=owner, memory_ids=best)
        except DatabaseError as error:
            raise UnavailableError(
                worded("The memory can't be read; try again shortly.")
            ) from error
        known = {str(row.pk): row for row in rows}
        facts = tuple(
            RememberedFact(
                id=key, question=known[key].question, text=known[key].text, score=scores[key]
            )
            for key in best
        )
        return Recall(facts=facts, degraded=degraded)

    async def remember(
        self, user_id: str, exchange: Exchange
    ) -> Literal["added", "updated", "off"]:
        model, vector = await self._embedded(f"{exchange.question}\n{exchange.fact}")
        try:
            return await database_call(
                memory_remember,
                user_id=int(user_id),
                exchange=exchange,
                embedding_model=model,
                vector=vector,
            )
        except DatabaseError as error:
            raise UnavailableError(
                worded("The memory can't be written; try again shortly.")
            ) from error

    async def _embedded(self, text: str) -> tuple[str, bytes]:
        """By which model, and its vector; both empty where none can be had in time."""
        try:
            async with asyncio.timeout(memory_step.TIMEOUT_S):
                embedder = await self._models.default_embedder()
                [vector] = await embedder.embed_documents([text])
        except (EmbeddingUnavailableError, TimeoutError):
            return "", b""
        return embedder.space.model, vector.tobytes()

    async def _by_meaning(self, query: str, rows: Sequence[Memory]) -> tuple[list[str], str]:
        """Ids, nearest first, and why there may be too few."""
        scores: dict[str, float] = {}
        try:
            async with asyncio.timeout(memory_step.TIMEOUT_S):
                for model in {row.embedding_model for row in rows if row.embedding_model}:
                    own = [row for row in rows if row.embedding_model == model]
                    vectors = np.array([np.frombuffer(row.vector, np.float32) for row in own])
                    embedder = await self._models.embedder(EmbeddingSpace(model, vectors.shape[1]))
                    cosines = vectors @ (await embedder.embed_queries([query]))[0]
                    scores |= {
                        str(row.pk): float(cosine) for row, cosine in zip(own, cosines, strict=True)
                    }
        except EmbeddingUnavailableError as error:
            return [], worded("searched by words alone: {reason}", reason=error.message)
        except TimeoutError:
            return [], worded(
                "searched by words alone: no vectors within {limit_s:g} s",
                limit_s=memory_step.TIMEOUT_S,
            )
        near = (fact_id for fact_id in scores if scores[fact_id] >= MIN_SIMILARITY)
        return sorted(near, key=lambda fact_id: -scores[fact_id]), ""


def _read(user_id: int) -> tuple[bool, list[Memory]]:
    if not memory_enabled(user_id=user_id):
        return False, []
    return True, list(Memory.objects.filter(user=user_id))


def _by_words(query: str, rows: Sequence[Memory]) -> list[str]:
    """Ids of the facts that hold enough of the query's terms, rare ones counting more; the best first."""
    terms = {str(row.pk): frozenset(row.terms.split()) for row in rows}
    weights = term_weights(query, list(terms.values()))
    shares = {fact_id: held_share(weights, held) for fact_id, held in terms.items()}
    near = (fact_id for fact_id in shares if shares[fact_id] >= MIN_COVERAGE)
    return sorted(near, key=lambda fact_id: -shares[fact_id])
