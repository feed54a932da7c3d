"""Summaries without a model."""

from __future__ import annotations

from retrieval.ingest.reading import summarize
from retrieval.text.tokens import estimate_tokens

TEXT = "Library books are lent for four weeks. Students return books at the desk. Late books cost one euro a day."


def test_it_is_the_headings_and_the_first_sentences() -> None:
    assert summarize(TEXT, headings=["Loans", "Fines", "Loans"], tokens=26) == (
        "Loans; Fines\nLibrary books are lent for four weeks. Students return books at the desk."
    )


def test_headings_take_half_at_most() -> None:
    summary = summarize(TEXT, headings=[f"Chapter {number} about lending" for number in range(40)], tokens=80)
    assert summary.startswith("Chapter 0 about lending; Chapter 1 about lending")
    assert summary.endswith(TEXT)


def test_it_keeps_to_its_length() -> None:
    long = " ".join(f"Rule {number} says that students may borrow {number} books at once." for number in range(2_000))
    assert 0 < estimate_tokens(summarize(long, headings=["Rules"], tokens=60)) <= 62


def test_a_text_without_sentences_has_none() -> None:
    assert summarize("1 2 3\n\n- - -", headings=(), tokens=50) == ""
