"""Contrast questions: a rated question changed in one place, so that it asks something else. Pure.

What was voted for the one question says nothing about the other, though embeddings of the two are nearly equal. So a
revision may not change what is found for the other. They are made without a model, in English and Chinese (either
script): another number or year, an opposite (`retrieval.answerability.oppositions`), another rated question's name, a
negation. Method: contrast sets (Gardner et al., "Evaluating Models' Local Decision Boundaries via Contrast Sets",
2020), there written by hand.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from feedback.ranking.question_similarity import TermIndex
from ragsite.core.wording import worded
from retrieval.answerability.oppositions import turned_round
from retrieval.answerability.question import names_in
from retrieval.text.analysis import query_terms
from retrieval.text.language import converted, to_simplified

MAX_CHARS = 500  # a longer question is no question but a text, in which one word changes little
MOST_NAMES = 200  # of rated questions, to take one from
SEED = 5
_NUMBER = re.compile(r"\d+")
_YEAR = range(1900, 2100)
# "which … may" and so on: a question that is answered by yes or no asks the same when it is negated.
_ASKS_WHAT = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_MODAL = re.compile(r"\b(?:may|can|could|must|should|is|are|was|were|does|do|did|will|would|has|have)\b", re.IGNORECASE)
_NOT = re.compile(r"\bnot\b|n['’]t\b", re.IGNORECASE)
_ASKS_WHAT_HAN = re.compile(r"谁|什么|哪|何时|为什么|为何|怎么|怎样|如何|多少|几")
_MODAL_HAN = re.compile(r"可以|需要|应该|必须|能够|允许|适用|包括|属于")
_NOT_HAN = re.compile(r"[不没无未非勿]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """question: the id of the rated question whose text `source` is. change: what differs, e.g. "another number"."""

    question: int
    source: str
    text: str
    change: str


def contrasts_of(
    questions: Mapping[int, str], rated_terms: Mapping[int, Sequence[str]], *, limit: int
) -> list[Contrast]:
    """At most `limit`, first one of each question, then a second one, in the order of the questions.

    questions: id → text, of those to make them from. rated_terms: id → analysed terms, of all that are rated. A
    contrast question that is nearer to another rated question is left out: that one's votes count for it.
    """
    names = _names_of(questions.values())
    index = TermIndex(list(rated_terms.values()))
    place_of = {question: place for place, question in enumerate(rated_terms)}
    known = {_plain(text) for text in questions.values()}
    rows = []
    for question, text in questions.items():
        own = [
            Contrast(question=question, source=text, text=other, change=change)
            for change, other in changed(text, names)
            if _plain(other) not in known and not _nearer_to_another(other, index, place_of.get(question))
        ]
        rows.append(own)
    in_turns = [row[turn] for turn in range(len(_CHANGES)) for row in rows if turn < len(row)]
    return in_turns[:limit]


def changed(text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What was changed, and the changed text, for each way that this text can be changed in. In the text's script.

    names: of other questions.
    """
    if len(text) > MAX_CHARS:
        return
    simplified = to_simplified(text)
    traditional = simplified != text
    for change, apply in _CHANGES:
        other = apply(simplified, names)
        if other and other != simplified:
            yield change, converted(other, "s2t") if traditional else other


# ------------------------------------------------------------------------------------------------ one change each
def _another_number(text: str, names: Sequence[str]) -> str:
    """Of several the last: what stands first is often the number of a rule or a section."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return ""
    number = found[-1]
    digits = number[0]
    if len(digits) == 4 and int(digits) in _YEAR:
        other = str(int(digits) - 3)
    else:  # the first digit: 10 becomes 30, 2.5 becomes 2.7
        other = str((int(digits[0]) + 1) % 9 + 1) + digits[1:]
    return text[: number.start()] + other + text[number.end() :]


def _opposite(text: str, names: Sequence[str]) -> str:
    return turned_round(text)


def _another_name(text: str, names: Sequence[str]) -> str:
    """The longest of its names, by one of the others of the same kind of script and case."""
    own = [name for name in names_in(text) if len(name) > 1 and not _NUMBER.search(name)]
    if not own:
        return ""
    name = max(own, key=len)
    there = text.casefold()
    others = [
        other for other in names
        if other.casefold() not in there and other.isascii() == name.isascii() and other.isupper() == name.isupper()
    ]  # fmt: skip
    if not others:
        return ""
    return text.replace(name, random.Random(f"{SEED}:{text}").choice(others), 1)  # noqa: S311


def _negation(text: str, names: Sequence[str]) -> str:
    """Of a question that asks who, what or when, not of one that is answered by yes or no."""
    if (asks := _ASKS_WHAT.search(text)) and not _NOT.search(text):
        modal = _MODAL.search(text, asks.end())
        return f"{text[: modal.end()]} not{text[modal.end() :]}" if modal else ""
    if _ASKS_WHAT_HAN.search(text) and not _NOT_HAN.search(text) and (modal := _MODAL_HAN.search(text)):
        return f"{text[: modal.start()]}不{text[modal.start() :]}"
    return ""


_CHANGES: tuple[tuple[str, Callable[[str, Sequence[str]], str]], ...] = (
    (worded("another number"), _another_number),
    (worded("the opposite"), _opposite),
    (worded("another name"), _another_name),
    (worded("negated"), _negation),
)


# ------------------------------------------------------------------------------------------------ parts
def _names_of(texts: Iterable[str]) -> list[str]:
    """Distinct, without numbers and codes."""
    names = dict.fromkeys(name for text in texts for name in names_in(text) if len(name) > 1)
    return [name for name in names if not _NUMBER.search(name)][:MOST_NAMES]


def _nearer_to_another(text: str, index: TermIndex, own: int | None) -> bool:
    """Whether its terms have more in common with another rated question's than with those of its own."""
    overlap, _ = index.compare(query_terms(text))
    highest = float(overlap.max(initial=0.0))
    return own is None or highest > float(overlap[own]) + 1e-6


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
