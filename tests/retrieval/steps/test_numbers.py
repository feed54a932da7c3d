from __future__ import annotations

import pytest

from retrieval.text.numbers import known_numbers, missing_numbers, spanned, stated_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("12 books, EUR 1,234.50", {12, 1234.5}),
        ("2025-03-01, 1.7.2024 at 9:00", {2025, 3, 1, 7, 2024, 9}),
        ("二〇二五年，五十人，五千元，5万，三点五公里，百分之八十", {2025, 50, 5000, 50_000, 3.5, 80}),
        ("民國一百年，兩萬元", {100, 20_000}),
        ("１２本，一般十分好", {12}),
        ("twelve books", set()),
    ],
)
def test_a_statement_gives_its_digits_and_chinese_numerals(text: str, values: set[float]) -> None:
    assert stated_numbers(text).keys() == values


def test_a_text_is_read_generously() -> None:
    assert known_numbers("On 1 March, twenty-five thousand people; once, 一次") >= {1, 3, 25, 25_000}


@pytest.mark.parametrize(
    ("statement", "known", "missing"),
    [
        ("12 books", "twelve books", []),
        ("1,000 euros", "one thousand euros", []),
        ("on 2025-03-01", "on 1 March 2025", []),
        ("50人，5000元", "五十人，五千元", []),
        ("13 books by 2026", "12 books by 2025", ["13", "2026"]),
    ],
)
def test_numbers_are_found_in_figures_and_in_words(statement: str, known: str, missing: list[str]) -> None:
    assert missing_numbers(statement, known) == missing


@pytest.mark.parametrize(
    "text",
    ["Day of withdrawal: day 15 to day 42; Share paid back: 50 %", "第15天至第42天退还50%", "15至42天", "10–40 credits",
     "Ages 30 to 35", "25% to 30%", "EUR 10 to EUR 50", "1 to 1,500 words", "１０～４０歲"],
)  # fmt: skip
def test_a_number_stands_in_a_range_without_being_written(text: str) -> None:
    assert spanned(text, ["30"]) == {"30"}


@pytest.mark.parametrize(
    "text",
    ["day 43 to day 70", "after day 20", "Reference 2020-01-31", "08:00-17:00", "Form LIB-9 to 40", "4120-4999",
     "9月1日至10月40日", "40 to 10", "20 or 40"],
)  # fmt: skip
def test_dates_times_codes_and_other_ranges_hold_it_not(text: str) -> None:
    assert spanned(text, ["30"]) == frozenset()
