"""Thoughts in a reply, in the marks of many model families, however the reply is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.providers.registry import HABITS
from retrieval.engine.providers.thoughts import FRAMES, PAIRS, ThoughtFilter
from tests.ollama_server import OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker, make_prompt

ANSWER = "The kiln is fired on Tuesdays at 14:20. [2]"


def read(reply: str, size: int, *, awaits_end: bool = False) -> tuple[str, ThoughtFilter]:
    thoughts = ThoughtFilter(awaits_end=awaits_end)
    starts = range(0, max(1, len(reply)), size)
    text = ""
    for start in starts:
        for given_text in thoughts.feed(reply[start : start + size], is_last=start == starts[-1]):
            text = "" if given_text is None else text + given_text
    return text, thoughts


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    "reply",
    [
        ANSWER,
        f"<think>hm, 4 or 5?</think>\n\n{ANSWER}",
        f"\n<THINKING>hm</THINKING>{ANSWER}",
        f"<thought>one</thought>\n<thought>two</thought>{ANSWER}",
        f"<reasoning>a < b</reasoning> {ANSWER}",
        f"[THINK]hm[/THINK]{ANSWER}",
        f"◁think▷嗯◁/think▷{ANSWER}",
        f"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
        f"<|channel|>analysis<|message|>hm<|channel|>final<|message|>{ANSWER}",
        f"<|start|>assistant<|channel|>commentary<|message|>hm<|end|><|channel|>final<|message|>{ANSWER}<|end|>more",
        f"<|channel|>final <|constrain|>text<|message|>{ANSWER}",
        f"<|channel>thought\nhm<channel|>{ANSWER}",
        f"<think>hm</think><answer>{ANSWER}</answer>",
        f"hm, 4 or 5?\n</think>\n\n{ANSWER}",
        f"hm, 4 or 5?</thinking>{ANSWER}",
        f"hm\n[/THINK]\n{ANSWER}",
        f"hm</think><answer>{ANSWER}</answer>",
    ],
)
def test_only_the_answer_is_read(reply: str, size: int) -> None:
    assert read(reply, size)[0].strip() == ANSWER


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "Write `</think>` at the end of a thought.",
        "A thought is <think>hm</think> in such a reply.",
        "```xml\nhm\n</think>\n```\nEnds it.",
        "<thin ice>",
        "a </thin b",
        "I think [THIN] is no mark",
        " continued",
        "◁",
        "<",
    ],
)
def test_the_same_marks_further_on_and_in_code_are_text(text: str, size: int) -> None:
    assert read(text, size)[0] == text


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    "reply", ["<think>hm and no end", "[THINK]hm </think> x", "<|channel|>analysis<|message|>hm"]
)
def test_thoughts_without_an_end_are_no_answer_and_are_told(reply: str, size: int) -> None:
    text, thoughts = read(reply, size)
    assert text == ""
    assert thoughts.unended


@pytest.mark.parametrize("awaits_end", [True, False])
def test_a_reply_that_needs_no_thoughts_is_whole(awaits_end: bool) -> None:
    text, thoughts = read(ANSWER, 4, awaits_end=awaits_end)
    assert (text, thoughts.unended) == (ANSWER, False)


@given(
    st.lists(
        st.sampled_from(
            [mark for pair in (*PAIRS, *FRAMES) for mark in pair]
            + ["hm", " ", "`", "\n", "<", "</"]
        ),
        max_size=8,
    ),
    st.integers(1, 9),
)
def test_the_cuts_change_nothing(parts: list[str], size: int) -> None:
    reply = "".join(parts)
    assert read(reply, size)[0] == read(reply, len(reply) + 1)[0]


# ------------------------------------------------------------------------------------------------ of a served model
async def pieces_of(models) -> list[str | None]:
    model = await models.chat("answer")
    return [piece async for piece in model.stream(make_prompt())]


async def test_thoughts_that_nothing_opened_are_withdrawn_and_from_then_on_held_back(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text=f"hm, 4 or 5? </think> {ANSWER}")
    models = registry()
    first = await pieces_of(models)
    assert "".join(piece for piece in first[first.index(None) + 1 :] if piece) == ANSWER
    assert "".join(piece or "?" for piece in await pieces_of(models)) == ANSWER


async def test_a_model_that_thinks_aloud_may_answer_at_once(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(text=f"hm </think> {ANSWER}", times=1)
    ollama.reply(text=ANSWER)
    models = registry()
    await pieces_of(models)
    assert await pieces_of(models) == [ANSWER]
    assert [
        habits.thinks_aloud
        for (server, _), habits in HABITS.items()
        if server.endswith(f":{ollama.port}")
    ] == [True]
