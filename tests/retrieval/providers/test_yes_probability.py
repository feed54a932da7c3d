"""How probable a model's Yes was: told by the server with its first token."""

from __future__ import annotations

import pytest

from retrieval.errors import ModelOutputError, ModelTimeoutError
from retrieval.providers.ollama import yes_against_no
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt


@pytest.fixture
def telling(ollama: OllamaServer) -> OllamaServer:
    ollama.reply(endpoint="version", body={"version": "0.13.5"})
    return ollama


async def test_yes_is_weighed_against_no(telling: OllamaServer, registry: RegistryMaker) -> None:
    telling.reply(text="Yes", likeliest={"Yes": 0.6, "No": 0.2, " yes": 0.0001, "Maybe": 0.1})
    model = await registry().chat("fast")
    assert await model.yes_probability(make_prompt("Is it there?")) == pytest.approx(0.75, abs=0.001)
    [request] = telling.chats
    assert (request.body["logprobs"], request.body["stream"], request.body.get("format")) == (True, False, None)
    assert request.body["options"]["num_predict"] <= 8


async def test_chinese_words_are_read(telling: OllamaServer, registry: RegistryMaker) -> None:
    telling.reply(text="否", likeliest={"否": 0.7, "是": 0.2, "不是": 0.1})
    assert await (await registry().chat("fast")).yes_probability(make_prompt()) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("version", "tells"),
    [
        ("0.12.10", False),
        ("0.12.11", True),
        ("v0.13.0-rc1", True),
        ("1.0.0", True),
        ("0.12.0-sim", False),
        ("?", False),
    ],
)
async def test_the_servers_version_says_whether_it_tells(
    ollama: OllamaServer, registry: RegistryMaker, version: str, tells: bool
) -> None:
    ollama.reply(endpoint="version", body={"version": version})
    model = await registry().chat("fast")
    assert [await model.tells_probabilities(), await model.tells_probabilities()] == [tells, tells]
    assert ollama.count("version") == 1


async def test_a_server_without_a_version_does_not_tell(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(endpoint="version", status=500)
    assert not await (await registry().chat("fast")).tells_probabilities()


async def test_a_server_that_keeps_silent_is_not_asked_again(telling: OllamaServer, registry: RegistryMaker) -> None:
    telling.reply(text="Yes")
    model = await registry().chat("fast")
    with pytest.raises(ModelOutputError, match="does not tell"):
        await model.yes_probability(make_prompt())
    assert not await model.tells_probabilities()


async def test_neither_yes_nor_no_is_no_judgement(telling: OllamaServer, registry: RegistryMaker) -> None:
    telling.reply(text="The", likeliest={"The": 0.8, "Yes": 0.15})
    with pytest.raises(ModelOutputError, match="neither yes nor no"):
        await (await registry().chat("fast")).yes_probability(make_prompt())


async def test_it_has_a_time_limit(telling: OllamaServer, registry: RegistryMaker) -> None:
    telling.reply(text="Yes", stall_after=0)
    model = await registry(structured_timeout_s=0.2).chat("fast")
    with pytest.raises(ModelTimeoutError):
        await model.yes_probability(make_prompt())


def test_a_line_break_before_the_word_is_passed_over() -> None:
    tokens = [
        {"token": "\n", "logprob": -0.1, "top_logprobs": [{"token": "\n", "logprob": -0.1}]},
        {"token": "Yes", "logprob": 0.0, "top_logprobs": []},
    ]
    assert yes_against_no(tokens) == 1.0
