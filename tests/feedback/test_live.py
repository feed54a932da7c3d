"""The live revision in memory, as the engine asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from feedback.models import FeedbackState
from feedback.rounds.live import LiveBoosts
from feedback.rounds.round import feedback_round
from ragsite.core.errors import UnavailableError
from retrieval.engine.values import EmbeddingSpace, Scores, TailHit
from tests.feedback.rated import passage, rate_chunk

QUESTION = "How many books may I borrow?"


class Embedder:
    """Every text is the same to it."""

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.asarray([[1.0, 0.0]] * len(texts), dtype=np.float32)


class Models:
    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        return Embedder()


def source() -> LiveBoosts:
    return LiveBoosts(Models())  # type: ignore[arg-type]


def hit(chunk: Any) -> TailHit:
    return TailHit(
        chunk_id=str(chunk.pk), document_id=str(chunk.document_id), scores=Scores(fused=1.0)
    )


@pytest.fixture(autouse=True)
def looks_at_once(no_questions_to_measure: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.live.REFRESH_S", 0.0)


@pytest.mark.django_db(transaction=True)
async def test_ratings_lift_a_passage_for_the_question_and_say_why() -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    await sync_to_async(rate_chunk)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    boosts = await source().boosts("how many books may I borrow", [hit(chunk)])
    boost = boosts.by_chunk[str(chunk.pk)]
    assert boost.multiplier > 1.4
    assert boost.origin == "rated for questions like this: 2 for it, 0 against it"
    assert boosts.revision


@pytest.mark.django_db(transaction=True)
async def test_a_database_that_fails_keeps_the_last_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    await sync_to_async(rate_chunk)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    live = source()
    assert (await live.boosts(QUESTION, [hit(chunk)])).by_chunk

    def away() -> Any:
        raise DatabaseError("gone")

    monkeypatch.setattr(FeedbackState.objects, "filter", lambda **_: away())
    for _ in range(3):
        assert (await live.boosts(QUESTION, [hit(chunk)])).by_chunk
    with pytest.raises(UnavailableError):
        await source().boosts(QUESTION, [hit(chunk)])
