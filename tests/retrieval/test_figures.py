"""Figures: the same one however it is written, and another one for what it is."""

from __future__ import annotations

import pytest

from retrieval.text.figures import known_figures, missing_figures, says_rounded, stated_figures


def missing(statement: str, known: str) -> list[str]:
    found = missing_figures(stated_figures(statement), known_figures(known), rounded=says_rounded(statement))
    return [figure.text for figure in found]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("50 %", "fifty percent"), ("50%", "百分之五十"), ("五成", "50 %"), ("50 %", "half of them"),
        ("1,000 euros", "EUR 1000"), ("€1,000", "1000 euros"), ("EUR 0.50 a day", "0.5 euro"), ("5000元", "五千元"),
        ("校長獎學金每學年5000歐元", "五千欧元"), ("1.2 million people", "1,200,000 people"),
        ("120万人", "1.2 million"),
        ("三亿", "300 million"), ("one hundred and twenty", "120"), ("twenty-five", "25"), ("12 books", "twelve books"),
        ("on 2025-03-01", "on 1 March 2025"), ("二〇二五年三月一日", "March 1, 2025"), ("1 March 2025", "2025年3月1日"),
        ("in March", "from March on"), ("2025年", "二〇二五年"), ("８ am", "08:00"), ("17:00", "5 p.m."),
        ("two weeks", "14 days"), ("48 hours", "two days"), ("12 months", "a year"), ("每周三次", "每周3次"),
        ("about 6 million", "6,123,000 people"), ("第三章", "chapter 3"), ("10-day", "10 days"), ("2015/16", "2015–16"),
        ("20 business days", "twenty working days"), ("15个工作日", "15 working days"), ("7 calendar days", "a week"),
    ],
)  # fmt: skip
def test_the_same_figure_in_another_form_is_there(statement: str, known: str) -> None:
    assert stated_figures(statement) or statement == "第三章"
    assert missing(statement, known) == []


@pytest.mark.parametrize(
    ("statement", "known", "told"),
    [
        ("90 %", "50 %", "90 %"), ("百分之九十", "百分之五十", "百分之九十"), ("30 days", "EUR 30", "30 days"),
        ("$55", "EUR 55", "$55"), ("13 books", "12 books", "13"), ("5 %", "0.5 %", "5 %"),
        ("in April", "in March", "April"),
        ("2026年", "2025年", "2026"), ("八千元", "五千元", "八千"), ("three weeks", "14 days", "three"),
        ("6.5 million", "6,123,000 people", "6.5 million"), ("1 June 2025", "1 July 2025", "1 June 2025"),
        ("within 20 days", "within 20 working days", "20 days"), ("15天", "15个工作日", "15天"),
    ],
)  # fmt: skip
def test_another_figure_is_missing(statement: str, known: str, told: str) -> None:
    assert missing(statement, known) == [told]


@pytest.mark.parametrize(
    "text", ["NLU-E107", "一般来说，十分重要", "the first one", "a second opinion", "B2", "万一", "you may"]
)
def test_what_states_no_amount_is_no_figure(text: str) -> None:
    assert stated_figures(text) == []
