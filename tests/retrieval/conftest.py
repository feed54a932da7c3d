"""A broker that nothing reaches, a folder for uploads, and an engine without a model server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import Engine, close_engine, get_engine


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The messages that would have gone to the broker."""
    messages: list[tuple[Any, ...]] = []

    def send(_: Any, task: str, arguments: tuple[Any, ...] = (), **__: Any) -> None:
        messages.append((task, *arguments))

    monkeypatch.setattr("celery.app.base.Celery.send_task", send)
    return messages


@pytest.fixture
def uploads(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"


@pytest_asyncio.fixture
async def engine(milvus: MilvusSettings, offline: None) -> AsyncIterator[Engine]:
    """With the built-in embedding model, over an index of the test's own."""
    yield get_engine()
    await close_engine()
