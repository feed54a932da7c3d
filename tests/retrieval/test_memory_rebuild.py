"""Rebuilding the memory's index: what is remembered is found all the while."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async

from retrieval.engine import Engine, close_engine, get_engine
from retrieval.errors import IndexUnavailableError
from retrieval.memory.store import user_key
from retrieval.memory.sync import memory_rebuild, memory_repair
from retrieval.models import Memory
from retrieval.providers.lexical import SPACE as LEXICAL
from retrieval.values import IndexRow
from tests.factories import MemoryFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest_asyncio.fixture
async def engine(milvus: Any, offline: None) -> AsyncIterator[Engine]:
    yield get_engine()
    await close_engine()


@pytest_asyncio.fixture
async def remembered(engine: Engine) -> set[str]:
    """Three facts in the index, and their ids."""
    await sync_to_async(MemoryFactory.create_batch)(3)
    assert await memory_repair() == 3
    return {str(pk) async for pk in Memory.objects.values_list("pk", flat=True)}


async def test_nothing_that_is_remembered_is_ever_deleted(
    engine: Engine, remembered: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine.memory_index
    deleted: list[str] = []
    delete = engine.memory_index.delete_chunks

    async def watched(space: Any, chunk_ids: Any) -> None:
        deleted.extend(chunk_ids)
        await delete(space, chunk_ids)

    monkeypatch.setattr(engine.memory_index, "delete_chunks", watched)
    assert await memory_rebuild() == 3
    assert remembered.isdisjoint(deleted)
    assert await engine.memory_index.chunk_ids(LEXICAL) == remembered


async def test_what_is_in_no_row_of_the_database_is_cleared(engine: Engine, remembered: set[str]) -> None:
    assert engine.memory_index
    [vector] = await (await engine.models.embedder(LEXICAL)).embed_documents(["The deposit is EUR 300."])
    stale = IndexRow(
        chunk_id=str(uuid.uuid4()), collection_id=user_key(1), document_id=user_key(1), seq=0, terms="deposit",
        vector=vector,
    )  # fmt: skip
    await engine.memory_index.upsert(LEXICAL, [stale])
    await memory_rebuild()
    assert await engine.memory_index.chunk_ids(LEXICAL) == remembered


async def test_one_that_breaks_off_leaves_what_was_there(
    engine: Engine, remembered: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*args: Any) -> None:
        raise IndexUnavailableError

    assert engine.memory_index
    with monkeypatch.context() as patch:
        patch.setattr(engine.memory_index, "upsert", away)
        with pytest.raises(IndexUnavailableError):
            await memory_rebuild()
    assert await engine.memory_index.chunk_ids(LEXICAL) == remembered
