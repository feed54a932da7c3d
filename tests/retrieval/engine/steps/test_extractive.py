"""What is quoted when no model writes the answer."""

from __future__ import annotations

from retrieval.engine.steps.answer import quotations
from retrieval.engine.text.statements import headed_statements_of
from retrieval.engine.values import Scores, Source, StoredChunk

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
    return quotations(question, sources, language="en", most=sentences)


def test_a_table_row_carries_its_header_and_a_heading_is_no_statement() -> None:
    assert [statement.text for statement in headed_statements_of(LOANS)] == [
        "Northlake University Library.",
        "In force from 2025.",
        "Borrower: Undergraduate students; Items at once: 12",
        "Borrower: Alumni; Items at once: 5",
        "Laptops are lent for 7 days.",
        "A late book costs EUR 0.50 a day.",
        "No fine is over EUR 18.",
    ]


def test_a_heading_without_markup_is_not_quoted() -> None:
    text = "Claims for expenses\n\nClaims are handed in within three weeks."
    quoted = answer("claims for expenses", source(1, text, title="Claims for expenses"), sentences=2)
    assert quoted == "- Claims are handed in within three weeks. [1]"


def test_the_row_that_answers_is_quoted_with_its_marker() -> None:
    text = answer("How many items may undergraduate students borrow from the library?", source(1, LOANS))
    assert text.endswith("- Borrower: Undergraduate students; Items at once: 12 [1]")


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


PARKING = """| Zone | Who may park | Price per month |
|---|---|---|
| A | staff with a badge | free |
| B | full-time staff | EUR 38 |
| C | part-time staff | EUR 21 |

Electric cars pay half the price of their zone.
"""


def test_all_rows_are_quoted_where_none_is_named() -> None:
    text = answer("What is the price of each zone?", source(1, PARKING, title="Parking"), sentences=4)
    assert all(price in text for price in ("free", "EUR 38", "EUR 21"))


def test_the_row_of_a_long_spreadsheet_is_quoted_alone() -> None:
    rows = "\n".join(f"Name: Person{number}; Desk: D{number}" for number in range(60))
    text = answer("Which desk has Person57?", source(1, f"Name | Desk\n{rows}", title="Desks"), sentences=3)
    assert text == "- Name: Person57; Desk: D57 [1]"


FAQ = """问：逾期怎么罚款？
答：每本每天两角，最高不超过书价的一半。寒暑假不计。

问：丢了借书证怎么办？
答：补办费十二元。
"""


def test_a_question_of_the_passage_is_quoted_with_its_answer() -> None:
    text = answer("借书逾期罚款多少？", source(1, FAQ, title="常见问题"))
    assert text == "- 问：逾期怎么罚款？ 答：每本每天两角，最高不超过书价的一半。 [1]"
