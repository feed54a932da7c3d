"""Numbers and days that cells name, and comparisons with them."""

from __future__ import annotations

from datetime import date

import pytest

from retrieval.engine.text.cell_values import compares, date_in, number_in
from retrieval.engine.values.counting import ColumnRule, Operator


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1,234", 1234),
        ("€ 12,000.50", 12000.5),
        ("1.234,56", 1234.56),
        ("12 000 kg", 12000),
        ("-5", -5),
        ("(1,200)", -1200),
        ("12.5 %", 12.5),
        ("0", 0),
        ("5万", 50_000),
        ("12 to 15", None),
        ("28.02.2026", None),
        ("none", None),
        ("", None),
        ("9" * 200, None),
    ],
)
def test_a_cell_is_the_only_number_that_it_holds(cell: str, number: float | None) -> None:
    assert number_in(cell) == number


@pytest.mark.parametrize(
    ("cell", "language"),
    [
        ("2026-02-28", ""),
        ("2026/2/28", ""),
        ("28.02.2026", ""),
        ("28/02/2026", ""),
        ("02/28/2026", ""),
        ("28 February 2026", ""),
        ("Feb 28, 2026", ""),
        ("Saturday, 28 February 2026", ""),
        ("28. Februar 2026", "de"),
        ("28 février 2026", "fr"),
        ("2026年2月28日", "zh-hans"),
        ("2026-02-28 14:00", ""),
    ],
)
def test_days_are_read_as_they_are_written_in_the_documents_language(
    cell: str, language: str
) -> None:
    assert date_in(cell, language) == date(2026, 2, 28)


@pytest.mark.parametrize("cell", ["03/04/2026", "February 2026", "31.02.2026", "soon", "1 of 2026"])
def test_what_may_be_another_day_is_none(cell: str) -> None:
    assert date_in(cell) is None


@pytest.mark.parametrize(
    ("cell", "operator", "value", "outcome"),
    [
        ("2026-03-01", "<", "2026-03", "no"),
        ("2026-03-31", "<=", "2026-03", "yes"),
        ("2026-03-31", ">", "2026-03", "no"),
        ("2026-03-15", "=", "2026-03", "yes"),
        ("2026-03-15", "=", "2026", "yes"),
        ("2026", "=", "2026", "yes"),
        ("EUR 2,026", "=", "2026", "yes"),
        ("10", ">", "9", "yes"),
        ("ten", ">", "9", "unread"),
        ("Japan", "=", "JAPAN", "yes"),
        ("Japan, Kenya", "=", "Japan", "no"),
    ],
)
def test_comparisons(cell: str, operator: Operator, value: str, outcome: str) -> None:
    rule = ColumnRule(column="Column", operator=operator, value=value)
    assert compares(cell, rule) == outcome
