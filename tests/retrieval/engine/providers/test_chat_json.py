"""Structured calls: a validated object, or an error; a time limit."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from retrieval.engine.errors import ModelOutputError, ModelTimeoutError
from tests.ollama_server import OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker, make_prompt


class Verdict(BaseModel):
    score: float = Field(ge=0, le=1)
    verdict: Literal["yes", "no"]


GOOD = {"score": 0.5, "verdict": "yes"}


async def judge(registry: RegistryMaker, **fields: object) -> Verdict:
    model = await registry(**fields).chat("fast")
    return await model.complete_json(make_prompt("Judge: yes or no?"), Verdict)


async def test_schema_is_sent_and_the_answer_validated(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(json=GOOD)
    assert await judge(registry) == Verdict(score=0.5, verdict="yes")
    assert ollama.chats[0].body["format"] == {
        "type": "object",
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "verdict": {"enum": ["yes", "no"]},
        },
        "required": ["score", "verdict"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (
            {"json": {"score": 7, "verdict": "yes"}},
            "score: Input should be less than or equal to 1",
        ),
        ({"json": {"score": 0.1, "verdict": "perhaps"}}, "verdict: Input should be 'yes' or 'no'"),
        ({"text": "I think yes."}, "Invalid JSON"),
        ({"text": '{"score": 0.5 "verdict": "yes"}'}, "Invalid JSON"),
        ({"text": '{"score": 0.5, "verdict": "yes"'}, "Invalid JSON"),
        ({"text": '{"score": 0.', "done_reason": "length"}, "Invalid JSON"),
    ],
)
async def test_a_wrong_answer_is_an_error_that_says_what_is_wrong(
    ollama: OllamaServer, registry: RegistryMaker, bad: dict[str, object], problem: str
) -> None:
    ollama.reply(**bad)
    with pytest.raises(ModelOutputError, match=problem):
        await judge(registry)


@pytest.mark.parametrize("reply", [{"delay_s": 30}, {"text": "{ " * 900, "token_delay_s": 0.02}])
async def test_whole_call_has_one_time_limit(
    ollama: OllamaServer, registry: RegistryMaker, reply: dict[str, object]
) -> None:
    ollama.reply(**reply)
    with pytest.raises(ModelTimeoutError, match=r"Ollama timed out after 0\.15 s"):
        await judge(registry, structured_timeout_s=0.15)
    assert await asyncio.to_thread(ollama.chats[0].wait_client_closed)


async def test_slow_structured_calls_do_not_open_the_circuit(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(structured=True, delay_s=30)
    ollama.reply(text="It is 5.")
    models = registry(structured_timeout_s=0.05, FAILURES=1)
    model = await models.chat("fast")
    for _ in range(3):
        with pytest.raises(ModelTimeoutError):
            await model.complete_json(make_prompt(), Verdict)
    assert [piece async for piece in model.stream(make_prompt())]


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"score": 0.5, "verdict": "yes"}\n```',
        'Here it is:\n\n```\n{"score": 0.5, "verdict": "yes"}\n```\nI hope that helps {really}.',
        'Sure! {"score": 0.5, "verdict": "yes"}',
        'First {"score": 0.1, "verdict": "no"}, but then: {"score": 0.5, "verdict": "yes"}. {"note": "done"}',
        '<think>{"score": 0.1, "verdict": "no"}?</think>{"score": 0.5, "verdict": "yes"}',
        'Perhaps {"score": 0.1, "verdict": "no"}?\n</think>\n{"score": 0.5, "verdict": "yes"}',
        '<|channel|>final <|constrain|>json<|message|>{"score": 0.5, "verdict": "yes"}<|return|>',
    ],
)
async def test_json_is_taken_out_of_what_stands_around_it(
    ollama: OllamaServer, registry: RegistryMaker, written: str
) -> None:
    ollama.reply(text=written)
    assert await judge(registry) == Verdict(**GOOD)
    assert len(ollama.chats) == 1


async def test_where_no_json_came_it_is_asked_once_more_in_a_prompt_that_shows_the_form(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text="I say yes.", times=1)
    ollama.reply(text='{"score": 0.5, "verdict": "yes"}')
    assert await judge(registry) == Verdict(**GOOD)
    first, second = ollama.chats
    assert '{"score": number from 0 to 1, "verdict": "yes" or "no"}' in second.prompt
    assert "number from 0" not in first.prompt


async def test_it_is_not_asked_a_third_time(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="I say yes.")
    with pytest.raises(ModelOutputError, match="Invalid JSON"):
        await judge(registry)
    assert len(ollama.chats) == 2


async def test_a_reply_that_is_held_to_the_form_is_not_asked_for_again(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(json={"score": 7, "verdict": "yes"})
    with pytest.raises(ModelOutputError):
        await judge(registry)
    assert len(ollama.chats) == 1


async def test_a_model_that_ignores_the_form_is_shown_it_from_then_on(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text='Sure: {"score": 0.5, "verdict": "yes"}')
    models = registry()
    assert (await models.status()).ignoring_format == ()
    model = await models.chat("fast")
    await model.complete_json(make_prompt(), Verdict)
    await model.complete_json(make_prompt(), Verdict)
    assert ["of this form" in chat.prompt for chat in ollama.chats] == [False, True]
    assert (await models.status()).ignoring_format == ("test-chat:latest",)
