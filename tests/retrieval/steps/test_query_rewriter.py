from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.steps.query.query_rewriter import KeyConceptRewrite, Wanted
from retrieval.steps.query.wording import why_rewrite, without_chat
from retrieval.steps.step import Asked
from tests.retrieval.steps.fakes import ask, context, make_tools


@pytest.mark.parametrize(
    "message",
    ["深度學習", "fees?", "請幫我找一下關於機器學習的各種資料", "Can you tell me the deposit for a room?",
     "我想知道宿舍押金到底是多少钱"],
)  # fmt: skip
def test_short_and_chatty_messages_are_to_be_rewritten(message: str) -> None:
    assert why_rewrite(message, message, short_chars=10)


@pytest.mark.parametrize("message", ["機器學習中的梯度下降演算法", "What is the deposit for a room in Lakeside hall?"])
def test_clear_messages_are_not(message: str) -> None:
    assert why_rewrite(message, message, short_chars=10) == ""


def test_a_message_that_points_back_is_to_be_rewritten() -> None:
    assert "points back" in why_rewrite("And when does it close?", "Resit? And when does it close?", short_chars=10)


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Can you help me find something about the deposit for a room?", "the deposit for a room"),
        ("請幫我找一下關於機器學習的資料", "機器學習"),
        ("請幫我找一下 ML 的東西", "ML"),
        ("Please find me some information on Wi-Fi", "Wi-Fi"),
        ("deposit for a room", "deposit for a room"),
    ],
)
def test_without_a_model_the_chat_is_taken_away(message: str, query: str) -> None:
    assert without_chat(message) == query


async def test_without_a_model_no_query_comes_twice_and_in_the_end_none(offline) -> None:
    message = "Can you tell me the deposit for a room?"
    step = KeyConceptRewrite(context(make_tools(settings.RAG)))
    tried: list[str] = []
    while queries := await step(Wanted(asked=Asked(ask(message), message), tried=tuple(tried))):
        assert queries[0].text not in tried
        tried.append(queries[0].text)
    assert len(tried) <= 4
