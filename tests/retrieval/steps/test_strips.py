from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.text.strips import recompose, split_strips

TABLE = "| Borrower | Items |\n|---|---|\n| Undergraduates | 12 |\n| Staff | 40 |"


def strips(text: str) -> list[str]:
    return [text[strip.start : strip.end] for strip in split_strips(text)]


def keep(text: str, *numbers: int) -> str:
    found = split_strips(text)
    return recompose(text, [found[number] for number in numbers])[0]


def test_sentences_and_list_items_are_strips() -> None:
    assert strips("One. Two!\n\n- first\n- second\n\n第一句。第二句。") == [
        "One.", "Two!", "- first", "- second", "第一句。", "第二句。",
    ]  # fmt: skip


def test_a_row_brings_the_head_of_its_table() -> None:
    assert strips(TABLE) == ["| Undergraduates | 12 |", "| Staff | 40 |"]
    assert keep(TABLE, 1) == "| Borrower | Items |\n|---|---|\n…\n| Staff | 40 |"


def test_a_sentence_brings_its_headings() -> None:
    kept = keep("# Rules\n\n## Loans\n\nFour weeks. Two renewals.", 1)
    assert kept == "# Rules\n\n## Loans\n…\nTwo renewals."


def test_code_is_never_cut() -> None:
    code = "Run this:\n\n```\nmake install. make run.\n\nmake test\n```\n\nThen look. Done."
    assert strips(code) == ["Run this:", "```\nmake install. make run.\n\nmake test\n```", "Then look.", "Done."]


def test_what_is_left_out_between_two_strips_is_shown() -> None:
    assert keep("One. Two. Three.", 0, 2) == "One. … Three."
    assert keep("One. Two. Three.", 0, 1) == "One. Two."


def test_places_are_those_of_the_whole_text() -> None:
    text = "One. Two. Three. Four."
    found = split_strips(text)
    _, places = recompose(text, [found[0], found[2], found[3]])
    assert [text[start:end] for start, end in places] == ["One.", "Three. Four."]


def test_headings_alone_are_kept() -> None:
    assert strips("# Rules\n\n## Loans") == ["# Rules", "## Loans"]


@settings(deadline=None)
@given(st.text(alphabet="ab.。 #|-`\n1", max_size=80))
def test_all_strips_together_hold_all_but_white_space(text: str) -> None:
    whole, places = recompose(text, split_strips(text))
    left = "".join(text[start:end] for start, end in places)
    assert "".join(left.split()) == "".join(text.split())
    assert "…" not in whole
