"""Which bracketed numbers are markers of citations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.engine.text.markers import (
    BEGIN,
    END,
    Brackets,
    MarkerReader,
    cited_markers,
    without_citations,
)

BRACKETS = Brackets(frozenset({1, 2}), frozenset())


def read(*pieces: str) -> str:
    reader = MarkerReader(BRACKETS)
    return "".join([*map(reader.feed, pieces), reader.finish()])


@settings(max_examples=400)
@given(
    st.text(alphabet="ab [1]2,.\n【】`$\\(~#", max_size=30), st.lists(st.integers(1, 5), max_size=8)
)
def test_how_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    pieces = []
    rest = text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert read(*pieces, rest) == read(text)


def test_a_text_that_has_our_signs_in_it_can_not_pretend_to_be_a_marker() -> None:
    assert read(f"so {BEGIN}1{END} it is") == "so 1 it is"


def test_a_bracket_that_a_passage_has_is_text_where_it_stands_alike() -> None:
    brackets = Brackets.of([(1, "Dial [1] for help. It seats 300.[2]"), (2, "Else.")])
    assert not brackets.is_marker("[1]", "Please dial ", " ")
    assert not brackets.is_marker("[2]", "It seats 300.", " ")
    assert brackets.is_marker("[2]", "It seats 300 ", ".")


@pytest.mark.parametrize(
    ("text", "cited", "rest"),
    [
        ("It is so [1][3]. Then [2].", {1, 2, 3}, "It is so. Then."),
        ("根据[2]，是五十五元。", {2}, "根据，是五十五元。"),
        ("Read row[1] and [1](a) first.", set(), "Read row[1] and [1](a) first."),
    ],
)
def test_citations_of_a_stored_answer(text: str, cited: set[int], rest: str) -> None:
    assert cited_markers(text) == cited
    assert without_citations(text) == rest
