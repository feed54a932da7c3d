"""A figure that was asked for and that the model's answer lacks is quoted; nothing else is."""

import pytest

from retrieval.steps.answer.figure_left_out import figure_left_out
from retrieval.values import Scores, Source
from tests.retrieval.steps.fakes import chunk

EXAMS = "Candidates are let in up to 20 minutes after the start. No extra time is given for arriving late."
REFUNDS = (
    "The whole fee is paid back before the first day.\n\n| Day of withdrawal | Refund |\n|---|---|\n"
    "| day 1 to day 14 | 90 % |\n| day 15 to day 42 | 50 % |\n\nFor a term of approved leave no fee is due."
)
LOANS = "Books are lent for four weeks. A lost card costs EUR 10. There is no limit on books. A card is free."


def quoted(question: str, answer: str, text: str, language: str = "en") -> str:
    source = Source(marker=1, chunk=chunk(1, text, title="Regulations (2025)"), scores=Scores(rerank=0.9))
    return figure_left_out(question, answer, [source], language)


@pytest.mark.parametrize(
    ("question", "answer", "text", "quote"),
    [
        ("How many minutes late may I arrive in 2025?", "No extra time is given [1].", EXAMS, "20 minutes after"),
        ("What share of the fee is paid back on day 30?", "No fee is due on approved leave [1].", REFUNDS, "50 %"),
        ("How long is the loan period?", "Books are lent [1].", LOANS, "four weeks"),
        ("How much does a lost card cost?", "A lost card costs something [1].", LOANS, "EUR 10"),
        ("How many books may 12 people have?", "12 people may have books [1].", "Groups have twenty books.", "twenty"),
    ],
)
def test_the_figure_is_quoted_with_its_passage(question: str, answer: str, text: str, quote: str) -> None:
    said = quoted(question, answer, text)
    assert quote in said and said.endswith("[1]") and said.startswith("What the documents say")


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("How long is the loan period?", "Four weeks [1].", LOANS),
        ("How long is the loan period?", "28 days, it seems [1].", LOANS),
        ("How many books may I borrow?", "There is no limit [1].", LOANS),
        ("How much does a card cost?", "It is free of charge [1].", LOANS),
        ("What share of the fee is paid back before the first day?", "The whole fee [1].", REFUNDS),
        ("Who is the dean?", "The dean is a person [1].", LOANS),
        ("When does the term begin?", "After the break [1].", "The term begins on 5 May."),
        ("How many books may I borrow?", "Some books [1].", "These rules of 2025 replace those of 2023."),
        ("How much does a card cost?", "Eine Karte kostet etwas [1].", "图书证工本费为十元。"),
    ],
)
def test_nothing_is_added(question: str, answer: str, text: str) -> None:
    assert quoted(question, answer, text) == ""


def test_in_the_script_of_the_answer() -> None:
    said = quoted("本科生最多可以借多少本書？", "本科生可以借書[1]。", "本科生最多可借十本书。", "zh-hant")
    assert said == "文件中的相關數字，原文為：\n- 本科生最多可借十本書。 [1]"
