"""The figure that was asked for, where a model's answer has none: quoted from the passages behind its text.

Asked "How many minutes late may I arrive?", a small model tells what else the passage says of arriving late. What is
an amount can be told without a model, so what lacks is found, and the answer holds what the one without a model does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from retrieval.steps.answer.extractive import best_statements
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.grounding.claims import plain
from retrieval.steps.grounding.score import same_language
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.figures import DURATIONS, MONEY, Figure, known_figures, missing_figures, stated_figures, unit_of
from retrieval.text.language import detect_language, to_simplified
from retrieval.values import Source

STATEMENTS = 4  # of the passages, that are looked at
YEARS = range(1800, 2201)  # a bare number among them counts nothing
ANY = frozenset[str]()
# Of small letters, Simplified.
_COUNTED = re.compile(
    r"\bhow many (?P<en>[a-z]+)"
    r"|(?:多少|几) ?(?P<zh>个工作日|工作日|个星期|个小时|个月|分钟|小时|公里|公斤|[天周米元岁])"
)
_SHARE = re.compile(r"\bwhat (?:share|proportion|percentage|percent)\b|\bhow many per ?cent\b|百分之几|比例|百分比")
_LENGTH = re.compile(r"\bhow long (?:is|are|does|do|may|can|must|will)\b|多久|多长时间")
_PRICE = re.compile(
    r"\bhow much (?:is|are|does|do|must|will|would|should|money)\b|\bwhat (?:does|do) .{1,80} cost\b|多少钱"
)
_NUMBER = re.compile(r"\bhow many\b|多少[个名位人次种本册条件页]")
# Answers without a figure.
_NO_PRICE = re.compile(r"\bfree\b|\bno (?:charge|fee|cost)|\bnothing\b|免费|不收|无需付")
_NO_SHARE = re.compile(r"\b(?:all|entire|whole|full|fully|nothing|none)\b|全额|全部|不予?退")
_NO_NUMBER = re.compile(
    r"\b(?:no limit|unlimited|as many|any number|none|indefinitely)\b|不限|没有限制|无限制|没有上限"
)
_ASKED = (
    (_SHARE, ("%",), _NO_SHARE), (_LENGTH, DURATIONS, _NO_NUMBER), (_PRICE, MONEY, _NO_PRICE),
    (_NUMBER, ANY, _NO_NUMBER),
)  # fmt: skip


def figure_left_out(question: str, answer: str, sources: Sequence[Source], language: Language) -> str:
    """What to write behind the answer; "" where it has a figure, none is asked for, or no passage has one.

    Those of the statements that an answer without a model would quote: which of them is meant words can't tell.
    """
    units, without = _wanted(question)
    if units is None or without.search(to_simplified(answer).lower()):
        return ""
    asked = known_figures(question)
    if missing_figures([Figure(value, unit, "") for value, unit in known_figures(plain(answer))], asked):
        return ""
    quotes = [
        quote
        for quote in best_statements(question, sources, most=STATEMENTS)
        if _answers(quote.text, units, asked) and same_language(detect_language(answer), detect_language(quote.text))
    ]
    lines = [f"- {in_script_of(quote.text, language)} [{quote.marker}]" for quote in quotes]
    return "\n".join([phrase("figure_left_out", language), *lines]) if lines else ""


def _wanted(question: str) -> tuple[Collection[str] | None, re.Pattern[str]]:
    """The units of the figure that is asked for (empty: any will do; None: no figure is asked for), and what an answer
    without one would say."""
    question = to_simplified(question).lower()
    if (counted := _COUNTED.search(question)) and (unit := unit_of(counted["en"] or counted["zh"])):
        return DURATIONS if unit in DURATIONS else (unit,), _NO_NUMBER
    found = next((row for row in _ASKED if row[0].search(question)), None)
    return (found[1], found[2]) if found else (None, _NO_NUMBER)


def _answers(text: str, units: Collection[str], asked: Collection[tuple[float, str]]) -> bool:
    """Whether a statement has a figure of these units that the question does not have itself."""
    stated = [one for one in stated_figures(text) if one.unit in units or not (units or _is_date(one))]
    return bool(missing_figures(stated, asked))


def _is_date(figure: Figure) -> bool:
    return figure.unit in ("month", "date", "time", "clock") or (not figure.unit and figure.value in YEARS)
