"""What the README tells a newcomer to ask, of the sample handbook, without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import close_engine
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.knowledge.services.samples import samples_load
from tests.chat.conftest import Api

LINE = "No AI model is connected. These passages fit best."
DEPOSIT = "A deposit of EUR 300 is paid before moving in."
SEMINAR_ROOM = "研讨室可以提前7天预约"


@pytest.fixture
async def handbook(
    milvus: MilvusSettings,
    offline: None,
    rag_settings: Callable[..., None],
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transactional_db: None,
) -> AsyncIterator[None]:
    """Read, embedded by the built-in model, and indexed."""
    rag_settings(milvus=milvus, ollama={"offline": "1"})
    settings.DATA_DIR = tmp_path
    settings.MEDIA_ROOT = tmp_path / "uploads"
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *args, **options: None)
    for document in await sync_to_async(samples_load)(queue=False):
        assert await document_ingest(document.pk) == "ready"
    yield
    await close_engine()


async def asked(api: Api, question: str, **fields: Any) -> dict[str, Any]:
    reply: dict[str, Any] = (await api.ask(question, **fields)).json()
    return reply


async def test_the_first_questions_of_the_readme_are_right_without_a_model(
    api: Api, handbook: None
) -> None:
    deposit = await asked(api, "How large is the deposit for a room in Lakeside hall?")
    assert DEPOSIT in first_passage(deposit)
    assert SEMINAR_ROOM in first_passage(await asked(api, "研讨室最多可以提前几天预约？"))
    loans = await asked(api, "How many books may I borrow?", collections=["handbook"])
    assert "Undergraduate students" in loans["answer"]

    parking = await asked(api, "Where can I park?")  # of which the handbook says nothing
    assert parking["answer"].startswith(LINE)
    assert parking["sources"][0]["cited"]
    assert "generate" in {entry["step"] for entry in parking["degraded"]}


async def test_below_the_help_nothing_is_offered_but_below_passages(
    api: Api, handbook: None
) -> None:
    greeted = await asked(api, "hello")
    assert "Three things to try" in greeted["answer"]
    assert greeted["offers"] == []
    assert (await asked(api, "Where can I park?"))["offers"] == ["count", "ask_owner"]


def first_passage(reply: dict[str, Any]) -> str:
    """Without its line and heading, as far as the next passage."""
    assert reply["decision"] == "ANSWER"
    return str(reply["answer"].split("[1]\n")[1].split("[2]\n")[0])
