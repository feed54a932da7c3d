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
        ("上午9点至晚上8点半", "上午九点到晚上八点半"), ("9:00至20:30", "上午九点到晚上八点半"),
        ("十一點三十分", "23:30"),
        ("下午三点", "15:00"), ("9点15分", "九点一刻"), ("20时30分", "晚八点半"),
        ("九点零五分", "9:05"), ("下午三点五十", "15:50"),
        ("三点五公里", "3.5 km"), ("3.5%", "百分之三点五"), ("三点一四", "3.14"), ("十二点五元", "12.5元"),
        ("0.2元", "两角"), ("1.5元", "一元五角"), ("5角", "0.5元"),
        ("380 cm", "3.8 m"), ("380cm", "3.8 metres"), ("20000克", "20 kg"), ("500 ml", "0.5 l"), ("5公分", "50 mm"),
        ("-18 °C", "−18°C"), ("minus 18 degrees", "−18 °C"), ("零下十八度", "-18℃"),
        ("5 degrees below zero", "零下5度"),
        ("20 °C", "18-20 °C"), ("20度", "18度-20度"), ("20 degrees", "20 °F"),
        ("9 am", "9:00"), ("9 pm", "from 9 on"), ("9:00", "21:00"), ("12 am", "0:00"), ("noon, 12 pm", "12:00"),
        ("民國一百年", "2011"), ("2025年3月1日", "民國114年3月1日"), ("民國元年", "1912年"),
        ("民國114年", "民國一一四年"),
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
        ("9:00至21:30", "上午九点到晚上八点半", "21:30"), ("上午十点", "上午九点", "上午十点"), ("2元", "两角", "2元"),
        ("9 am", "21:00", "9 am"), ("上午九点", "21点", "上午九点"), ("5 am", "from 9 to 17", "5 am"),
        ("12 pm", "0:00", "12 pm"),
        ("480 cm", "3.8 m", "480 cm"), ("20克", "20公斤", "20克"), ("5 °C", "-5 °C", "5 °C"),
        ("18度", "零下18度", "18度"),
        ("-5 °C", "20 to 5 °C", "5 °C"), ("20 °C", "20 °F", "20 °C"), ("民國99年", "2011年", "2010"),
        ("within 20 days", "within 20 working days", "20 days"), ("15天", "15个工作日", "15天"),
    ],
)  # fmt: skip
def test_another_figure_is_missing(statement: str, known: str, told: str) -> None:
    assert missing(statement, known) == [told]


@pytest.mark.parametrize(
    ("statement", "known", "told"),
    [
        ("on July 7", "§7 of the rules, in force since July", "July 7"),
        ("on July 7", "July, see sections 6 and 7", "July 7"), ("on July 7", "7. Fees\nPay in July.", "July 7"),
        ("on July 12", "12 books in July", "July 12"), ("on July 2", "two books in July", "July 2"),
        ("7 days", "§7", "7 days"), ("at 7:00", "Table 7", "7:00"), ("7 %", "page 7", "7 %"),
        ("7月7日", "第7条：七月起施行", "7月7日"), ("七月七日", "第七章，七月起施行", "七月七日"),
        ("7月12日", "7月可借12册", "7月12日"), ("7天", "附录7", "7天"), ("7月3日", "7月借三本书", "7月3日"),
    ],
)  # fmt: skip
def test_a_number_of_another_role_vouches_for_no_date_and_no_amount(statement: str, known: str, told: str) -> None:
    assert missing(statement, known) == [told]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("on July 7", "in July, on the 7th"), ("on July 9", "from July 7 to 9"), ("July 14", "7–14 July"),
        ("on July 8", "on July 7 and 8"), ("on July 7", "| July | 7 |"), ("by July 7", "till the 7th of July"),
        ("on July 2", "July, the second of the month"), ("at 17:00", "open from 9 to 17 on Mondays"),
        ("7月8日", "7月7、8日"), ("7月9日", "7月5日至9日"), ("7月5日", "七月，五日至九日"),
        ("7 books", "7 books"), ("7 books", "books: 7"), ("§7 says so", "7. Fees"), ("第7条", "第七条"),
        ("7 days", "part 7: 7 days"), ("20 %", "in part 20 %"), ("on May 7", "article 3, on 7 May"),
    ],
)  # fmt: skip
def test_a_date_or_amount_that_is_only_written_apart_is_there(statement: str, known: str) -> None:
    assert missing(statement, known) == []


@pytest.mark.parametrize(
    "text", ["NLU-E107", "一般来说，十分重要", "the first one", "a second opinion", "B2", "万一", "you may"]
)
def test_what_states_no_amount_is_no_figure(text: str) -> None:
    assert stated_figures(text) == []


@pytest.mark.parametrize(
    "text", ["请晚一点来", "早一点申请", "有三点要求", "有三点一是时间", "記點三點", "三角形有三个角", "第三点"]
)
def test_points_and_angles_are_neither_times_nor_money(text: str) -> None:
    assert not [figure for figure in stated_figures(text) if figure.unit in ("time", "money")]
