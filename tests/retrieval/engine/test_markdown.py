"""Markdown's blocks, with their places; of whole documents, and of pieces of any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.providers.reply_form import is_json
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.text.quoting import neutralise
from retrieval.engine.text.sentences import split_sentences
from retrieval.engine.text.statements import blocks_of, headed_statements_of
from retrieval.knowledge.ingest.markup.markdown import document_blocks, parse_markdown


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in blocks_of(text)]


def test_a_list_is_one_block_of_a_document_and_its_items_are_those_of_a_passage() -> None:
    text = "- one\n  - two\n\n> quoted"
    assert [text[block.start : block.end] for block in document_blocks(text)] == [
        "- one\n  - two",
        "> quoted",
    ]
    assert kinds(text) == [("text", "- one"), ("text", "  - two"), ("text", "> quoted")]


def test_code_of_a_list_item_is_code_and_what_follows_is_not() -> None:
    assert kinds("1. ```sh\n   # ls\n   ```\n\nThen look.") == [
        ("code", "1. ```sh\n   # ls\n   ```"), ("text", "Then look."),
    ]  # fmt: skip


@given(st.text(alphabet="ab #|-`~>*1.\n\t\r<!\\", max_size=60))
def test_blocks_of_a_passage_hold_every_line_and_none_twice(text: str) -> None:
    blocks = blocks_of(text)
    places = [place for block in blocks for place in (block.start, block.end)]
    assert places == sorted(places)
    assert "".join(text[block.start : block.end] for block in blocks).split() == text.split() or (
        "".join("".join(text[block.start : block.end].split()) for block in blocks)
        == "".join(text.split())
    )


FREEZES = [
    (blocks_of, "| a |\n|" + "-" * 5_000 + "x|\n"),
    (headed_statements_of, "| a |\n|" + "-" * 5_000 + "x|\n"),
    (lambda text: parse_markdown(text.encode()), "<!--" * 50_000),
    (lambda text: parse_markdown(text.encode()), "# " + "[" * 200_000),
    (
        lambda text: parse_markdown(text.encode()),
        ("|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|\n" * 256 + "\n") * 100,
    ),
    (claims_of, ("a" + " " * 100_000) * 2),
    (split_sentences, "a" + "." * 200_000 + "b"),
    (neutralise, "<" + " " * 100_000),
    (is_json, "```json" + " " * 100_000),
]


@pytest.mark.parametrize(("read", "text"), FREEZES)
def test_hostile_text_is_read(read, text: str) -> None:
    """Each of these took minutes, or years: the test's time limit is what fails."""
    assert read(text) is not None
