"""Rates of ratings corrected for what was asked: of like questions only, each workflow beside the others.

People choose workflows, so one that is used for hard questions looks worse than it is. Here an answer is compared with
answers of the others to questions of the same kind (a stratum): the same language, collection and length, first of its
conversation or not. The strata are put together by Mantel and Haenszel's weights, n1·n0/(n1+n0), which are largest
where both have many and nought where one has none: both sides are thereby standardised to the same questions.

Within a stratum a person counts once on each side, with their share of good ratings, so that few who rate much don't
decide. What is not in the strata (how hard a question is otherwise, how strict a person rates) is not corrected for.

Sources: Greenland and Robins, "Estimation of a common effect parameter from sparse follow-up data", Biometrics 41
(1985); the variance by Sato, Biometrics 45 (1989), which holds for few large strata and for many small ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db.models import Q
from django.db.models.functions import Length
from django.utils import timezone

from chat.models import AnswerReview, ReviewedCollection
from chat.review.figures.intervals import Z_95
from chat.review.figures.rollups import BAD_SCORE, GOOD_SCORE
from ragsite.core.wording import Sentence, worded

MOST = 10_000  # rated answers that are looked at, the newest
LENGTHS = (40, 120)  # characters of a question: short, middle, long
LEAST_PEOPLE = 20  # of one side, each counted once in a stratum
LEAST_SHARED = 0.5  # of a side's answers that have to be in strata with answers of the others
AT_ONCE = 5_000
Hits = tuple[float, float]  # people who say so, people
Stratum = tuple[str, ...]
_Cells = Mapping[tuple[Stratum, int], Mapping[str, Sequence[int]]]  # stratum, person → side → good, bad, all


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """side: its workflow, or model. stratum: what its question has in common with others."""

    side: str
    stratum: Stratum
    person: int
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """rate and others: both standardised to the same questions, 0..1; low and high: of rate, as far as it differs from
    the others, for one look. shared: of its rated answers, those that resemble answers of the others, 0..1."""

    rate: float
    others: float
    low: float
    high: float
    shared: float


def corrected_rates(answers: Sequence[RatedAnswer]) -> dict[str, dict[str, Corrected | Sentence]]:
    """Of each side its `good` and `bad` rate against all others, or the sentence why not."""
    cells: dict[tuple[Stratum, int], dict[str, list[int]]] = defaultdict(dict)
    for answer in answers:
        counts = cells[answer.stratum, answer.person].setdefault(answer.side, [0, 0, 0])
        for at, holds in enumerate((answer.score >= GOOD_SCORE, answer.score <= BAD_SCORE, True)):
            counts[at] += holds
    sides = sorted({answer.side for answer in answers})
    return {side: {"good": _corrected(cells, side, 0), "bad": _corrected(cells, side, 1)} for side in sides}


def mantel_haenszel(strata: Iterable[tuple[Hits, Hits]]) -> tuple[float, float, float] | None:
    """(rate of the first, rate of the second, standard error of the difference), both standardised to n1·n0/(n1+n0).

    strata: (hits, count) of both. None where no stratum has both.
    """
    weight = first = second = p = q = 0.0
    for (a, n1), (b, n0) in strata:
        if not (n1 and n0):
            continue
        total = n1 + n0
        weight += n1 * n0 / total
        first += a * n0 / total
        second += b * n1 / total
        p += (n1 * n1 * b - n0 * n0 * a + n1 * n0 * (n0 - n1) / 2) / total**2
        q += (a * (n0 - b) + b * (n1 - a)) / (2 * total)
    if not weight:
        return None
    difference = (first - second) / weight
    return first / weight, second / weight, math.sqrt(max(0.0, difference * p + q)) / weight


def _corrected(cells: _Cells, side: str, which: int) -> Corrected | Sentence:
    own, others = _counted(cells, side, which)
    people = sum(count for _, count in own.values())
    if people < LEAST_PEOPLE:
        return worded("Too few people have rated it to correct its rate ({count} of {least}).",
                      count=round(people), least=LEAST_PEOPLE)  # fmt: skip
    shared = sum(count for stratum, (_, count) in own.items() if stratum in others) / people
    found = mantel_haenszel((own[stratum], others[stratum]) for stratum in own if stratum in others)
    like = sum(count for stratum, (_, count) in others.items() if stratum in own)
    if found is None or shared < LEAST_SHARED or like < LEAST_PEOPLE:
        return worded(
            "Too few of its questions resemble questions that others answered ({percent} %): it can't be corrected.",
            percent=round(100 * shared),
        )
    rate, of_others, error = found
    low, high = max(0.0, rate - Z_95 * error), min(1.0, rate + Z_95 * error)
    return Corrected(rate=rate, others=of_others, low=low, high=high, shared=shared)


def _counted(cells: _Cells, side: str, which: int) -> tuple[dict[Stratum, Hits], dict[Stratum, Hits]]:
    """By stratum, each person once on the side and once on the others'."""
    own: dict[Stratum, Hits] = {}
    others: dict[Stratum, Hits] = {}
    for (stratum, _), sides in cells.items():
        hits, count = (sum(counts[at] for name, counts in sides.items() if name != side) for at in (which, 2))
        if count:
            _add(others, stratum, hits / count)
        if mine := sides.get(side):
            _add(own, stratum, mine[which] / mine[2])
    return own, others


def _add(counted: dict[Stratum, Hits], stratum: Stratum, share: float) -> None:
    hits, people = counted.get(stratum, (0.0, 0.0))
    counted[stratum] = (hits + share, people + 1)


# ------------------------------------------------------------------------------------------------ read
def rated_answers(*, side: Literal["workflow", "model"], where: Q) -> list[RatedAnswer]:
    """The newest rated answers of these days, MOST at most."""
    rows = AnswerReview.objects.filter(where, worst_score__isnull=False).order_by("-created_at", "-pk")
    columns = ("pk", side, "language", "user_id", "worst_score", "message__reply_to__follows")
    read = list(rows.annotate(length=Length("message__reply_to__text")).values_list(*columns, "length")[:MOST])
    collections = _collections([row[0] for row in read])
    return [
        RatedAnswer(
            side=name,
            stratum=(language, collections.get(pk, ""), str(sum((length or 0) >= step for step in LENGTHS)),
                     "first" if follows is None else "later"),
            person=user_id,
            score=score,
        )
        for pk, name, language, user_id, score, follows, length in read
    ]  # fmt: skip


def _collections(answers: Sequence[int]) -> Mapping[int, str]:
    """Of each the collection that it was asked of or found something in; of several, that they are."""
    found: dict[int, str] = {}
    for start in range(0, len(answers), AT_ONCE):
        links = ReviewedCollection.objects.filter(answer__in=answers[start : start + AT_ONCE])
        for answer, collection in links.values_list("answer_id", "collection_id"):
            found[answer] = "several" if answer in found else str(collection)
    return found


def between(since: Any, until: Any) -> Q:
    """Answers of these days of the site, both included."""
    first, last = (
        timezone.make_aware(datetime(day.year, day.month, day.day)) for day in (since, until + timedelta(days=1))
    )
    return Q(created_at__gte=first, created_at__lt=last)
