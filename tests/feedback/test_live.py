"""The live revision in memory, as the engine asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import DatabaseError

from feedback.models import FeedbackState, RatedQuestion
from feedback.ranking.same_question import vector_encode
from feedback.rounds.live import LiveBoosts, feedback_state
from feedback.rounds.revisions import revision_roll_back
from feedback.rounds.round import feedback_round
from ragsite.core.errors import UnavailableError
from retrieval.errors import EmbeddingUnavailableError
from retrieval.search.boosting import AnswerRevision
from retrieval.values import Boosts, EmbeddingSpace, Scores, TailHit
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.rated import liked, passage

QUESTION = "How many books may I borrow?"


class Embedder:
    """Every text is the same to it."""

    async def embed_query(self, text: str) -> Any:
        return np.asarray([1.0, 0.0], dtype=np.float32)

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.asarray([[1.0, 0.0]] * len(texts), dtype=np.float32)


class Models:
    def __init__(self, *, away: bool = False) -> None:
        self.away = away

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        if self.away:
            raise EmbeddingUnavailableError("Ollama is not reachable")
        return Embedder()


def source(models: Models | None = None, **fields: Any) -> LiveBoosts:
    return LiveBoosts(models or Models())  # type: ignore[arg-type]


def roll_back(**fields: Any) -> None:
    live = feedback_state().live
    assert live is not None
    revision_roll_back(revision=live, **fields)


async def ask(live: LiveBoosts, query: str, hits: Sequence[TailHit]) -> Boosts:
    """As a search does."""
    return await (await live.current()).boosts(query, hits)


def hit(chunk: Any) -> TailHit:
    return TailHit(chunk_id=str(chunk.pk), document_id=str(chunk.document_id), scores=Scores(fused=1.0))


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    monkeypatch.setattr("feedback.rounds.live.REFRESH_S", 0.0)


@pytest.fixture
def staff(db: None) -> User:
    user: User = UserFactory(is_staff=True)
    return user


@pytest.mark.django_db(transaction=True)
async def test_ratings_lift_a_passage_for_the_question_and_say_why() -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    await sync_to_async(liked)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    boosts = await ask(source(), "how many books may I borrow", [hit(chunk)])
    boost = boosts.by_chunk[str(chunk.pk)]
    assert boost.multiplier > 1.4
    assert boost.origin == "2 people found this useful for similar questions"
    assert boosts.revision


@pytest.mark.django_db(transaction=True)
async def test_without_a_revision_nothing_is_boosted() -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    assert (await ask(source(), QUESTION, [hit(chunk)])).by_chunk == {}


async def _until(live: LiveBoosts, chunk: Any, *, boosted: bool) -> None:
    async with asyncio.timeout(60):
        while bool((await ask(live, QUESTION, [hit(chunk)])).by_chunk) != boosted:
            await asyncio.sleep(0.01)


@pytest.mark.django_db(transaction=True)
async def test_the_first_search_after_a_revision_went_live_finds_it_at_work() -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    live = source()
    assert (await ask(live, QUESTION, [hit(chunk)])).by_chunk == {}
    await sync_to_async(liked)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    assert (await ask(live, QUESTION, [hit(chunk)])).by_chunk


@pytest.mark.django_db(transaction=True)
async def test_searches_during_a_switch_see_one_revision_or_the_other(staff: User) -> None:
    """Both passages are lifted together or not at all, and no search fails."""
    first, second = await sync_to_async(passage)("Ten books."), await sync_to_async(passage)("Ten more books.")
    for chunk in (first, second):
        await sync_to_async(liked)(QUESTION, chunk, by=2)
    live, seen, done = source(), set(), asyncio.Event()

    async def search() -> None:
        while not done.is_set():
            boosts = await ask(live, QUESTION, [hit(first), hit(second)])
            seen.add((bool(boosts.revision), len(boosts.by_chunk)))
            await asyncio.sleep(0)

    searches = [asyncio.create_task(search()) for _ in range(3)]
    await sync_to_async(feedback_round)()
    await _until(live, first, boosted=True)
    await sync_to_async(roll_back)(by=staff, why="Wrong.")
    await _until(live, first, boosted=False)
    done.set()
    await asyncio.gather(*searches)
    assert seen == {(False, 0), (True, 2)}


@pytest.mark.django_db(transaction=True)
async def test_what_an_answer_was_given_stays_when_another_revision_goes_live(staff: User) -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    await sync_to_async(liked)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    live, answer = source(), AnswerRevision()
    before = await (await answer.get(live)).boosts(QUESTION, [hit(chunk)])
    await sync_to_async(roll_back)(by=staff, why="Wrong.")
    await _until(live, chunk, boosted=False)
    assert await (await answer.get(live)).boosts(QUESTION, [hit(chunk)]) == before
    assert before.by_chunk
    assert not (await (await AnswerRevision().get(live)).boosts(QUESTION, [hit(chunk)])).by_chunk


@pytest.mark.django_db(transaction=True)
async def test_a_database_that_fails_keeps_the_last_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = await sync_to_async(passage)("Ten books.")
    await sync_to_async(liked)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    live = source()
    assert (await ask(live, QUESTION, [hit(chunk)])).by_chunk

    def away() -> Any:
        raise DatabaseError("gone")

    monkeypatch.setattr(FeedbackState.objects, "select_related", lambda *_: away())
    for _ in range(3):
        assert (await ask(live, QUESTION, [hit(chunk)])).by_chunk
    with pytest.raises(UnavailableError):
        await ask(source(), QUESTION, [hit(chunk)])


def embedded(text: str) -> Any:
    collection = CollectionFactory(embedding_model="test-embed", embedding_dim=2)
    return ChunkFactory(document=DocumentFactory(collection=collection), text=text, seq=0)


@pytest.mark.django_db(transaction=True)
async def test_without_its_model_a_question_is_compared_by_words_and_that_is_told(
    offline: None,
) -> None:
    chunk = await sync_to_async(embedded)("Ten books.")
    await sync_to_async(liked)(QUESTION, chunk, by=2)
    await sync_to_async(feedback_round)()
    vector = vector_encode(np.asarray([1.0, 0.0], dtype=np.float32))
    await RatedQuestion.objects.aupdate(embedding_model="test-embed", embedding_dim=2, vector=vector)
    near = await ask(source(), "What is the number of books that I can take home?", [hit(chunk)])
    # With its vector it is found to ask the same, by its words alone it would not be.
    assert near.by_chunk[str(chunk.pk)].multiplier > 1.2
    away = await ask(source(Models(away=True)), QUESTION, [hit(chunk)])
    assert away.by_chunk[str(chunk.pk)].multiplier > 1.4
    assert away.degraded == "rated questions were compared by words alone: Ollama is not reachable"
