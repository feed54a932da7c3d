"""A prompt is never cut silently: what does not fit is refused before it is sent."""

from __future__ import annotations

import pytest

from retrieval.errors import ModelOutputError
from retrieval.providers.ollama import prompt_budget
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt


def words(count: int) -> str:
    return "abc " * count  # a token each


def test_model_trained_for_less_has_a_smaller_budget() -> None:
    assert prompt_budget(num_ctx=8192, max_answer_tokens=1024) == 7104
    assert prompt_budget(num_ctx=8192, max_answer_tokens=1024, context_length=2048) == 960


async def test_prompt_that_fits_exactly_is_sent_whole(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="ok")
    model = await registry(num_ctx=2048, max_answer_tokens=100).chat("answer")
    user = words(model.prompt_budget)
    _ = [piece async for piece in model.stream(make_prompt(user, system=""))]
    assert ollama.chats[0].body["messages"][1]["content"] == user


@pytest.mark.parametrize("context_length", [2048, 1_000_000])
async def test_prompt_over_the_budget_is_refused_unsent(
    ollama: OllamaServer, registry: RegistryMaker, context_length: int
) -> None:
    ollama.add_model("m", "completion", context_length=context_length)
    model = await registry(chat_model="m", num_ctx=4096).chat("answer")
    prompt = make_prompt(words(model.prompt_budget + 1), system="")
    with pytest.raises(ModelOutputError, match=r"prompt test has about \d+ tokens, and only \d+ fit"):
        _ = [piece async for piece in model.stream(prompt)]
    assert ollama.chats == []
