from __future__ import annotations

import pytest

from retrieval.engine.steps.grounding.support import support
from retrieval.engine.steps.grounding.verify import UNSUPPORTED_SCORE
from retrieval.engine.text.languages import detect_language
from tests.retrieval.engine.steps.fakes import chunk

LOANS = (
    "An undergraduate may borrow twelve books at once. The loan period is four weeks. Overdue books cost EUR 1 a day. "
    "Reference works may not be borrowed."
)
QUESTION = "How many books may I borrow?"


def score(statement: str, text: str = LOANS, question: str = QUESTION, **facts) -> float | None:
    return support(
        statement, [chunk(1, text, title="Library Regulations", **facts)], question=question
    ).score


@pytest.mark.parametrize(
    "statement", ["Undergraduates can borrow up to 12 books.", "The loan period is 4 weeks."]
)
def test_a_sentence_in_other_words_is_supported(statement: str) -> None:
    assert score(statement) >= 0.45


def test_what_two_passages_say_together_is_supported() -> None:
    passages = [
        chunk(1, "The Commission's President sets the agenda."),
        chunk(2, "The President is Jacques Delors."),
    ]
    statement = "Jacques Delors sets the agenda as President of the Commission."
    assert support(statement, passages, question="Who sets the agenda?").score >= 0.45


def test_simplified_and_traditional_are_compared_as_one() -> None:
    text = "校长奖学金每学年5000欧元，每年九月申请。"
    assert score("校長獎學金每學年五千歐元。", text, "獎學金多少？") >= 0.8
    assert score("校長獎學金每學年8000歐元。", text, "獎學金多少？") < UNSUPPORTED_SCORE


@pytest.mark.parametrize("statement", ["Yes.", "So it is.", "Of course!"])
def test_a_few_plain_words_can_not_be_checked(statement: str) -> None:
    assert score(statement) is None


def test_what_stands_beside_the_text_counts_as_said() -> None:
    assert score("The Library Regulations of 2025 set four weeks.", policy_year=2025) >= 0.45


@pytest.mark.parametrize(
    ("statement", "passage", "baseless"),
    [
        (
            "It is so since the treaty of 1957, which is 60 years ago.",
            "It is so since the treaty of 1957.",
            False,
        ),
        ("该制度自1957年条约起实行，已有60年。", "該制度自1957年條約起實行。", False),
        ("Parking costs a fee in 2025.", "Parking costs a fee.", False),
        ("Parking in 2025 costs 100 euros.", "Parking in 2025 is managed by the porter.", True),
        ("The allowance is 90 percent.", "The allowance is 50 percent.", True),
    ],
)
def test_a_wrong_number_is_baseless_but_beside_a_right_one_or_the_questions_own_weak(
    statement: str, passage: str, baseless: bool
) -> None:
    found = support(statement, [chunk(1, passage)], question="What holds in 2025?")
    assert found.score is not None
    assert found.score < 0.45
    assert (found.score < UNSUPPORTED_SCORE) is baseless


def test_a_sentence_that_shows_no_language_is_supported_by_its_own_words() -> None:
    statement = "Bootshaus Nord, 40 Euro."
    passage = "Die Miete je Tag: Bootshaus Süd, 30 Euro; Bootshaus Nord, 40 Euro. Bezahlt wird bei der Abholung."
    assert detect_language(statement) != detect_language(passage)
    assert score(statement, passage, "Was kostet es?") >= 0.45


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Die Kaution kommt nach 3 Wochen zurück.", "Die Kaution kommt nach drei Wochen zurück."),
        ("Kaucja jest zwracana po 5 dniach.", "Kaucja jest zwracana po pięciu dniach."),
        ("Залог возвращают через 4 недели.", "Залог возвращают через четыре недели."),
        ("Le dépôt est rendu après 2 semaines.", "Le dépôt est rendu après deux semaines."),
    ],
)
def test_a_small_number_that_the_passage_may_have_in_words_is_weak_not_baseless(
    statement: str, passage: str
) -> None:
    found = score(statement, passage, "?")
    assert UNSUPPORTED_SCORE <= found < 0.45
    assert score(statement, passage + " Nr. 17.", "?") >= UNSUPPORTED_SCORE
    large = statement.replace("3", "31").replace("5", "51").replace("4", "41").replace("2", "21")
    assert score(large, passage, "?") < UNSUPPORTED_SCORE
