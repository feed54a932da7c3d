"""Which questions want the same answer."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.engine.text.same_question import KnownQuestions, differ, wording

NEAR = np.asarray([1.0, 0.0], dtype=np.float32)


def same(question: str, known: str, *, cosine: float | None = None) -> bool:
    vector = NEAR if cosine is not None else None
    other = (
        np.asarray([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)
        if cosine is not None
        else None
    )
    return KnownQuestions({1: wording(known, other)}).same(wording(question, vector)) == [1]


def test_what_is_asked_for_makes_another_question() -> None:
    assert not same("When does the shop open?", "Where does the shop open?")


def test_chinese_scripts_are_alike() -> None:
    assert same("年假有幾天？", "年假有几天？")


def test_a_german_noun_is_no_name_that_sets_questions_apart() -> None:
    assert same("Welche Leihfrist gilt?", "Wie lange darf man Bücher behalten?", cosine=0.99)


def test_other_words_are_the_same_where_the_vectors_are_near() -> None:
    assert same("What is the loan limit?", "How many books may I borrow?", cosine=0.99)
    assert not same("What is the loan limit?", "How many books may I borrow?", cosine=0.6)
    assert not same("What is the loan limit?", "How many books may I borrow?")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What were the fees in 2023?", "What were the fees in 2024?"),
        ("May I bring a dog?", "May I not bring a dog?"),
        ("Where is the office in Berlin?", "Where is the office in Hamburg?"),
        ("可以带宠物吗？", "不可以带宠物吗？"),
        ("How is the X200 reset?", "How is the X300 reset?"),
        ("Darf ich einen Hund mitbringen?", "Darf ich keinen Hund mitbringen?"),
        ("Czy mogę przyprowadzić psa?", "Czy nie mogę przyprowadzić psa?"),
        ("Où est le bureau à Lyon ?", "Où est le bureau à Nantes ?"),
        ("犬を連れてきてもいいですか", "猫を連れてきてもいいですか"),
    ],
)
def test_a_number_or_a_single_term_sets_questions_apart_in_any_language(
    one: str, other: str
) -> None:
    assert differ(wording(one), wording(other))
    assert not same(one, other, cosine=0.999)
