from __future__ import annotations

import pytest

from retrieval.engine.text.numbers import stated_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("12 books, EUR 1,234.50", {12, 1234.5}),
        ("2025-03-01, 1.7.2024 at 9:00", {2025, 3, 1, 7, 2024, 9}),
        (
            "二〇二五年，五十人，五千元，5万，三点五公里，百分之八十",
            {2025, 50, 5000, 50_000, 3.5, 80},
        ),
        ("民國一百年，兩萬元", {100, 20_000}),
        ("１２本，一般十分好", {12}),
        ("twelve books", set()),
    ],
)
def test_a_statement_gives_its_digits_and_chinese_numerals(text: str, values: set[float]) -> None:
    assert stated_numbers(text).keys() == values
