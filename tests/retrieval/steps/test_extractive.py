"""What is quoted when no model writes the answer."""

from __future__ import annotations

from retrieval.steps.extract import quotations
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
    return quotations(question, sources, language="en", most=sentences)


def statements_of(text: str) -> list[str]:
    return [statement.text for statement in headed_statements_of(text)]


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


def test_a_row_of_a_chinese_table_has_chinese_signs() -> None:
    assert statements_of("| 假别 | 天数 |\n|---|---|\n| 婚假 | 3天 |") == ["假别：婚假；天数：3天"]
    assert statements_of("假别 | 天数\n假别: 婚假; 天数: 3天") == ["假别：婚假；天数：3天"]


def test_each_row_of_a_spreadsheet_is_a_statement() -> None:
    rows = "Name | Books\nName: Mei; Books: 10\nName: Tom; Books: 12"
    assert statements_of(rows) == ["Name: Mei; Books: 10", "Name: Tom; Books: 12"]
    assert statements_of("Name | Books\nName: Mei; Books: 10") == ["Name: Mei; Books: 10"]  # the head names it
    assert statements_of("Mei | 10\nTom | 12") == ["Mei; 10", "Tom; 12"]  # without a head


def test_rows_of_a_word_file_carry_their_header() -> None:
    rows = "Badge | Colour | Valid for\nContractor | orange | 30 days\nPress | blue | 3 days"
    assert statements_of(rows)[0] == "Badge: Contractor; Colour: orange; Valid for: 30 days"


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


def test_a_question_that_nothing_follows_is_quoted_as_it_is() -> None:
    assert answer("Where is the key?", source(1, "Where is the key?", title="Notes")) == "- Where is the key? [1]"
