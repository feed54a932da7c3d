"""/healthz asks nobody, /readyz tells each dependency's state, /metrics is not for everybody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import AsyncClient, Client
from pydantic import BaseModel

from chat.runs.loading import loading_begin
from ragsite.core.messages import worded
from ragsite.operations import health
from retrieval.compose import close_engine, get_engine
from retrieval.engine.ports import Prompt
from tests.ollama_server import OllamaServer

OLLAMA = health._ollama


class Verdict(BaseModel):
    verdict: str


async def fine() -> str:
    return ""


@pytest.fixture
def dependencies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """All of them fine, but those that a test replaces."""
    for name in ("_database", "_milvus", "_ollama", "_broker", "_storage", "_channel_layer"):
        monkeypatch.setattr(health, name, fine)
    return monkeypatch


async def ready(async_client: AsyncClient) -> tuple[int, dict[str, Any]]:
    answer = await async_client.get("/readyz")
    return answer.status_code, answer.json()["dependencies"]


async def test_healthz_needs_no_database(async_client: AsyncClient) -> None:
    assert (await async_client.get("/healthz")).json() == {"status": "ok"}


async def test_without_ollama_it_is_ready_and_says_so(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch
) -> None:
    async def away() -> str:
        return "not reachable"

    dependencies.setattr(health, "_ollama", away)
    status, told = await ready(async_client)
    assert (status, told["ollama"]["state"], told["ollama"]["reason"]) == (
        200,
        "offline",
        "not reachable",
    )


async def test_a_model_that_is_not_held_to_a_form_is_told(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch, online: OllamaServer
) -> None:
    online.reply(text='Yes: {"verdict": "yes"}')
    dependencies.setattr(health, "_ollama", OLLAMA)
    model = await get_engine().models.chat("fast")
    await model.complete_json(Prompt(name="test", hash="abc", system="", user="Yes?"), Verdict)
    status, told = await ready(async_client)
    await close_engine()
    assert (status, told["ollama"]["state"]) == (200, "ok")
    assert "test-chat:latest" in told["ollama"]["reason"]


async def test_without_a_database_it_is_not_ready_and_gives_no_details_away(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch
) -> None:
    async def broken() -> str:
        raise DatabaseError("connection to db.internal as root failed")

    dependencies.setattr(health, "_database", broken)
    status, told = await ready(async_client)
    assert (status, told["database"]["state"], told["database"]["reason"]) == (
        503,
        "down",
        "not reachable",
    )


async def test_a_dependency_that_hangs_is_down(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch
) -> None:
    dependencies.setattr(health, "CHECK_TIMEOUT_S", 0.05)
    dependencies.setattr(health, "_milvus", lambda: asyncio.sleep(60))
    status, told = await ready(async_client)
    assert (status, told["milvus"]["state"]) == (503, "down")


@pytest.mark.django_db
def test_metrics_are_for_this_machine(client: Client) -> None:
    answer = client.get("/metrics", REMOTE_ADDR="127.0.0.1")
    assert b"django_http_requests" in answer.content


@pytest.mark.parametrize(
    "extra",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"HTTP_X_FORWARDED_HOST": "rag.example"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
    ],
)
@pytest.mark.django_db
def test_metrics_are_refused_to_strangers(client: Client, extra: dict[str, Any]) -> None:
    assert client.get("/metrics", **extra).status_code == 403


async def test_a_process_that_still_loads_gets_no_requests_yet(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch
) -> None:
    loaded = asyncio.Event()

    async def broken() -> None:
        raise OSError

    task = loading_begin(loaded.wait(), broken())
    waiting = await async_client.get("/readyz/own")
    assert (waiting.status_code, waiting.json()) == (503, {"status": "loading"})
    assert (await ready(async_client))[0] == 200
    loaded.set()
    await task
    assert (await async_client.get("/readyz/own")).status_code == 200


async def test_what_all_machines_lack_takes_none_of_them_out(
    async_client: AsyncClient, dependencies: pytest.MonkeyPatch
) -> None:
    async def away() -> str:
        raise health.NotReadyError(worded("not reachable"))

    dependencies.setattr(health, "_milvus", away)
    assert (await ready(async_client))[0] == 503
    assert (await async_client.get("/readyz/own")).status_code == 200
    dependencies.setattr(health, "_storage", away)
    full = await async_client.get("/readyz/own")
    assert (full.status_code, full.json()["reason"]) == (503, "not reachable")
