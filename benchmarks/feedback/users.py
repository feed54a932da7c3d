"""Simulated people: what they look at, how they rate, and who they are to the site. No model, no text is read.

Everything is drawn from a generator that is passed in, so a run can be repeated. The behaviour differs on purpose from
what the estimator assumes: few places are looked at, thumbs go up out of habit, answers are rated far more often than
sources, bad answers are often left without a rating, and some passages look right to everybody and are not.
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
# chance that an answer is rated by somebody who would give it an up, a down
RATED_IF_GOOD = 0.5
RATED_IF_BAD = 0.25
UP_IF_INDIFFERENT = 0.8
FOOLED = 0.85  # chance that a passage which looks right is taken for right
# the model that writes the answer
WRITER_FINDS = 0.75
WRITER_IS_FOOLED = 0.5
WRITER_CITES_FIRST = 0.5
# chance that the site's check of a cited sentence finds it borne out
BORNE_OUT_IF_GOOD = 0.9
BORNE_OUT_IF_NOT = 0.35
NO_ANSWER = 0.3  # chance that it declines, where nothing shown answers
# Share of the verdicts that are wrong; None: it says nothing about what was shown.
ERROR: Mapping[str, float | None] = {"careful": 0.1, "ordinary": 0.1, "lazy": None, "random": None}
PEOPLE = {"careful": 0.35, "ordinary": 0.45, "lazy": 0.12, "random": 0.08}
UP_SHARES = (0.6, 0.8, 0.9)  # of those who rate at random
OFFICES = 3  # address blocks that many honest people share
Draw = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """joined: day, negative before the simulation begins. block: of their address. patience: chance to go on from one
    place to the next. up_share: of one who rates at random. noise: chance that a verdict is turned round besides."""

    number: int
    temper: str
    joined: int
    block: int
    confirmed: bool
    patience: float
    up_share: float = 1.0
    noise: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What one person leaves behind after one answer."""

    credits: tuple[Credit, ...] = ()

    @property
    def rated(self) -> bool:
        return bool(self.credits)


def population(
    count: int,
    days: int,
    draw: Draw,
    *,
    tempers: Mapping[str, float],
    noise: float = 0.0,
    up_share: float | None = None,
) -> list[Person]:
    """Three in five have been there before; the others join in the course of `days`."""
    kinds = list(tempers)
    chosen = draw.choice(
        len(kinds), size=count, p=np.asarray(list(tempers.values())) / sum(tempers.values())
    )
    return [
        Person(
            number=number,
            temper=kinds[int(kind)],
            joined=int(draw.integers(-400, 0) if draw.random() < 0.6 else draw.integers(0, days)),
            block=int(draw.integers(OFFICES)) if draw.random() < 0.3 else 1000 + number,
            confirmed=bool(draw.random() < 0.7),
            patience=float(draw.beta(6.0, 2.0)),
            up_share=up_share if up_share is not None else float(draw.choice(UP_SHARES)),
            noise=noise,
        )
        for number, kind in enumerate(chosen)
    ]


def cited_by_writer(
    shown: Sequence[int], relevant: Set[int], lures: Set[int], draw: Draw
) -> list[int]:
    """Places, from 0, that the answer cites. Empty: it declines to answer."""
    cited = [
        place
        for place, passage in enumerate(shown)
        if draw.random()
        < (WRITER_FINDS if passage in relevant else WRITER_IS_FOOLED if passage in lures else 0.0)
    ]
    if not cited and draw.random() < NO_ANSWER:
        return []
    if not cited or draw.random() < WRITER_CITES_FIRST:
        cited = sorted({0, *cited})
    return cited


def visit(
    person: Person,
    shown: Sequence[int],
    relevant: Set[int],
    lures: Set[int],
    draw: Draw,
    *,
    answers_only: bool = False,
) -> Visit:
    """One answer, through the site's own attribution. relevant: what answers. lures: what looks right and is not."""
    shown = shown[:SHOWN]
    cited = cited_by_writer(shown, relevant, lures, draw)
    if not cited:
        return Visit()
    page = sorted(
        range(len(shown)), key=lambda place: (place not in cited, place)
    )  # what the answer cites comes first
    looked_at = page[: examined(person, len(page), draw)]
    seems_right = {
        place: _seems_right(shown[place], relevant, lures, draw) for place in {*looked_at, *cited}
    }
    borne_out = {
        place: bool(
            draw.random() < (BORNE_OUT_IF_GOOD if shown[place] in relevant else BORNE_OUT_IF_NOT)
        )
        for place in cited
    }
    answer = RatedAnswer(
        text=" ".join(f"sentence [{place + 1}]." for place in cited),
        decision="ANSWER",
        status="complete",
        sources=[CitedSource(place + 1, place in cited) for place in range(len(shown))],
        sentences=[CheckedSentence("sentence", (place + 1,), borne_out[place]) for place in cited],
    )
    marker = None
    if not answers_only and draw.random() < SOURCE_RATINGS:
        marker = int(draw.choice(looked_at)) + 1
        good = seems_right[marker - 1]
    else:
        good = any(seems_right[place] for place in cited)
    up = verdict(person, good, draw)
    if draw.random() >= (RATED_IF_GOOD if up else RATED_IF_BAD):
        return Visit()
    rating = RatingInput(id=0, marker=marker, score=5 if up else 1, tags=_reasons(up, draw))
    return Visit(credits=tuple(attribute(answer, [rating])))


def examined(person: Person, count: int, draw: Draw) -> int:
    """How many places somebody looks at: the first, and each next one with the chance of their patience."""
    looked_at = 1
    while looked_at < count and draw.random() < person.patience:
        looked_at += 1
    return looked_at


def verdict(person: Person, good: bool, draw: Draw) -> bool:
    """Whether the thumb goes up."""
    error = ERROR[person.temper]
    if person.temper == "lazy":
        up = True
    elif error is None:
        up = bool(draw.random() < person.up_share)
    elif person.temper == "ordinary" and not good and draw.random() < 0.5:
        up = bool(draw.random() < UP_IF_INDIFFERENT)
    else:
        up = good != bool(draw.random() < error)
    return up != bool(draw.random() < person.noise)


def _seems_right(passage: int, relevant: Set[int], lures: Set[int], draw: Draw) -> bool:
    return passage in relevant or (passage in lures and bool(draw.random() < FOOLED))


def _reasons(up: bool, draw: Draw) -> tuple[str, ...]:
    chance = draw.random()
    if up:
        return ("helpful",) if chance < 0.1 else ("accurate",) if chance < 0.15 else ()
    return ("wrong_source",) if chance < 0.3 else ("style",) if chance < 0.45 else ()
