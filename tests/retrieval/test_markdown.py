"""Markdown's blocks, with their places; of whole documents, and of pieces of any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.ingest.markdown import parse_markdown
from retrieval.providers.chat import unfenced
from retrieval.steps.verify import claims_of
from retrieval.text.markdown import (
    document_blocks,
    inline_text,
    leading_signs,
    list_sign,
    passage_blocks,
    row_cells,
    without_tags,
)
from retrieval.text.quoting import neutralise
from retrieval.text.sentences import split_sentences
from retrieval.text.statements import headed_statements_of
from retrieval.text.strips import split_strips


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in passage_blocks(text)]


def test_places_point_into_the_text_as_it_was_given() -> None:
    text = "# Loans\r\n\r\nTen books.\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n"
    assert [text[block.start : block.end].strip() for block in document_blocks(text)] == [
        "# Loans", "Ten books.", "| a | b |\r\n|---|---|\r\n| 1 | 2 |",
    ]  # fmt: skip


def test_a_list_is_one_block_of_a_document_and_its_items_are_those_of_a_passage() -> None:
    text = "- one\n  - two\n\n> quoted"
    assert [text[block.start : block.end] for block in document_blocks(text)] == ["- one\n  - two", "> quoted"]
    assert kinds(text) == [("text", "- one"), ("text", "  - two"), ("text", "> quoted")]


def test_rows_without_their_head_are_a_table() -> None:
    assert kinds("| a | 1 |\n| b | 2 |\nWords.") == [("table", "| a | 1 |\n| b | 2 |"), ("text", "Words.")]


def test_text_that_follows_a_table_at_once_is_no_row_of_it() -> None:
    assert kinds("a | b\n--|--\n1 | 2\nWords.") == [("table", "a | b\n--|--\n1 | 2"), ("text", "Words.")]


def test_code_of_a_list_item_is_code_and_what_follows_is_not() -> None:
    assert kinds("1. ```sh\n   # ls\n   ```\n\nThen look.") == [
        ("code", "1. ```sh\n   # ls\n   ```"), ("text", "Then look."),
    ]  # fmt: skip


def test_indented_lines_of_a_passage_are_text() -> None:
    assert kinds("    A page's margin.\n\n    ## Loans") == [
        ("text", "    A page's margin."), ("heading", "    ## Loans"),
    ]  # fmt: skip


def test_a_comment_in_code_is_no_heading_and_its_language_no_word() -> None:
    assert [one.text for one in headed_statements_of("```sh\n# list\nls\n```")] == ["# list ls"]


def test_the_words_of_a_heading_are_without_markup() -> None:
    written = "`tidb_mem` and **tidb_cpu** in [links](http://x) <b>&amp;</b> a\\_b {#anchor}"
    assert inline_text(written) == "tidb_mem and tidb_cpu in links & a_b"


def test_an_escaped_bar_parts_no_cells() -> None:
    assert row_cells("| a \\| b | c |") == ["a | b", "c"]
    assert row_cells("| | c") == ["", "c"]


def test_signs_in_front_of_words_are_told() -> None:
    assert (list_sign("3、 x"), list_sign("- x"), list_sign("-x")) == (3, 2, 0)
    assert (leading_signs(" > 1. ## x"), leading_signs("x - y")) == (9, 0)


def test_html_gives_its_words() -> None:
    assert without_tags("<p>a <!-- <b>no</b> -->b</p> c --> <!-- d").strip() == "a b c --> <!-- d"


def test_a_table_of_many_missing_cells_stays_one_block() -> None:
    table = "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + "|\n" * 300
    assert [block.kind for block in document_blocks(table * 3)] == ["table"]


@settings(deadline=None)
@given(st.text(alphabet="ab #|-`~>*1.\n\t\r<!\\", max_size=60))
def test_blocks_of_a_passage_hold_every_line_and_none_twice(text: str) -> None:
    blocks = passage_blocks(text)
    places = [place for block in blocks for place in (block.start, block.end)]
    assert places == sorted(places)
    assert "".join(text[block.start : block.end] for block in blocks).split() == text.split() or (
        "".join("".join(text[block.start : block.end].split()) for block in blocks) == "".join(text.split())
    )


FREEZES = [
    (split_strips, "| a |\n|" + "-" * 5_000 + "x|\n"),
    (headed_statements_of, "| a |\n|" + "-" * 5_000 + "x|\n"),
    (lambda text: parse_markdown(text.encode()), "<!--" * 50_000),
    (lambda text: parse_markdown(text.encode()), "# " + "[" * 200_000),
    (lambda text: parse_markdown(text.encode()), ("|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|\n" * 256 + "\n") * 100),
    (claims_of, ("a" + " " * 100_000) * 2),
    (split_sentences, "a" + "." * 200_000 + "b"),
    (neutralise, "<" + " " * 100_000),
    (unfenced, "```json" + " " * 100_000),
]


@pytest.mark.parametrize(("read", "text"), FREEZES)
def test_hostile_text_is_read(read, text: str) -> None:
    """Each of these took minutes, or years: the test's time limit is what fails."""
    assert read(text) is not None
