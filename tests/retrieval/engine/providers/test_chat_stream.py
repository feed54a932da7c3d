"""Streamed answers: every way in which a model server fails is one of the engine's errors, with a reason for people."""

from __future__ import annotations

import asyncio

import pytest

from retrieval.engine.errors import (
    ModelCutError,
    ModelError,
    ModelInterruptedError,
    ModelOutputError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from retrieval.engine.providers.registry import ModelRegistry
from tests.ollama_server import OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker, answer, make_prompt

TEN_WORDS = "one two three four five six seven eight nine ten"


async def answer_until_broken(registry: ModelRegistry) -> tuple[str, ModelError]:
    pieces: list[str] = []
    model = await registry.chat("answer")
    with pytest.raises(ModelError) as caught:
        async for piece in model.stream(make_prompt()):
            pieces.append(piece)
    return "".join(pieces), caught.value


async def test_num_ctx_limit_and_keep_alive_go_with_every_call(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    models = registry(num_ctx=4096, max_answer_tokens=300, keep_alive_s=420)
    await answer(models)
    await (await models.default_embedder()).embed_documents(["a"])
    assert [request.body["options"]["num_ctx"] for request in ollama.chats + ollama.embeds] == [
        4096,
        4096,
        4096,
    ]
    assert ollama.chats[0].body["options"]["num_predict"] == 300
    assert (ollama.chats[0].body["keep_alive"], ollama.embeds[0].body["keep_alive"]) == (420, 420)


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (
            {"status": 404, "error": "model 'x' not found"},
            ModelUnavailableError,
            "not installed: ollama pull test-chat",
        ),
        (
            {"status": 400, "error": "invalid options"},
            ModelOutputError,
            "refused the request: invalid options",
        ),
        (
            {"status": 500, "error": "out of memory"},
            ModelUnavailableError,
            r"failed \(HTTP 500\).*out of memory",
        ),
        ({"status": 503, "error": "server busy"}, ModelUnavailableError, "too busy"),
        ({"disconnect_after": 0}, ModelUnavailableError, "closed the connection"),
        (
            {"error_after": 0, "error": "no memory"},
            ModelUnavailableError,
            "Ollama failed: no memory",
        ),
        ({"malformed_after": 0}, ModelOutputError, "could not be read"),
        ({"text": ""}, ModelOutputError, "empty answer"),
        ({"text": "   \n"}, ModelOutputError, "empty answer"),
        ({"text": "", "missing_end": True}, ModelError, "could not be read|closed the connection"),
        ({"text": "", "done_reason": "length"}, ModelOutputError, "empty answer"),
        ({"text": "<think> The fee may be 4"}, ModelOutputError, "thought and came to no answer"),
    ],
)
async def test_failure_before_the_first_piece_has_its_reason(
    ollama: OllamaServer,
    registry: RegistryMaker,
    reply: dict[str, object],
    kind: type[ModelError],
    reason: str,
) -> None:
    ollama.reply(**reply)
    with pytest.raises(kind, match=reason) as caught:
        await answer(registry())
    assert not isinstance(caught.value, ModelInterruptedError)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"disconnect_after": 4}, "broke off: Ollama closed the connection"),
        ({"error_after": 4}, "broke off: Ollama failed: model runner has unexpectedly stopped"),
        ({"malformed_after": 4}, "broke off: Ollama sent something that could not be read"),
        ({"stall_after": 4}, "broke off: Ollama timed out after 0.05 s"),
        ({"missing_end": True}, "broke off: Ollama closed the connection"),
    ],
)
async def test_break_after_the_first_piece_is_an_interruption_and_keeps_what_came(
    ollama: OllamaServer, registry: RegistryMaker, reply: dict[str, object], reason: str
) -> None:
    ollama.reply(text="one two three four", **reply)
    text, error = await answer_until_broken(registry(BETWEEN_TOKENS_TIMEOUT_S=0.05))
    assert text == "one two three four"
    assert isinstance(error, ModelInterruptedError)
    assert reason in error.reason


