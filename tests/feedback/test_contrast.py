"""Contrast questions: a rated question changed in one place."""

from __future__ import annotations

import pytest

from feedback.ranking.contrast import Contrast, changed, contrasts_of
from retrieval.answerability.oppositions import turned_round
from retrieval.text.analysis import query_terms

NAMES = ["Oxford", "Cambridge", "教师手册"]


def one_change(text: str, change: str) -> str:
    return dict(changed(text, NAMES)).get(change, "")


def made(*texts: str, limit: int = 60) -> list[Contrast]:
    questions = dict(enumerate(texts))
    return contrasts_of(questions, {key: query_terms(text) for key, text in questions.items()}, limit=limit)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("What were the fees in 2024?", "What were the fees in 2021?"),
        ("How long may I keep 10 books?", "How long may I keep 30 books?"),
        ("What does rule 4 say of 2.5 credits?", "What does rule 4 say of 2.7 credits?"),
        ("2024年的学费是多少？", "2021年的学费是多少？"),
        ("2024年的學費是多少？", "2021年的學費是多少？"),
    ],
)
def test_the_last_number_is_changed(text: str, other: str) -> None:
    assert one_change(text, "another number") == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("May I eat before class?", "May I eat after class?"),
        ("How do I enable single sign-on?", "How do I disable single sign-on?"),
        ("What is enabled by default?", "What is disabled by default?"),
        ("注册之前要做什么？", "注册之后要做什么？"),
        ("如何啟用雙重驗證？", "如何關閉雙重驗證？"),
    ],
)
def test_a_word_is_changed_into_its_opposite(text: str, other: str) -> None:
    turned = one_change(text, "the opposite")
    assert turned
    assert turned != text
    if text.isascii() or "之前" in text:
        assert turned == other


@pytest.mark.parametrize("text", ["Where is the right form found?", "What do I like?", "哪里有表格？", ""])
def test_words_of_several_meanings_have_no_opposite(text: str) -> None:
    assert turned_round(text) == ""


def test_a_name_is_changed_into_another_rated_questions_name() -> None:
    questions = [one.text for one in made("When was the Oxford library built?", "Who leads the Cambridge museum?")]
    assert "When was the Cambridge library built?" in questions
    assert "Who leads the Oxford museum?" in questions


def test_a_question_is_negated_in_its_own_script() -> None:
    assert one_change("Which students may use the pool?", "negated") == "Which students may not use the pool?"
    assert one_change("哪些学生需要缴费？", "negated") == "哪些学生不需要缴费？"
    assert one_change("哪些學生需要繳費？", "negated") == "哪些學生不需要繳費？"


@pytest.mark.parametrize(
    "text", ["May I use the pool?", "Which rules do not apply?", "我可以用泳池吗？", "哪些不包括？"]
)
def test_a_question_of_yes_or_no_or_a_negated_one_is_not_negated(text: str) -> None:
    assert one_change(text, "negated") == ""


def test_a_contrast_question_that_asks_what_another_rated_one_asks_is_left_out() -> None:
    texts = [one.text for one in made("What were the fees in 2024?", "What were the fees in 2021?")]
    assert "What were the fees in 2021?" not in texts


def test_a_question_in_which_nothing_can_be_changed_has_no_contrast() -> None:
    assert made("Opening hours") == []
    assert made("") == []


def test_every_question_has_one_before_any_has_a_second() -> None:
    found = made("Which fees must be paid in 2024?", "Which fees must students pay before class?", limit=3)
    assert [one.question for one in found] == [0, 1, 0]


def test_a_text_too_long_to_be_a_question_is_left_alone() -> None:
    assert list(changed("May I eat before class? " * 50, NAMES)) == []


def test_the_same_questions_give_the_same_contrasts() -> None:
    texts = ("When was the Oxford library built?", "Who leads the Cambridge museum?", "Where is Durham Hall?")
    assert made(*texts) == made(*texts)
