"""Thoughts in an answer: nobody reads them, however they come; and models that can't be told not to think."""

from __future__ import annotations

import time

import pytest
from pydantic import BaseModel

from retrieval.errors import ModelOutputError
from retrieval.providers.ollama import THINKING_TOKENS
from retrieval.providers.registry import ModelRegistry
from retrieval.providers.thinking import ThinkingFilter, without_thoughts
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt

TOLD = "{{ if .Think }}think{{ else }}/no_think{{ end }}{{ .Thinking }}"
NEVER_TOLD = "{{ .System }}{{ .Thinking }}"


class Verdict(BaseModel):
    good: bool


def filtered(pieces: list[str]) -> str:
    thoughts = ThinkingFilter()
    return "".join([thoughts.feed(piece) for piece in pieces] + [thoughts.finish()])


WRITTEN = [
    ("It is 5 [1].", "It is 5 [1]."),
    ("<think>Hm, 4?</think>It is 5.", "It is 5."),
    ("\n <think>\nHm\n</think>\n\nIt is 5.", "It is 5."),
    ("<thinking>Hm</thinking> It is 5.", "It is 5."),
    ("<THINK>Hm</THINK>It is 5.", "It is 5."),
    ("<think>a<think>b</think>c</think>It is 5.", "It is 5."),
    ("<think>one</think><think>two</think>It is 5.", "It is 5."),
    ("<think>Shall I write <think> here?</think>It is 5.", "It is 5."),
    ("</think>It is 5.", "It is 5."),
    ("<think>Hm, a < b and so", ""),
    ("<think>one</think><think>two, and cut", ""),
    ("<think></think>", ""),
    ("<thin ice", "<thin ice"),
    ("<", "<"),
    ("Write `<think>` to begin and `</think>` to end.", "Write `<think>` to begin and `</think>` to end."),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("written", "read"), WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_thoughts_at_the_beginning_are_taken_out_however_they_are_cut(written: str, read: str, size: int) -> None:
    assert filtered([written[start : start + size] for start in range(0, len(written), size)]) == read


def test_a_long_answer_of_open_marks_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        filtered(["<think>", *(["<"] * count), *(["a<think"] * count)])
        return time.process_time() - began

    seconds(1000)
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)


def test_an_end_without_a_beginning_ends_the_thoughts_of_a_whole_reply() -> None:
    assert without_thoughts('Hm, is {"good": no}?</think>{"good": true}') == '{"good": true}'


async def answer(registry: ModelRegistry) -> str:
    model = await registry.chat("answer")
    return "".join([piece async for piece in model.stream(make_prompt())])


async def test_a_reader_gets_the_answer_alone(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="<think> The fee may be 4 </think> It is 5 [1].")
    assert await answer(registry()) == "It is 5 [1]."


async def test_an_answer_of_thoughts_alone_is_empty_and_says_so(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="<think> The fee may be 4")
    with pytest.raises(ModelOutputError, match="empty answer: it only thought"):
        await answer(registry())


async def test_thoughts_before_json_do_not_spoil_it(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text='<think>Hm</think>{"good": true}')
    model = await registry().chat("fast")
    assert (await model.complete_json(make_prompt(), Verdict)).good
    assert len(ollama.chats) == 1


async def test_a_model_seen_thinking_gets_room_and_a_warning(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="<think> Hm </think> It is 5.")
    models = registry(max_answer_tokens=300)
    assert (await models.status()).warnings == ()
    await answer(models)
    await answer(models)
    rooms = [request.body["options"]["num_predict"] for request in ollama.chats]
    assert rooms == [300, 300 + THINKING_TOKENS]
    assert "can't be told not to think" in (await models.status()).warnings[0]


async def test_one_answer_with_thoughts_is_no_habit(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(text="<think> Hm </think> It is 5.", times=1)
    ollama.reply(text="It is 5.")
    models = registry(max_answer_tokens=300)
    for _ in range(3):
        await answer(models)
    rooms = [request.body["options"]["num_predict"] for request in ollama.chats]
    assert rooms == [300, 300 + THINKING_TOKENS, 300]
    assert (await models.status()).warnings == ()


async def test_room_for_thoughts_stays_within_the_context(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.add_model("thinker", "completion", "thinking", template=NEVER_TOLD)
    await answer(registry(chat_model="thinker", num_ctx=1024, max_answer_tokens=300))
    assert 300 < ollama.chats[0].body["options"]["num_predict"] < 1024


async def test_a_template_that_ignores_it_is_not_told(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.add_model("thinker", "completion", "thinking", template=NEVER_TOLD)
    models = registry(chat_model="thinker")
    assert (await models.status()).warnings
    await answer(models)
    assert ollama.chats[0].body.get("think") is None


async def test_a_template_that_heeds_it_is_told_and_no_warning(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.add_model("thinker", "completion", "thinking", template=TOLD)
    models = registry(chat_model="thinker")
    await answer(models)
    assert ollama.chats[0].body["think"] is False
    assert (await models.status()).warnings == ()


async def test_a_server_that_refuses_to_be_told_is_asked_again_without(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.add_model("thinker", "completion", "thinking")
    ollama.reply(status=400, error='think value "false" is not supported for this model', times=1)
    ollama.reply(text="It is 5.")
    models = registry(chat_model="thinker")
    assert await answer(models) == "It is 5."
    await answer(models)
    assert [request.body.get("think") for request in ollama.chats] == [False, None, None]
