"""How far passages support a statement.

A number that no passage has makes a statement unsupported whatever words they share; where the question has it, or the
passage may have it in words, the statement is weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.messages import joined, worded
from retrieval.engine.steps.grounding.overlap import (
    SentencePlace,
    is_comparable,
    overlap,
    passage_terms,
    statement_weights,
)
from retrieval.engine.text.numbers import (
    NUMBER_SIGN,
    known_numbers,
    number_term,
    stated_numbers,
)
from retrieval.engine.text.term_weights import held_share
from retrieval.engine.values import StoredChunk

NUMBERS_CHECKED = 0.2  # share of the score that its numbers make up: to have them says little, to lack one is decisive
MIN_TERMS = 2  # fewer say nothing that could be looked up: "Yes.", "So it is."
REFUTED_CAP = 0.2  # the most that a statement gets with a number that no passage has
WEAK_CAP = 0.4  # and with one that only the question has, or one wrong number beside a right one
MOST_SPELT = 12  # numbers up to it are written out in prose, in any language
COMPARABLE = 0.5  # score from which the words were found, whatever language they are in


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """score: 0..1; None: it can't be checked. reason: for None and for a capped score. places: (index of a passage,
    its sentence or two that are nearest)."""

    score: float | None
    reason: str = ""
    places: tuple[tuple[int, SentencePlace], ...] = ()


def support(statement: str, passages: Sequence[StoredChunk], *, question: str) -> SentenceSupport:
    """How far the passages together support the statement: half by the best place, half by all that they say."""
    weights = statement_weights(statement, question, passages, number_share=NUMBERS_CHECKED)
    numbers = stated_numbers(statement)
    if len(weights) < MIN_TERMS and not numbers:
        return SentenceSupport(None, worded("it is too short to be looked up"))
    overlaps = [overlap(weights, passage) for passage in passages]
    places = tuple((at, found.place) for at, found in enumerate(overlaps) if found.near)
    held = frozenset[str]().union(*map(passage_terms, passages))
    nearest = max((found.near for found in overlaps), default=0.0)
    together = held_share(weights, held)
    score = 0.5 * nearest + 0.5 * together
    if score < COMPARABLE and not is_comparable(statement, passages):
        return SentenceSupport(None, worded("the passage is in another language"), places)
    missing = {}
    for value, written in numbers.items():
        if number_term(value) not in held:
            missing[value] = written
    if not missing:
        return SentenceSupport(score, places=places)
    written_numbers = joined(", ", missing.values())
    question_numbers = known_numbers(question)
    if question_numbers.issuperset(missing):
        return SentenceSupport(
            min(score, WEAK_CAP),
            worded("only the question says it: {told}", told=written_numbers),
            places,
        )
    near = max(overlaps, key=lambda found: found.near)
    given = {term for term in near.place.terms if term.startswith(NUMBER_SIGN)}
    others = given - {number_term(value) for value in numbers}
    is_one_right = bool(numbers.keys() - missing.keys() - question_numbers)
    cap = WEAK_CAP if is_one_right or (max(missing) <= MOST_SPELT and not others) else REFUTED_CAP
    return SentenceSupport(
        min(score, cap),
        worded("not in the passage: {told}", told=written_numbers),
        places,
    )
