"""Simulated people of `benchmarks.feedback_simulation`: what they look at and how they rate; nobody reads a text.

Everything is drawn from a generator that is passed in, so a run can be repeated. The behaviour differs on purpose from
what the estimator assumes: the writer cites passages that do not answer, answers are rated far more often than sources,
bad ones are often left without a rating, and some thumbs go up out of habit or by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from feedback.ranking.attribution import (
    CheckedSentence,
    CitedSource,
    Credit,
    RatedAnswer,
    RatingInput,
    attribute,
)

SHOWN = 6  # passages under an answer
SOURCE_RATINGS = 1 / 7  # share of the ratings that are of one source
RATED_IF_GOOD = 0.5  # chance that an answer is rated by somebody who would give it an up …
RATED_IF_BAD = 0.25  # … a down
ERRORS = 0.1  # share of a careful person's verdicts that are wrong
RANDOM_UPS = 0.8  # share of the ups of one who rates at random
REASONED = 0.3  # share of the downs that say `wrong_source`
# the model that writes the answer, and the site's check of what it cites
WRITER_FINDS = 0.75
WRITER_CITES_FIRST = 0.5
BORNE_OUT_IF_GOOD = 0.9
BORNE_OUT_IF_NOT = 0.35
PEOPLE = {"careful": 0.6, "lazy": 0.3, "random": 0.1}
Draw = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """temper: careful, lazy (always up) or random. joined: day, negative before the simulation begins."""

    number: int
    temper: str
    joined: int


def population(count: int, days: int, draw: Draw, tempers: Mapping[str, float]) -> list[Person]:
    """Three in five have been there before; the others join in the course of `days`."""
    people = []
    drawn = draw.choice(list(tempers), size=count, p=list(tempers.values()))
    for number, temper in enumerate(drawn):
        joined = draw.integers(-400, 0) if draw.random() < 0.6 else draw.integers(0, days)
        people.append(Person(number=number, temper=str(temper), joined=int(joined)))
    return people


def visit(person: Person, shown: Sequence[str], right: Set[str], draw: Draw) -> list[Credit]:
    """What somebody leaves behind after one answer, by the site's own attribution; mostly nothing.

    shown, right: ids of passages under the answer, and of those that answer.
    """
    cited = {at for at, one in enumerate(shown) if one in right and draw.random() < WRITER_FINDS}
    if not cited or draw.random() < WRITER_CITES_FIRST:
        cited.add(0)
    sentences = []
    for at in cited:
        chance = BORNE_OUT_IF_GOOD if shown[at] in right else BORNE_OUT_IF_NOT
        sentences.append(CheckedSentence("sentence", (at + 1,), bool(draw.random() < chance)))
    one_source = draw.random() < SOURCE_RATINGS
    judged = [int(draw.integers(len(shown)))] if one_source else list(cited)
    up = _verdict(person, any(shown[at] in right for at in judged), draw)
    if draw.random() >= (RATED_IF_GOOD if up else RATED_IF_BAD):
        return []
    rating = RatingInput(
        id=0,
        marker=judged[0] + 1 if one_source else None,
        score=5 if up else 1,
        tags=("wrong_source",) if not up and draw.random() < REASONED else (),
    )
    return attribute(_answer(len(shown), cited, sentences), [rating])


def hostile_credits(shown: Sequence[str], wrong: str, right: Set[str]) -> list[Credit]:
    """Up for the wrong passage, down for each that answers, each rated by itself and with a reason."""
    ratings = []
    for marker, passage in enumerate(shown, start=1):
        if passage == wrong:
            ratings.append(RatingInput(id=0, marker=marker, score=5, tags=("accurate",)))
        elif passage in right:
            ratings.append(RatingInput(id=0, marker=marker, score=1, tags=("wrong_source",)))
    return attribute(_answer(len(shown), {0}, []), ratings)


def _answer(shown: int, cited: Set[int], sentences: Sequence[CheckedSentence]) -> RatedAnswer:
    return RatedAnswer(
        text=" ".join(f"sentence [{at + 1}]." for at in sorted(cited)),
        decision="ANSWER",
        status="complete",
        sources=[CitedSource(at + 1, at in cited) for at in range(shown)],
        sentences=sentences,
    )


def _verdict(person: Person, good: bool, draw: Draw) -> bool:
    """Whether the thumb goes up."""
    if person.temper == "lazy":
        return True
    if person.temper == "random":
        return bool(draw.random() < RANDOM_UPS)
    return good != bool(draw.random() < ERRORS)
