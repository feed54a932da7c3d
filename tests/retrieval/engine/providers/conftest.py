from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.ports import Prompt
from retrieval.engine.providers import chat, registry, server
from retrieval.engine.providers import ollama as ollama_module
from retrieval.engine.providers.registry import ModelRegistry
from tests.ollama_server import OllamaServer

RegistryMaker = Callable[..., ModelRegistry]


def make_prompt(user: str = "Say something", system: str = "You help.") -> Prompt:
    return Prompt(name="test", hash="abc", system=system, user=user)


async def answer(registry: ModelRegistry, user: str = "Say something") -> str:
    model = await registry.chat("answer")
    return "".join([piece async for piece in model.stream(make_prompt(user))])


def settings_for(ollama: OllamaServer, **fields: Any) -> OllamaSettings:
    """Short limits, so that a test of a time limit takes no time."""
    short = {
        "first_token_timeout_s": 2.0, "structured_timeout_s": 2.0, "embed_timeout_s": 2.0,
    }  # fmt: skip
    return OllamaSettings(base_url=ollama.url, **{**short, **fields})


@pytest.fixture(name="registry")
async def registry_maker(
    ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RegistryMaker]:
    """Makes registries for the simulated server: `registry(num_ctx=2048)`, or with another constant:
    `registry(LISTED_EVERY_S=60)`."""
    monkeypatch.setattr(chat, "BETWEEN_TOKENS_TIMEOUT_S", 2.0)
    monkeypatch.setattr(ollama_module, "BUSY_RETRY_S", 0.01)
    made: list[ModelRegistry] = []

    def make(**fields: Any) -> ModelRegistry:
        for name in [name for name in fields if name.isupper()]:
            module = next(
                module
                for module in (chat, registry, ollama_module, server)
                if hasattr(module, name)
            )
            monkeypatch.setattr(module, name, fields.pop(name))
        made.append(ModelRegistry(settings_for(ollama, **fields)))
        return made[-1]

    yield make
    for each in made:
        await each.close()
