"""Structured calls: a validated object, or an error; a time limit."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from retrieval.errors import ModelOutputError, ModelTimeoutError
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt


class Verdict(BaseModel):
    score: float = Field(ge=0, le=1)
    verdict: Literal["yes", "no"]


GOOD = {"score": 0.5, "verdict": "yes"}


async def judge(registry: RegistryMaker, **fields: object) -> Verdict:
    model = await registry(**fields).chat("fast")
    return await model.complete_json(make_prompt("Judge: yes or no?"), Verdict)


async def test_schema_is_sent_and_the_answer_validated(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(json=GOOD)
    assert await judge(registry) == Verdict(score=0.5, verdict="yes")
    assert ollama.chats[0].body["format"] == {
        "type": "object",
        "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "verdict": {"enum": ["yes", "no"]}},
        "required": ["score", "verdict"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"json": {"score": 7, "verdict": "yes"}}, "score: Input should be less than or equal to 1"),
        ({"json": {"score": 0.1, "verdict": "perhaps"}}, "verdict: Input should be 'yes' or 'no'"),
        ({"text": "I think yes."}, "Invalid JSON"),
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


async def test_slow_structured_calls_do_not_open_the_circuit(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(structured=True, delay_s=30)
    ollama.reply(text="It is 5.")
    models = registry(structured_timeout_s=0.05, FAILURES=1)
    model = await models.chat("fast")
    for _ in range(3):
        with pytest.raises(ModelTimeoutError):
            await model.complete_json(make_prompt(), Verdict)
    assert [piece async for piece in model.stream(make_prompt())]
