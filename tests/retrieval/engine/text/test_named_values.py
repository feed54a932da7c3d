"""Values of the documents' own metadata that a question names."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.engine.text.named_values import named_values, years_in
from retrieval.engine.values import Vocabulary

KNOWN = Vocabulary(
    departments=("Finance", "Human Resources", "IT", "Library", "财务处", "教务处"),
    doc_types=("exam regulations", "form", "规定"),
    policy_years=(2022, 2023, 2025),
    tags=("exam", "fees", "node.js", "加班", "学"),
)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What was the resit fee in 2023?", {"policy_year": [2023], "tags": ["fees"]}),
        ("what do human resources say", {"department": ["Human Resources"]}),
        ("how human are these resources", {}),
        ("Are the libraries open?", {"department": ["Library"]}),
        ("Is it open?", {}),
        ("Who leads IT?", {"department": ["IT"]}),
        ("Finance or the Library?", {"department": ["Finance", "Library"]}),
        ("between 2022 and 2025", {"policy_year": [2022, 2025]}),
        ("invoice 120231 of 20225", {}),
        ("教務處的規定", {"department": ["教务处"], "doc_type": ["规定"]}),
        ("二〇二三年怎么算", {"policy_year": [2023]}),
        ("加班费怎么算？", {"tags": ["加班"]}),
        ("学生怎么报名？", {}),
        ("is Node.js there", {"tags": ["node.js"]}),
        ("ＨＵＭＡＮ ＲＥＳＯＵＲＣＥＳ", {"department": ["Human Resources"]}),
        ("Hu\u00adman Re\u200bsources", {"department": ["Human Resources"]}),
        ("", {}),
    ],
)
def test_what_the_documents_hold_is_found_in_the_question(
    question: str, named: dict[str, Any]
) -> None:
    assert named_values(question, KNOWN).as_dict() == named


def test_of_a_value_within_another_one_the_longer_counts() -> None:
    assert named_values("Which exam regulations hold?", KNOWN).as_dict() == {
        "doc_type": ["exam regulations"]
    }
    both = named_values("Which exam regulations hold for the exam?", KNOWN).as_dict()
    assert both == {"doc_type": ["exam regulations"], "tags": ["exam"]}


def test_words_of_another_language_are_compared_by_its_stems() -> None:
    known = Vocabulary(doc_types=("Prüfung",), departments=("Bibliothek",))
    named = named_values("Wann werden die Prüfungen der Bibliotheken verschoben?", known)
    assert named == Vocabulary(doc_types=("Prüfung",), departments=("Bibliothek",))


def test_years_are_told_in_digits_of_either_script() -> None:
    assert years_in("from 2023 to ２０２５, 2023 again, 二零二二年, 12023, 1850") == [
        2023,
        2025,
        2022,
    ]
