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
    recall_row,
    times_row,
)

CLEAR = Question(
    id="x-1", text="How many?", part="x", answerable=True, documents=frozenset({"a", "b"}), key_facts=("1,024",)
)
NEEDS_ALL = replace(CLEAR, needs_all=True)
AMBIGUOUS = replace(CLEAR, clarify=True)
FAIR = replace(CLEAR, clarify_ok=True)
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


def test_asking_back_is_unfair_where_the_question_is_clear_or_has_no_answer() -> None:
    row = answers_row([came(question, "CLARIFY") for question in (CLEAR, FAIR, AMBIGUOUS, UNANSWERABLE)])
    assert row["asked back"] == 1.0
    assert row["clear"] == 2
    assert row["unclear→asked"] == "1 of 1"
    assert row["asked unfairly"] == "2 of 2"
    assert row["no answer→refused"] == "0 of 1"


def test_failed_answers_are_counted_by_themselves() -> None:
    row = answers_row([came(CLEAR, "", error="timeout"), came(UNANSWERABLE, "NO_ANSWER")])
    assert row["failed"] == 1
    assert row["refused"] == 0.0
    assert row["no answer→refused"] == "1 of 1"


def test_recall_is_over_the_clear_questions() -> None:
    row = recall_row([(CLEAR, ["c", "c", "c", "a"]), (CLEAR, OTHERS), (AMBIGUOUS, []), (UNANSWERABLE, [])])
    assert row == {"@3": 0.0, "@5": 0.5, "@8": 0.5, "@12": 0.5}


def test_first_tokens_are_compared_on_the_same_questions() -> None:
    site = [
        came(CLEAR, "ANSWER", first_token_ms=120.0, rounds=1),
        came(CLEAR, "NO_ANSWER", first_token_ms=400.0, rounds=1),
        came(CLEAR, "ANSWER", first_token_ms=300.0, rounds=2),
        came(CLEAR, "", first_token_ms=None),
    ]
    plain = [came(CLEAR, "ANSWER", first_token_ms=100.0) for _ in site]
    row = times_row(site, plain)
    assert (row["one round"], row["one round: ratio"]) == (1, 1.2)
    assert (row["all"], row["all: ratio"]) == (3, 3.0)


def test_the_plain_rag_refuses_where_it_names_no_passage() -> None:
    assert plain_decision([{"marker": 1}]) == "ANSWER"
    assert plain_decision([]) == "NO_ANSWER"
