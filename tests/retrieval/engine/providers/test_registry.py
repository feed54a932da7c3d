"""Which model serves: found by capability, named in the settings, or none; never by a restart."""

from __future__ import annotations

import pytest

from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.errors import EmbeddingUnavailableError, ModelUnavailableError
from retrieval.engine.providers import server
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.values import EmbeddingSpace
from tests.ollama_server import CHAT_MODEL, EMBED_DIM, EMBED_MODEL, OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker
from tests.web_server import WebServer

OLLAMA_SPACE = EmbeddingSpace(EMBED_MODEL, EMBED_DIM)


async def test_models_are_chosen_by_what_they_can_do(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    models = registry()
    assert (await models.chat("answer")).name == CHAT_MODEL
    assert (await models.chat("fast")).name == CHAT_MODEL
    assert (await models.default_embedder()).space == OLLAMA_SPACE


async def test_configured_models_win_with_or_without_their_tag(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    for name in ("big", "small:1b"):
        ollama.add_model(name, "completion")
    ollama.add_model("other-embed", "embedding", dim=12)
    models = registry(chat_model="big", fast_model="small:1b", embed_model="other-embed")
    assert ((await models.chat("answer")).name, (await models.chat("fast")).name) == (
        "big:latest",
        "small:1b",
    )
    assert (await models.default_embedder()).space == EmbeddingSpace("other-embed:latest", 12)


@pytest.mark.parametrize(
    ("configured", "reason"),
    [
        ("gone:7b", "model 'gone:7b' is not installed: ollama pull gone:7b"),
        (EMBED_MODEL, "can't chat"),
    ],
)
async def test_configured_model_that_cannot_serve_is_told(
    ollama: OllamaServer, registry: RegistryMaker, configured: str, reason: str
) -> None:
    models = registry(chat_model=configured)
    with pytest.raises(ModelUnavailableError, match=reason):
        await models.chat("answer")
    status = await models.status()
    assert status.reachable
    assert status.chat_model == ""
    assert reason in status.reason


async def test_models_that_appear_and_vanish_are_noticed(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.models.clear()
    models = registry(LISTED_EVERY_S=0)
    with pytest.raises(ModelUnavailableError, match="has no model for this: ollama pull"):
        await models.chat("answer")
    assert (await models.default_embedder()).space == BUILTIN_SPACE
    ollama.add_model("later", "completion")
    assert (await models.chat("answer")).name == "later:latest"
    ollama.remove_model("later")
    with pytest.raises(ModelUnavailableError):
        await models.chat("answer")


async def test_server_that_starts_later_is_noticed(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.stop()
    models = registry(LISTED_EVERY_S=0)
    status = await models.status()
    assert not status.reachable
    assert "not reachable at 127.0.0.1" in status.reason
    with pytest.raises(ModelUnavailableError, match="not reachable"):
        await models.chat("answer")
    assert (await models.default_embedder()).space == BUILTIN_SPACE
    ollama.start()
    assert (await models.chat("answer")).name == CHAT_MODEL


async def test_busy_server_goes_on_with_the_models_that_it_listed_last(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    models = registry(LISTED_EVERY_S=0, LIST_TIMEOUT_S=0.1)
    assert (await models.status()).reachable
    ollama.reply(endpoint="tags", delay_s=30)
    assert (await models.status()).chat_model == CHAT_MODEL
    assert (await models.chat("answer")).name == CHAT_MODEL
    ollama.stop()
    assert not (await models.status()).reachable


@pytest.mark.parametrize(
    ("reply", "limit_s", "reason"),
    [
        ({"status": 500}, 20, "HTTP 500"),
        ({"delay_s": 30}, 0.1, "timed out after 0.1 s"),
        ({"body": ["not", "ollama"]}, 20, "could not be read"),
        ({"body": {"models": [{"no": "name"}]}}, 20, "could not be read"),
        ({"disconnect_after": 0}, 20, "closed the connection"),
    ],
)
async def test_status_never_raises(
    ollama: OllamaServer,
    registry: RegistryMaker,
    reply: dict[str, object],
    limit_s: float,
    reason: str,
) -> None:
    ollama.reply(endpoint="tags", **reply)
    status = await registry(LIST_TIMEOUT_S=limit_s).status()
    assert not status.reachable
    assert reason in status.reason


async def test_forced_offline_never_calls_the_server(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    models = registry(offline="1")
    status = await models.status()
    assert (status.reachable, status.offline_forced) == (False, True)
    with pytest.raises(ModelUnavailableError, match="RAG_OFFLINE=1"):
        await models.chat("answer")
    with pytest.raises(EmbeddingUnavailableError, match="RAG_OFFLINE=1"):
        await models.embedder(OLLAMA_SPACE)
    assert (await models.default_embedder()).space == BUILTIN_SPACE
    assert ollama.requests == []


async def test_required_server_that_is_down_is_an_error_for_new_collections_too(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.stop()
    models = registry(offline="0")
    with pytest.raises(EmbeddingUnavailableError, match="not reachable"):
        await models.default_embedder()


async def test_embedder_is_the_one_that_made_the_space(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    models = registry()
    assert (await models.embedder(BUILTIN_SPACE)).space == BUILTIN_SPACE
    assert (await models.embedder(OLLAMA_SPACE)).space == OLLAMA_SPACE
    with pytest.raises(EmbeddingUnavailableError, match="'gone:latest' is not installed"):
        await models.embedder(EmbeddingSpace("gone:latest", 8))


@pytest.mark.parametrize(
    ("reply", "fields", "reason"),
    [
        ({"endpoint": "embed", "status": 500, "error": "out of memory"}, {}, "out of memory"),
        (
            {"endpoint": "tags", "delay_s": 30},
            {"LIST_TIMEOUT_S": 0.05},
            r"Ollama timed out after 0\.05 s",
        ),
        ({"times": 0}, {"embed_model": "gone"}, "ollama pull gone"),
    ],
)
async def test_a_model_that_fails_is_no_reason_to_embed_a_new_collection_otherwise(
    ollama: OllamaServer,
    registry: RegistryMaker,
    reply: dict[str, object],
    fields: dict[str, object],
    reason: str,
) -> None:
    ollama.reply(**reply)
    with pytest.raises(EmbeddingUnavailableError, match=reason):
        await registry(**fields).default_embedder()


@pytest.mark.parametrize("kind", ["ollama", "openai"])
async def test_a_list_of_models_that_has_no_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(server, "LIST_TIMEOUT_S", 30.0)
    with WebServer() as web:
        web.drips = b" " * 200_000
        headers = {"Content-Type": "application/json", "Content-Length": "10000000000"}
        web.answer = lambda *_: (200, headers, b"")  # type: ignore[method-assign]
        address = (
            {"base_url": web.url}
            if kind == "ollama"
            else {"server": "openai", "url": f"{web.url}/v1"}
        )
        models = ModelRegistry(OllamaSettings(**address))
        status = await models.status()
        await models.close()
    assert not status.reachable and "too large" in status.reason