async def test_answer_at_its_length_limit_is_told_from_a_whole_one(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text=TEN_WORDS)
    text, error = await answer_until_broken(registry(max_answer_tokens=4))
    assert text == "one two three four"
    assert isinstance(error, ModelCutError)
    assert "limit of 4 tokens" in error.reason


async def test_endless_answer_ends_although_the_server_ignores_num_predict(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text="start", endless=True)
    text, error = await answer_until_broken(registry(max_answer_tokens=30))
    assert isinstance(error, ModelCutError)
    assert 30 <= len(text.split()) <= 40
    assert await asyncio.to_thread(ollama.chats[0].wait_client_closed)


async def test_whole_answer_has_a_limit_too(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(endless=True, token_delay_s=0.01)
    text, error = await answer_until_broken(registry(STREAM_TIMEOUT_S=0.1))
    assert text
    assert isinstance(error, ModelInterruptedError)
    assert "timed out after 0.1 s" in error.reason


async def test_an_answer_may_take_all_of_its_time_for_the_first_token(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text="now", delay_s=0.5)
    assert await answer(registry(first_token_timeout_s=30, STREAM_TIMEOUT_S=0.2)) == "now"


async def test_busy_server_is_asked_once_more(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(status=503, error="server busy", times=1)
    ollama.reply(text="now")
    assert await answer(registry()) == "now"
    assert len(ollama.chats) == 2


@pytest.mark.parametrize("reply", [{"stall_after": 0}, {"stall_after": 3}, {"delay_s": 30}])
async def test_cancelling_the_task_closes_the_connection_to_the_model(
    ollama: OllamaServer, registry: RegistryMaker, reply: dict[str, object]
) -> None:
    ollama.reply(text=TEN_WORDS, **reply)
    models = registry()
    task = asyncio.create_task(answer(models))
    while not ollama.chats:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ollama.chats[0].wait_client_closed)


async def test_no_more_calls_at_once_than_allowed(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text="a", delay_s=0.03)
    models = registry(max_concurrency=2)
    answers = await asyncio.gather(*(answer(models, f"question {number}") for number in range(6)))
    assert answers == ["a"] * 6
    assert ollama.most_at_once == 2


# ------------------------------------------------------------------------------------------------ thoughts
async def test_thinking_model_is_told_not_to_think(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.add_model("thinker", "completion", "thinking")
    assert await answer(registry(chat_model="thinker"))
    assert ollama.chats[0].body["think"] is False


# ------------------------------------------------------------------------------------------------ a failing server
async def test_failing_server_is_left_alone_until_it_is_well(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(status=500, times=2)
    ollama.reply(text="well again")
    models = registry(FAILURES=2, RESET_S=0.1)
    for _ in range(5):
        with pytest.raises(ModelUnavailableError):
            await answer(models)
    assert len(ollama.chats) == 2
    await asyncio.sleep(0.12)
    assert [await answer(models) for _ in range(2)] == ["well again"] * 2


async def test_waiting_for_a_place_has_a_limit(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text="a", token_delay_s=0.3, times=1)
    models = registry(max_concurrency=1, first_token_timeout_s=0.1)
    first = asyncio.create_task(answer(models))
    while not ollama.chats:
        await asyncio.sleep(0.005)
    with pytest.raises(ModelTimeoutError, match=r"no model call was free for 0\.1 s"):
        await answer(models)
    assert await first == "a"


# ------------------------------------------------------------------------------------------------ prompts that fit


@pytest.mark.parametrize(("context_length", "budget"), [(2048, 960), (1_000_000, 3008)])
async def test_prompt_over_the_budget_is_refused_unsent(
    ollama: OllamaServer, registry: RegistryMaker, context_length: int, budget: int
) -> None:
    ollama.add_model("m", "completion", context_length=context_length)
    model = await registry(chat_model="m", num_ctx=4096).chat("answer")
    assert model.prompt_budget == budget
    with pytest.raises(
        ModelOutputError, match=r"prompt test has about \d+ tokens, and only \d+ fit"
    ):
        _ = [piece async for piece in model.stream(make_prompt("abc " * (budget + 1), system=""))]
    assert ollama.chats == []
