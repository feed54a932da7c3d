"""Hostile cohorts: accounts that agree to lift one wrong passage for each of their target questions."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from benchmarks.feedback.users import SHOWN, Draw, Person
from feedback.ranking.attribution import CitedSource, Credit, RatedAnswer, RatingInput, attribute

TARGETS = 18  # questions
FIRST_NUMBER = 10_000  # of a hostile account
SHARED_BLOCK = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """accounts: how many. honest: how many questions each rates rightly before. same_block: share of one address
    block. fresh: they join in the days before they begin."""

    accounts: int
    honest: int = 0
    same_block: float = 0.0
    fresh: bool = False


COHORTS = {
    "20 new accounts": Cohort(accounts=20, same_block=0.5, fresh=True),
    "10 old accounts": Cohort(accounts=10),
    "slow infiltration": Cohort(accounts=10, honest=20),
}


def hostile_accounts(cohort: Cohort, *, begins: int, draw: Draw) -> list[Person]:
    """begins: the day of their first votes."""
    return [
        Person(
            number=FIRST_NUMBER + at,
            temper="careful",
            joined=int(begins - draw.integers(0, 4))
            if cohort.fresh
            else int(draw.integers(-400, -30)),
            block=SHARED_BLOCK if draw.random() < cohort.same_block else 2000 + at,
            confirmed=bool(draw.random() < 0.5),
            patience=1.0,
        )
        for at in range(cohort.accounts)
    ]


def lifted_passage(ranking: Sequence[int], relevant: Set[int]) -> int | None:
    """The passage that a cohort agrees on: the last shown one that does not answer."""
    wrong = [passage for passage in ranking[:SHOWN] if passage not in relevant]
    return wrong[-1] if wrong else None


def hostile_credits(shown: Sequence[int], wrong: int | None, relevant: Set[int]) -> list[Credit]:
    """Up for the wrong passage, down for each that answers, each rated by itself and with a reason."""
    ratings = []
    for place, passage in enumerate(shown[:SHOWN]):
        if passage == wrong:
            ratings.append(RatingInput(id=0, marker=place + 1, score=5, tags=("accurate",)))
        elif passage in relevant:
            ratings.append(RatingInput(id=0, marker=place + 1, score=1, tags=("wrong_source",)))
    answer = RatedAnswer(
        text="sentence [1].",
        decision="ANSWER",
        status="complete",
        sources=[CitedSource(place + 1, place == 0) for place in range(len(shown[:SHOWN]))],
    )
    return attribute(answer, ratings)
