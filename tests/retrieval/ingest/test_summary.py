"""Summaries without a model."""

from __future__ import annotations

from retrieval.ingest.summary import summarize
from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens

TEXT = (
    "Welcome to the pages of the office. "
    "Library books are lent to students for four weeks. "
    "The cafeteria has a new coffee machine since Tuesday. "
    "Students return library books at the desk or in the box. "
    "Late library books cost students one euro a day."
)


def test_the_sentence_with_the_most_frequent_words_is_taken_first() -> None:
    assert summarize(TEXT, headings=(), tokens=16) == "Library books are lent to students for four weeks."


def test_the_next_sentence_says_something_else_and_order_is_kept() -> None:
    summary = summarize(TEXT, headings=(), tokens=40)
    assert summary.startswith("Library books are lent to students for four weeks. ")
    kept = [sentence for sentence in split_sentences(TEXT) if sentence in summary]
    assert len(kept) >= 2
    assert " ".join(kept) == summary


def test_headings_come_first_and_take_half_at_most() -> None:
    headings = [f"Chapter {number} about lending" for number in range(40)]
    summary = summarize(TEXT, headings=headings, tokens=80)
    assert summary.startswith("Chapter 0 about lending; Chapter 1 about lending")
    assert "library books" in summary


def test_a_summary_keeps_to_its_length() -> None:
    long = " ".join(f"Rule {number} says that students may borrow {number} books at once." for number in range(2_000))
    assert 0 < estimate_tokens(summarize(long, headings=["Rules"], tokens=60)) <= 62


def test_chinese_sentences_are_weighed_by_words() -> None:
    text = "欢迎来到办公室的网页。学生借阅图书的期限为四周。食堂新买了一台咖啡机。学生逾期归还图书每天罚款一元。"
    assert "图书" in summarize(text, headings=(), tokens=24)
    assert "咖啡" not in summarize(text, headings=(), tokens=24)


def test_a_text_without_sentences_has_no_summary() -> None:
    assert summarize("1 2 3\n\n- - -", headings=(), tokens=50) == ""
