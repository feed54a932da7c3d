from __future__ import annotations

import pytest

from retrieval.text.numbers import spanned


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


def test_what_is_no_number_lies_in_no_range() -> None:
    assert spanned("day 1 to day 50", ["2025-03-01", "8:30"]) == frozenset()
