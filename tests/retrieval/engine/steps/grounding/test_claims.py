"""What an answer states, and what each statement cites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.text.markers import Brackets


def read(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(claim.text, claim.markers) for claim in claims_of(answer)]


def test_each_sentence_has_its_own_markers() -> None:
    assert read("It costs EUR 55 [1]. Pay online [2][3].") == [
        ("It costs EUR 55.", (1,)),
        ("Pay online.", (2, 3)),
    ]


def test_list_items_and_rows_stand_for_themselves() -> None:
    answer = "You need:\n\n1. A **passport** [1]\n2. Two photos\n\n| Fee | Due |\n|---|---|\n| EUR 55 | 1 July [3] |"
    assert read(answer) == [("A passport", (1,)), ("Two photos", ()), ("EUR 55 1 July", (3,))]


@pytest.mark.parametrize(
    "text",
    ["", "# Fees", "Which year do you mean?", "Here is what to do:", "👍", "[1]", "```\nmake install\n```"],
)  # fmt: skip
def test_what_states_nothing_is_no_claim(text: str) -> None:
    assert read(text) == []


@given(st.text(alphabet="ab. 。[1]2\n-|#*`", max_size=60))
def test_places_are_in_order_and_inside_the_answer(answer: str) -> None:
    claims = claims_of(answer)
    ends = [place for claim in claims for place in (claim.start, claim.end)]
    assert ends == sorted(ends)
    assert all(0 <= claim.start < claim.end <= len(answer) for claim in claims)


def test_a_bracket_of_a_passage_is_no_citation_but_at_the_end_of_the_sentence() -> None:
    brackets = Brackets.of(
        [(1, "Dial [2] for the porter."), (2, "The hall is open."), (3, "Nothing.")]
    )
    claims = claims_of(
        "Dial [2] for the porter [1]. The hall is open [2]. Write row[3] or [9].", brackets
    )
    assert [(claim.text, claim.markers) for claim in claims] == [
        ("Dial [2] for the porter.", (1,)),
        ("The hall is open.", (2,)),
        ("Write row[3] or [9].", ()),
    ]
