"""When a web process loads the built-in embedding model beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.compose import close_engine, get_engine
from retrieval.knowledge.index_sync import embedding_space
from retrieval.knowledge.index_sync.embedding_space import builtin_model_load
from tests.factories import CollectionFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(embedding_space, "embed_texts", calls.append)
    return calls


@pytest.fixture
def builtin_collection(db: None) -> None:
    CollectionFactory(builtin=True)


async def load() -> None:
    await builtin_model_load(get_engine().models)
    await close_engine()


async def test_it_is_loaded_where_no_model_server_is_there(offline: None, loaded: list[list[str]]) -> None:
    await load()
    assert len(loaded) == 1


async def test_it_is_not_loaded_where_a_server_embeds(online: Any, loaded: list[list[str]]) -> None:
    await load()
    assert loaded == []


async def test_it_is_loaded_where_a_collection_uses_it(
    online: Any, builtin_collection: None, loaded: list[list[str]]
) -> None:
    await load()
    assert len(loaded) == 1
