"""Numbers and days that cells name, and comparisons with them."""

from __future__ import annotations

from datetime import date

import pytest

from retrieval.engine.text.cell_numbers import conventions_of, conventions_shown, number_in
from retrieval.engine.text.cell_values import bound_of, compares, days_in
from retrieval.engine.values.counting import ColumnRule, Operator


def read(cell: str, language: str = "") -> tuple[float, ...]:
    found = number_in(cell, conventions_of(language))
    return found.values if found else ()


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("€ 12,000.50", 12000.5),
        ("1.234,56", 1234.56),
        ("1.234.567", 1_234_567),
        ("12,34,567", 1_234_567),
        ("12 000 kg", 12000),
        ("12'000.50", 12000.5),
        ("1234.567", 1234.567),
        ("0.234", 0.234),
        (".5", 0.5),
        ("-.5", -0.5),
        ("-5", -5),
        ("(1,200.00)", -1200),
        ("EUR -300", -300),
        ("-EUR 300", -300),
        ("SKU-12", 12),
        ("12.5 %", 12.5),
        ("-12.5 %", -12.5),
        ("0", 0),
        ("120 m²", 120),
        ("120 m2", 120),
        ("5万", 50_000),
        ("5 万元", 50_000),
        ("-5 万元", -50_000),
        ("负五元", -5),
        ("(1,200) 元", -1200),
        ("0 元", 0),
    ],
)
def test_a_cell_is_the_only_number_that_it_holds(cell: str, number: float) -> None:
    assert read(cell) == (number,)


@pytest.mark.parametrize(
    "cell",
    [
        "12 to 15",
        "0至5元",
        "28.02.2026",
        "3.1.4",
        "5'11",
        "2026 100",
        "1,200-",
        "10²",
        "1½",
        "1e6",
        "1,2万",
        "none",
        "",
        "9" * 200,
    ],
)
def test_what_is_several_numbers_or_none_is_not_read(cell: str) -> None:
    assert read(cell) == ()


@pytest.mark.parametrize(
    ("cell", "language", "numbers"),
    [
        ("1.234,50", "de", (1234.5,)),
        ("1,234.50", "en", (1234.5,)),
        ("1.234", "de", (1234,)),
        ("1.234", "en", (1.234,)),
        ("1,234", "en", (1234,)),
        ("1,234", "de", (1.234,)),
        ("1,234", "fr", (1.234,)),
        ("1,234 元", "zh-hant", (1234,)),
        ("12.5", "de", (12.5,)),
        ("1.234", "", (1.234, 1234)),
        ("1,234", "und", (1.234, 1234)),
        ("1.234", "fr", (1.234, 1234)),
        ("(1.234)", "", (-1.234, -1234)),
    ],
)
def test_a_sign_means_what_it_means_in_the_documents_language(
    cell: str, language: str, numbers: tuple[float, ...]
) -> None:
    assert sorted(read(cell, language)) == sorted(numbers)


def test_a_documents_other_numbers_tell_how_it_writes_them() -> None:
    german = conventions_shown(["Acme", "1.234,50", "7"])
    assert number_in("1.234", german) == number_in("1234")
    both = conventions_shown(["1.234,50", "1,234.50"])
    found = number_in("1.234", both)
    assert found is not None and len(found.values) == 2


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("12 months", "1 month", True),
        ("EUR 300", "300 EUR", True),
        ("12 months", "1 year", False),
        ("EUR 300", "USD 300", False),
        ("300", "USD 300", False),
        ("5 %", "5", False),
        ("-5", "5", True),
        ("三个月", "三年", False),
    ],
)
def test_what_stands_beside_a_number_is_its_unit(one: str, other: str, is_same: bool) -> None:
    first = number_in(one)
    second = number_in(other)
    assert first is not None and second is not None
    assert (first.unit == second.unit) is is_same


@pytest.mark.parametrize(
    ("value", "language", "number", "is_ambiguous"),
    [
        ("1234.5", "", 1234.5, False),
        ("1.234", "", 1.234, False),
        ("1,234,567", "", 1_234_567, False),
        ("1,5", "", 1.5, False),
        ("1,234", "", None, True),
        ("1,234", "en", 1234, False),
        ("5 kg", "", None, False),
    ],
)
def test_the_value_that_is_compared_with_is_written_with_a_dot(
    value: str, language: str, number: float | None, is_ambiguous: bool
) -> None:
    bound = bound_of(value, language)
    assert (bound.number, bound.is_ambiguous) == (number, is_ambiguous)


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
        ("2026-02-28T14:00:05.5+01:00", ""),
        ("28 de febrero de 2026", "es"),
        ("February 28th, 2026", ""),
    ],
)
def test_days_are_read_as_they_are_written_in_the_documents_language(
    cell: str, language: str
) -> None:
    assert days_in(cell, language) == (date(2026, 2, 28),)


def test_a_day_and_a_month_that_could_change_places_are_read_by_the_language_or_both_ways() -> None:
    april = date(2026, 4, 3)
    assert days_in("03/04/2026", "fr") == (april,)
    assert days_in("03/04/2026", "en") == (date(2026, 3, 4), april)


@pytest.mark.parametrize(
    "cell",
    [
        "February 2026",
        "31.02.2026",
        "soon",
        "1 of 2026",
        "2026-02-28 2026-03-01",
        "2026-02-28 14:00 to 2026-03-01",
        "March 2026, 5 items",
        "5 items, March 2026",
    ],
)
def test_what_is_no_day_is_none(cell: str) -> None:
    assert days_in(cell) == ()


@pytest.mark.parametrize(
    ("cell", "operator", "value", "outcome"),
    [
        ("2026-03-01", "<", "2026-03", "no"),
        ("2026-03-31", "<=", "2026-03", "yes"),
        ("2026-03-31", ">", "2026-03", "no"),
        ("2026-03-15", "=", "2026-03", "yes"),
        ("2026-03-15", "=", "2026", "yes"),
        ("2026", "=", "2026", "yes"),
        ("EUR 2026", "=", "2026", "yes"),
        ("10", ">", "9", "yes"),
        ("ten", ">", "9", "unread"),
        ("Japan", "=", "JAPAN", "yes"),
        ("Japan, Kenya", "=", "Japan", "no"),
        ("1.234", ">", "5000", "no"),
        ("1.234", ">", "1", "yes"),
        ("1.234", ">", "1000", "ambiguous"),
        ("03/04/2026", "<", "2026-05", "yes"),
        ("03/04/2026", "<", "2026-04", "ambiguous"),
    ],
)
def test_comparisons(cell: str, operator: Operator, value: str, outcome: str) -> None:
    rule = ColumnRule(column="Column", operator=operator, value=value)
    assert compares(cell, rule).outcome == outcome
