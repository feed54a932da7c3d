from __future__ import annotations

import pytest

from retrieval.steps.answer.in_force import in_force, with_named_version
from retrieval.values import ScoredChunk
from tests.retrieval.steps.fakes import scored

OLD = scored(1, "Eight books.", title="Loan Rules (2022)", policy_year=2022)
OLD_ZH = scored(2, "六千元。", title="奖学金评定办法（2021年）", policy_year=2021)


@pytest.mark.parametrize(
    ("replaced", "title", "year", "text"),
    [
        (OLD, "Loan Rules (2025)", 2025, "Twelve books. These rules replace the Loan Rules of 2022."),
        (OLD, "Loan Rules (2025)", 2025, "The Loan Rules of 2022 are superseded."),
        (OLD, "Loan Rules (2025)", 2025, "In force from May. It replaces the one of 2022."),
        (OLD, "Loan Rules (2025)", 2025, "This edition of them supersedes that of 2022."),
        (OLD_ZH, "奖学金评定办法（2024年）", 2024, "2021年的评定办法同时废止。"),
        (OLD_ZH, "奖学金评定办法（2024年）", 2024, "本细则取代2021年的版本。"),
        (OLD_ZH, "獎學金評定辦法（2024年）", 2024, "2021年的評定辦法同時廢止。"),
    ],
)
def test_what_a_later_version_replaces_does_not_answer_an_undated_question(
    replaced: object, title: str, year: int, text: str
) -> None:
    new = scored(9, text, title=title, policy_year=year)
    assert in_force([replaced, new], "How many?") == (new,)  # type: ignore[list-item]


def test_the_year_of_a_version_may_stand_in_its_title_alone() -> None:
    old = scored(1, "Eight books.", title="Loan Rules 2022")
    new = scored(9, "Twelve books. It replaces that of 2022.", title="Loan Rules 2025")
    assert in_force([old, new], "How many?") == (new,)
    assert with_named_version([new], [new, old], "How many in 2022?", most=2) == [new, old]


def test_a_title_of_two_years_names_no_version() -> None:
    old = scored(1, "Eight books.", title="Loan Rules 2022")
    new = scored(9, "It replaces that of 2022.", title="Loan Rules 2024 2025")
    assert in_force([old, new], "How many?") == (old, new)


def test_a_question_that_names_a_year_is_answered_by_what_held_then() -> None:
    new = scored(9, "These rules replace the Loan Rules of 2022.", title="Loan Rules (2025)", policy_year=2025)
    assert in_force([OLD, new], "How many in 2022?") == (OLD, new)


@pytest.mark.parametrize(
    "question",
    [
        "How many books did the old rules allow?", "What has changed for borrowers?", "How do both versions compare?",
        "以前可以借几本？", "新旧规定有什么不同？", "新舊規定有什麼不同？",
    ],
)  # fmt: skip
def test_a_question_for_what_held_before_is_answered_by_it_too(question: str) -> None:
    new = scored(9, "These rules replace the Loan Rules of 2022.", title="Loan Rules (2025)", policy_year=2025)
    assert in_force([OLD, new], question) == (OLD, new)


@pytest.mark.parametrize(
    "question", ["Can I change my course before May?", "What was I told?", "可以换课吗？", "九月一日以前可以退课吗？"]
)
def test_other_questions_are_not_taken_for_one(question: str) -> None:
    new = scored(9, "These rules replace the Loan Rules of 2022.", title="Loan Rules (2025)", policy_year=2025)
    assert in_force([OLD, new], question) == (new,)


NEW = scored(9, "These rules replace the Loan Rules of 2022.", title="Loan Rules (2025)", policy_year=2025)
FEES = scored(8, "EUR 5.", title="Fees (2022)", policy_year=2022)


@pytest.mark.parametrize(
    ("question", "chosen", "expected"),
    [
        ("How many in 2022?", [NEW], [NEW, OLD]),
        ("2022年可以借几本？", [NEW], [NEW, OLD]),
        ("How many in 2022?", [NEW, scored(7, "Else.")], [NEW, OLD]),  # there is room for two
        ("How many in 2022?", [OLD], [OLD]),
        ("How many in 2025?", [NEW], [NEW]),
        ("How many?", [NEW], [NEW]),
        ("How many in 2019?", [NEW], [NEW]),
        ("How many in 2022?", [scored(7, "Else.")], [scored(7, "Else.")]),
    ],
)
def test_the_version_of_the_year_that_a_question_names_is_among_those_read(
    question: str, chosen: list[ScoredChunk], expected: list[ScoredChunk]
) -> None:
    assert with_named_version(chosen, [NEW, FEES, OLD], question, most=2) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The roof was replaced in 2022.",  # something else
        "The boiler is new. It was replaced in 2022.",
        "These rules replace the Loan Rules of 2019.",  # another version
        "The Loan Rules of 2022 hold on.",  # not replaced
    ],
)
def test_a_document_that_nothing_replaces_stays(text: str) -> None:
    new = scored(9, text, title="Loan Rules (2025)", policy_year=2025)
    assert in_force([OLD, new], "How many?") == (OLD, new)
