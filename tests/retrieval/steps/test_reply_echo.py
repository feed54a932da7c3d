"""Replies that are copied from the prompt."""

from __future__ import annotations

import pytest

from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt
from retrieval.steps.reply_echo import without_echo
from retrieval.steps.schemas import (
    ChosenRoute,
    CondensedQuestion,
    ConsolidatedFact,
    RewrittenQueries,
    RewrittenQuery,
    WebQuery,
)

PROMPT = Prompt(
    name="test",
    hash="",
    system='Write queries, the most useful first.\n- direct_chunk_search: one fact.\n- "queries": 最有用的排在前面。',
    user="Missing: -\n请写 3 条查询。\nQuestion: What does a library card cost?",
)


@pytest.mark.parametrize(
    "copied", ["...", "…", " - ", "Query", "2. 请写 3 条查询。", "The most useful first", "“最有用的排在前面”"]
)
def test_a_reply_of_nothing_but_instructions_counts_as_none(copied: str) -> None:
    with pytest.raises(ModelOutputError, match="repeated its instructions"):
        without_echo(WebQuery(query=copied), PROMPT)


def test_copied_entries_fall_out_and_the_others_stay() -> None:
    reply = RewrittenQueries(queries=["...", "library card fee", "the most useful first"])
    assert without_echo(reply, PROMPT).queries == ["library card fee"]


def test_a_copied_reason_becomes_empty() -> None:
    reply = RewrittenQuery(rewrite_reason="Write queries, the most useful first.", rewritten_query="card fee")
    assert without_echo(reply, PROMPT) == RewrittenQuery(rewrite_reason="", rewritten_query="card fee")


def test_a_choice_out_of_a_list_stands_in_the_instructions_anyway() -> None:
    reply = ChosenRoute(route="direct_chunk_search", standalone_question="...", queries=[])
    assert without_echo(reply, PROMPT).route == "direct_chunk_search"


def test_the_words_of_the_question_are_no_echo() -> None:
    reply = WebQuery(query="What does a library card cost?")
    assert without_echo(reply, PROMPT) is reply


def test_a_few_common_words_are_no_echo() -> None:
    reply = WebQuery(query="useful first")
    assert without_echo(reply, PROMPT) is reply


def test_an_empty_text_is_no_echo() -> None:
    reply = RewrittenQuery(rewrite_reason="", rewritten_query="card fee")
    assert without_echo(reply, PROMPT) is reply


def test_a_text_that_goes_in_circles_counts_as_none() -> None:
    with pytest.raises(ModelOutputError, match="or itself"):
        without_echo(WebQuery(query="Is a card free? " + "Students should have a card. " * 6 + "Students sho"), PROMPT)


def test_a_word_that_returns_is_no_circle() -> None:
    reply = WebQuery(query="library card fee, library card loss, library card renewal")
    assert without_echo(reply, PROMPT) is reply


@pytest.mark.parametrize(
    "text",
    [
        "Rail in first class is not reimbursed. Taxi fares are not reimbursed. Hotel minibars are not reimbursed.",
        "After 5 years 20 working days, after 10 years 30 working days, after 15 years 40 working days",
        "头等舱机票费用一律不予报销且不得补贴。出租车费用一律不予报销且不得补贴。酒吧费用一律不予报销且不得补贴。",
    ],
)
def test_sentences_that_end_alike_are_no_circle(text: str) -> None:
    reply = WebQuery(query=text)
    assert without_echo(reply, PROMPT) is reply


@pytest.mark.parametrize("unit", ["ha", "card fee ", "图书证补办", "Is it free? No, it is not free at all. "])
def test_a_circle_of_any_length_is_seen(unit: str) -> None:
    with pytest.raises(ModelOutputError, match="or itself"):
        without_echo(WebQuery(query="Library: " + unit * 20 + unit[: len(unit) // 2]), PROMPT)


def test_a_query_that_is_numbered_is_no_echo() -> None:
    reply = WebQuery(query="1. library card fee")
    assert without_echo(reply, PROMPT) is reply


@pytest.mark.parametrize(
    "sentence",
    ["Full-time employees have 25 days of annual leave.", "全职员工每年有25天年假。", "全職員工每年有25天年假。"],
)
def test_an_answer_of_one_sentence_may_be_remembered_as_it_is(sentence: str) -> None:
    prompt = Prompt(name="test", hash="", system="", user=f"<answer>\n{sentence}\n</answer>\n\nQuestion: How many?")
    reply = ConsolidatedFact(fact=sentence)
    assert without_echo(reply, prompt) is reply


def test_a_line_of_a_longer_message_may_be_the_question() -> None:
    prompt = Prompt(name="test", hash="", system="", user="Question: Hello,\n借书证丢了怎么补办？\n谢谢！")
    reply = CondensedQuestion(standalone_question="借书证丢了怎么补办？")
    assert without_echo(reply, prompt) is reply


def test_what_may_quote_is_no_copy_of_the_instructions_all_the_same() -> None:
    with pytest.raises(ModelOutputError, match="repeated its instructions"):
        without_echo(CondensedQuestion(standalone_question="The most useful first"), PROMPT)
