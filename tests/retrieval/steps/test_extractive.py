"""What is quoted when no model writes the answer."""

from __future__ import annotations

from retrieval.steps.answer.extractive import extractive_answer
from retrieval.text.statements import headed_statements_of
from retrieval.values import Scores, Source, StoredChunk

LOANS = """# Library Loan Regulations

Northlake University Library. In force from 2025.

## §2 Number of items

| Borrower | Items at once |
|---|---:|
| Undergraduate students | 12 |
| Alumni | 5 |

1. Laptops are lent for **7 days**.
2. A late book costs EUR 0.50 a day.
   No fine is over EUR 18.
"""


def source(marker: int, text: str, *, title: str = "Library Loan Regulations") -> Source:
    chunk = StoredChunk(
        chunk_id=str(marker), document_id="d", collection_id="c", seq=marker, title=title, heading=title, text=text
    )
    return Source(marker=marker, chunk=chunk, scores=Scores(final=1.0 / marker))


def answer(question: str, *sources: Source, sentences: int = 1) -> str:
    return "".join(extractive_answer(question, sources, language="en", sentences=sentences))


def statements_of(text: str) -> list[str]:
    return [statement for _, statement in headed_statements_of(text)]


def test_a_table_row_carries_its_header_and_a_heading_is_no_statement() -> None:
    assert statements_of(LOANS) == [
        "Northlake University Library.",
        "In force from 2025.",
        "Borrower: Undergraduate students; Items at once: 12",
        "Borrower: Alumni; Items at once: 5",
        "Laptops are lent for 7 days.",
        "A late book costs EUR 0.50 a day.",
        "No fine is over EUR 18.",
    ]


def test_a_wrapped_paragraph_is_cut_at_its_sentences_not_at_its_lines() -> None:
    assert statements_of("The fee is\nEUR 5. It is\ndue in May.") == ["The fee is EUR 5.", "It is due in May."]


def test_chinese_sentences_need_no_spaces() -> None:
    assert statements_of("押金为五十元。逾期每天罚款一元！") == ["押金为五十元。", "逾期每天罚款一元！"]


def test_the_row_that_answers_is_quoted_with_its_marker() -> None:
    text = answer("How many items may undergraduate students borrow from the library?", source(1, LOANS))
    assert text.endswith("- Borrower: Undergraduate students; Items at once: 12 [1]")


def test_repeating_the_title_does_not_make_a_statement_an_answer() -> None:
    text = answer(
        "What do the library loan regulations say about laptops?",
        source(1, "The library loan regulations are the regulations of the library. Laptops are lent for 7 days."),
    )
    assert text.endswith("- Laptops are lent for 7 days. [1]")


def test_a_passage_of_headings_alone_is_still_quoted() -> None:
    assert answer("Where is the appendix?", source(1, "## Appendix A")).endswith("Appendix A [1]")


HOUSING = """## Rent and deposit

| Hall | Room | Rent, EUR a week |
|---|---|---|
| Lakeside | single room | 118 |
| Willow Court | single room | 146 |
| Mill Lane | double room | 84 |

Rent is paid for each term in advance. A deposit of EUR 300 is paid before moving in.
"""


def test_what_a_heading_announces_is_still_to_be_said() -> None:
    text = answer(
        "How large is the deposit for a room in Lakeside hall?", source(1, HOUSING, title="Housing"), sentences=2
    )
    assert "Lakeside" in text
    assert text.endswith("- A deposit of EUR 300 is paid before moving in. [1]")


REFUNDS = """| Day of withdrawal | Share paid back |
|---|---|
| within the first 14 days | 90 % |
| day 15 to day 42 | 50 % |
| day 43 to day 70 | 25 % |
"""


def test_the_row_whose_range_holds_the_number_is_quoted() -> None:
    text = answer("What share is paid back if I withdraw on day 30?", source(1, REFUNDS, title="Refunds"))
    assert text.endswith("- Day of withdrawal: day 15 to day 42; Share paid back: 50 % [1]")
