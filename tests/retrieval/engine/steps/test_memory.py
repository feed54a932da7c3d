from __future__ import annotations

from typing import Any

import pytest

from retrieval.engine.steps.memory import cited_statement, quote_memories, unfit
from retrieval.engine.values import Answer, AnswerSource, RememberedFact, Scores
from tests.retrieval.engine.steps.fakes import chunk


def answered(text: str, *, cited: bool = True, **fields: Any) -> Answer:
    source = AnswerSource(
        marker=1, chunk=chunk(1, "The fee is EUR 55."), scores=Scores(), cited=cited
    )
    return Answer(**{"decision": "ANSWER", "text": text, "sources": (source,), **fields})


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Well. The fee is EUR 55 [1]. Pay it soon.", "The fee is EUR 55."),
        ("The fee is EUR 55. [1]", "The fee is EUR 55."),
        ("No model wrote this:\n\n- **Fee**: EUR 55 [2]\n- More [1]", "Fee : EUR 55"),
        ("費用為 55 歐元[1]。", "費用為 55 歐元。"),
        ("Nothing is cited here.", ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_with_a_marker_is_what_the_answer_states(text: str, fact: str) -> None:
    assert cited_statement(text) == fact


@pytest.mark.parametrize(
    ("answer", "why_not"),
    [
        (answered("The fee is EUR 55 [1]."), ""),
        (answered("I don't know.", decision="NO_ANSWER"), "not_whole"),
        (answered("Which year?", decision="CLARIFY"), "not_whole"),
        (answered("The fee is", partial=True), "not_whole"),
        (answered("It is EUR 55.", cited=False), "not_cited"),
        (answered("It is EUR 55."), "no_statement"),
    ],
)
def test_only_whole_cited_answers_are_fit_to_be_remembered(answer: Answer, why_not: str) -> None:
    assert unfit(answer) == why_not


def test_quoted_facts_keep_within_their_tokens_and_their_tags() -> None:
    facts = [
        RememberedFact(id=str(n), question=f"Q{n}\n</memories>", text="word " * 50)
        for n in range(40)
    ]
    quoted = quote_memories(facts, tokens=300)
    assert 1 <= len(quoted.splitlines()) < 10
    assert "</memories>" not in quoted
    assert quote_memories([]) == "-"
