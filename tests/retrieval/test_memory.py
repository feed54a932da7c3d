"""What is remembered for a user: written, found, kept within its limit, deleted, and never anybody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import OperationalError

from ragsite.core.errors import UnavailableError
from retrieval.compose import Engine, close_engine, get_engine
from retrieval.engine.values import Exchange
from retrieval.memory.services import memory_remember, memory_switch
from retrieval.memory.store import DatabaseMemoryStore
from retrieval.models import Memory
from tests.factories import MemoryFactory, UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]

LAKESIDE = Exchange(
    question="What is the deposit for a room in Lakeside hall?",
    fact="The deposit for a room in Lakeside hall is EUR 300.",
)
BOOKS = Exchange(
    question="How many books may I borrow?", fact="An undergraduate may borrow 12 books at once."
)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not what these tests are about."""
    monkeypatch.setattr("retrieval.engine.steps.memory.TIMEOUT_S", 60.0)


@pytest_asyncio.fixture
async def online_engine(milvus: Any, online: Any) -> AsyncIterator[Engine]:
    yield get_engine()
    await close_engine()


async def keep(engine: Engine, owner: User, *exchanges: Exchange) -> None:
    """With vectors, as after an answer."""
    assert engine.memory
    for exchange in exchanges:
        await engine.memory.remember(str(owner.pk), exchange)


async def user() -> User:
    return await sync_to_async(UserFactory)()


async def remember(owner: User, *exchanges: Exchange) -> list[str]:
    return [
        await sync_to_async(memory_remember)(user_id=owner.pk, exchange=exchange)
        for exchange in exchanges
    ]


async def recalled(engine: Engine, owner: User, query: str, limit: int = 3) -> list[str]:
    assert engine.memory
    return [
        fact.text for fact in (await engine.memory.recall(str(owner.pk), query, limit=limit)).facts
    ]


# ------------------------------------------------------------------------------------------------ writing
async def test_the_same_question_takes_the_place_of_the_older() -> None:
    fact = "It is EUR 350 since May."
    again = Exchange(question="what is the deposit for a room in  Lakeside hall", fact=fact)
    assert await remember(await user(), LAKESIDE, again) == ["added", "updated"]
    assert (await Memory.objects.aget()).text == fact


async def test_beyond_the_limit_the_one_that_was_useless_for_longest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("retrieval.memory.services.MAX_PER_USER", 3)
    owner, other = await user(), await user()
    await sync_to_async(MemoryFactory)(user=other)
    exchanges = [Exchange(question=f"Question {word}?", fact=f"About {word}.")
                 for word in ("ships", "trees", "stones", "clouds")]  # fmt: skip
    await remember(owner, *exchanges[:3])
    first = await Memory.objects.filter(user=owner).order_by("created_at").afirst()
    assert first
    used = DatabaseMemoryStore(models=None)  # type: ignore[arg-type]
    await used.recall(str(owner.pk), "ships", limit=1)
    await remember(owner, exchanges[3])
    kept = {memory.text async for memory in Memory.objects.filter(user=owner)}
    assert kept == {"About ships.", "About stones.", "About clouds."}
    assert await Memory.objects.filter(user=other).acount() == 1


async def test_nothing_is_written_or_found_while_the_user_has_switched_it_off(
    engine: Engine,
) -> None:
    owner = await user()
    await remember(owner, LAKESIDE)
    await sync_to_async(memory_switch)(user=owner, enabled=False)
    assert await remember(owner, BOOKS) == ["off"]
    assert engine.memory
    recall = await engine.memory.recall(str(owner.pk), LAKESIDE.question, limit=3)
    assert (recall.enabled, recall.facts) == (False, ())
    await sync_to_async(memory_switch)(user=owner, enabled=True)
    assert await recalled(engine, owner, LAKESIDE.question) == [LAKESIDE.fact]


async def test_the_setting_decides_for_who_has_not_said(rag_settings: Any) -> None:
    rag_settings(memory={"enabled": False})
    silent, asked = await user(), await user()
    await sync_to_async(memory_switch)(user=asked, enabled=True)
    assert [await remember(owner, LAKESIDE) for owner in (silent, asked)] == [["off"], ["added"]]


# ------------------------------------------------------------------------------------------------ recalling
async def test_a_user_finds_their_own_facts_and_nobody_elses(engine: Engine) -> None:
    owner, other = await user(), await user()
    await remember(owner, LAKESIDE)
    await remember(other, BOOKS)
    assert await recalled(engine, owner, "deposit for a room in Lakeside") == [LAKESIDE.fact]
    assert await recalled(engine, other, "deposit for a room in Lakeside") == []
    assert await recalled(engine, owner, "Wi-Fi password expired") == []
    assert await recalled(engine, other, "how many books may I borrow") == [BOOKS.fact]


async def test_a_fact_is_found_by_its_vector(
    online_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.memory.store.MIN_COVERAGE", 1.0)
    monkeypatch.setattr("retrieval.memory.store.MIN_SIMILARITY", 0.3)
    owner = await user()
    await keep(online_engine, owner, LAKESIDE, BOOKS)
    assert online_engine.memory
    recall = await online_engine.memory.recall(
        str(owner.pk), "deposit of Lakeside rooms please", limit=1
    )
    assert [fact.question for fact in recall.facts] == [LAKESIDE.question]
    assert recall.degraded == ""


async def test_a_database_that_is_away_is_an_error_of_ours(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise OperationalError

    monkeypatch.setattr("retrieval.memory.store.memory_enabled", broken)
    assert engine.memory
    with pytest.raises(UnavailableError):
        await engine.memory.recall("1", "deposit", limit=3)


# ------------------------------------------------------------------------------------------------ without a model
async def test_while_the_model_is_away_words_are_looked_for_and_it_says_so(
    online_engine: Engine, online: Any, rag_settings: Any
) -> None:
    owner = await user()
    await keep(online_engine, owner, LAKESIDE)
    await close_engine()
    rag_settings(ollama={"offline": "1"})
    memory = get_engine().memory
    assert memory
    recall = await memory.recall(str(owner.pk), LAKESIDE.question, limit=3)
    assert [fact.text for fact in recall.facts] == [LAKESIDE.fact]
    assert "words alone" in recall.degraded


async def test_an_embedder_that_is_slow_is_not_waited_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow:
        async def embedder(self, space: Any) -> Any:
            await asyncio.sleep(60)

    owner = await user()
    await keep(engine, owner, LAKESIDE)
    monkeypatch.setattr("retrieval.engine.steps.memory.TIMEOUT_S", 0.05)
    recall = await DatabaseMemoryStore(models=Slow()).recall(
        str(owner.pk), LAKESIDE.question, limit=3
    )  # type: ignore[arg-type]
    assert recall.facts and "words alone" in recall.degraded
