"""What `benchmarks.real_questions` counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.answers.question_scores import (
    Outcome,
    Question,
    answers_row,
    plain_decision,
)

CLEAR = Question(
    id="x-1", text="How many?", part="x", answerable=True, documents=frozenset({"a", "b"}), key_facts=("1,024",)
)
NEEDS_ALL = replace(CLEAR, needs_all=True)
UNANSWERABLE = replace(CLEAR, answerable=False, documents=frozenset(), key_facts=())
OTHERS = ["c"] * 8


def came(question: Question, decision: str, **more: Any) -> Outcome:
    return Outcome(question=question, decision=decision, **more)


def test_any_of_the_documents_is_right_unless_all_are_needed() -> None:
    assert CLEAR.rank(["c", "b", "a"]) == 2
    assert NEEDS_ALL.rank(["c", "b", "a"]) == 3
    assert NEEDS_ALL.rank(["c", "b"]) is None
    assert not UNANSWERABLE.right(["a"])


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("1,024", "At most `1024` of them."),
        ("Not Yet", "NOT yet."),
        ("不支持", "TiDB 不支援、不支持。"),
        ("数据", "數據"),
    ],
)
def test_facts_are_compared_without_case_commas_backticks_and_script(fact: str, text: str) -> None:
    assert replace(CLEAR, key_facts=("something else", fact)).stated(text)


def test_answers_count_where_the_right_document_is_cited() -> None:
    row = answers_row(
        [
            came(CLEAR, "ANSWER", found=["a"], cited=["a"], shown=["a"], text="1024"),
            came(CLEAR, "ANSWER", found=["a"], cited=["c"], shown=["c", "b"], text="1024"),
            came(CLEAR, "ANSWER", found=[*OTHERS, "a"], cited=["a"], shown=["a"], text="42"),
            came(CLEAR, "NO_ANSWER", found=["a"], cited=["a"], shown=["a"], text="The closest says 1024."),
        ]
    )
    assert row["clear"] == 4
    assert row["found@8"] == 0.75
    assert row["found→cited"] == pytest.approx(1 / 3)
    assert row["cited"] == 0.5
    assert row["fact"] == 0.5
    assert row["refused"] == 0.25
    assert row["shown"] == 1.0


def test_the_plain_rag_refuses_where_it_names_no_passage() -> None:
    assert plain_decision([{"marker": 1}]) == "ANSWER"
    assert plain_decision([]) == "NO_ANSWER"
