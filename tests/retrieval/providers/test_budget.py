"""A prompt is never cut silently: what is left out is told, and what does not fit is refused before it is sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.errors import ModelOutputError
from retrieval.providers.budget import fit_history, fit_passages, prompt_budget
from retrieval.text.tokens import estimate_tokens
from retrieval.values import HistoryMessage
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt


def words(count: int) -> str:
    return "abc " * count  # a token each


def test_passages_that_do_not_fit_are_told() -> None:
    passages = [words(40), words(90), words(30), words(50)]
    fitted = fit_passages(passages, tokens=100, text=str)
    assert fitted.kept == (passages[0], passages[2])
    assert fitted.dropped == (passages[1], passages[3])
    assert fitted.tokens == 70
    assert fitted.note("passages") == "2 of 4 passages left out: the context is full"


def test_nothing_is_said_when_all_fit() -> None:
    assert fit_passages(["a"], tokens=10, text=str).note("passages") == ""


def test_history_keeps_the_newest_without_a_gap() -> None:
    history = [HistoryMessage("user", words(size)) for size in (5, 60, 10, 20)]
    fitted = fit_history(history, tokens=50)
    assert fitted.kept == tuple(history[2:])
    assert fitted.dropped == tuple(history[:2])


@given(st.lists(st.text(max_size=60), max_size=12), st.integers(0, 80))
def test_kept_and_dropped_are_everything_and_fit(passages: list[str], tokens: int) -> None:
    fitted = fit_passages(passages, tokens=tokens, text=str)
    assert sorted(fitted.kept + fitted.dropped) == sorted(passages)
    assert sum(map(estimate_tokens, fitted.kept)) == fitted.tokens <= tokens


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
