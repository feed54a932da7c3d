import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.steps.answer.markers import MarkerFilter, cited_markers


def stream(pieces, passages: int = 3) -> str:
    cleaner = MarkerFilter(passages)
    return "".join(cleaner.feed(piece) for piece in pieces) + cleaner.finish()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Twelve books [1].", "Twelve books [1]."),
        ("Twelve books [7].", "Twelve books."),
        ("Twelve [1, 9] books [2,3].", "Twelve [1] books [2][3]."),
        ("十二本【1】。", "十二本[1]。"),
        ("See [the rules](x) and [x].", "See [the rules](x) and [x]."),
        ("Cut in the middle [1", "Cut in the middle"),
        ("Zero [0] is nothing.", "Zero is nothing."),
        ("In [2025] it rose.", "In [2025] it rose."),
    ],
)
def test_markers_that_point_to_nothing_are_removed(text: str, cleaned: str) -> None:
    assert stream([text]) == cleaned
    assert stream(text) == cleaned  # character by character


@given(st.text(alphabet="ab [1]29,.\n【】", max_size=30), st.lists(st.integers(1, 5), max_size=8))
def test_how_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert stream([*pieces, rest]) == stream([text])


def test_words_are_not_held_back() -> None:
    cleaner = MarkerFilter(1)
    assert cleaner.feed("Twelve") == "Twelve"
    assert cleaner.feed(" books [") == " books"
    assert cleaner.feed("1]") == " [1]"


def test_cited_markers_are_read_from_the_text() -> None:
    assert cited_markers("a [1] b [3][1]") == {1, 3}
