from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.query.query_rewriter import CorrectiveRewrite, Wanted
from retrieval.steps.step import Asked
from retrieval.values import AnswerOptions
from retrieval.workflows.dual_loop.strategy import available_strategies, next_strategy, route_by_rule, why_not_available
from tests.retrieval.steps.fakes import EMPTY_SCOPE, ask, context, make_tools

ALL = ("hierarchical_search", "direct_chunk_search", "web_search")


def test_the_web_is_available_where_it_is_configured_unless_the_request_says_no() -> None:
    tools = make_tools(settings.RAG)
    online = replace(tools, web=object())  # type: ignore[arg-type]
    question = ask("What is new?")
    without = ask("What is new?", options=AnswerOptions(web_search=False))
    assert available_strategies(question, tools) == ALL[:2]
    assert available_strategies(question, online) == ALL
    assert available_strategies(without, online) == ALL[:2]
    assert why_not_available(without, online, ALL[:2]) == {"web_search": "switched off for this question"}


def test_without_documents_only_the_web_is_left() -> None:
    tools = make_tools(settings.RAG)
    question = ask("What is new?", scope=EMPTY_SCOPE)
    assert available_strategies(question, tools) == ()
    assert available_strategies(question, replace(tools, web=object())) == ("web_search",)  # type: ignore[arg-type]


def test_every_strategy_is_tried_once() -> None:
    tried: list[Any] = []
    while following := next_strategy(tried, ALL):
        tried.append(following)
    assert tried == list(ALL)


@pytest.mark.parametrize(
    ("question", "route"),
    [
        ("How much is the late fee?", "direct_chunk_search"),
        ("What does NLU-E107 mean?", "direct_chunk_search"),
        ("奖学金多少钱？", "direct_chunk_search"),
        ("Explain the housing policy", "hierarchical_search"),
        ("请概述住宿办法", "hierarchical_search"),
    ],
)
def test_without_a_model_one_fact_is_looked_for_among_chunks_and_a_topic_by_documents(
    question: str, route: str
) -> None:
    assert route_by_rule(question, ALL) == route


async def test_without_a_model_the_correction_looks_for_what_was_missing(offline: None) -> None:
    rag = settings.RAG
    text = "Can you tell me the late fee?"
    wanted = Wanted(asked=Asked(ask(text), text), answer="It is high.", missing="amount in euro", tried=(text,))
    queries = await CorrectiveRewrite(context(make_tools(rag)))(wanted)
    texts = [query.text for query in queries]
    assert "amount in euro" in texts
    assert "Can you tell me the late fee?" not in texts


async def test_queries_that_were_tried_are_not_tried_again(online: Any) -> None:
    rag = settings.RAG
    online.reply(match="was rejected", json={"queries": ["late fee", "Overdue charge", "overdue charge"]})
    wanted = Wanted(asked=Asked(ask("What is it?"), "What is it?"), answer="x", tried=("What is it?", "late fee"))
    queries = await CorrectiveRewrite(context(make_tools(rag)))(wanted)
    assert [query.text for query in queries] == ["Overdue charge"]
