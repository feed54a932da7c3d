"""Decides whether a revision may go live. Pure.

It is compared with the live revision by two kinds of questions:

- golden ones, whose right documents are known: nDCG@10 must not drop by more than a margin; with few of them, by no
  more than chance explains (percentile bootstrap, Efron 1979).
- recent ones: not too much of the first results may change, by rank-biased overlap (Webber, Moffat & Zobel, "A
  similarity measure for indefinite rankings", 2010).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragsite.core.messages import Sentence, counted, joined, worded
from retrieval.evaluation.metrics import ndcg

GOLDEN_MARGIN = 0.005  # nDCG@10, the mean over golden questions, may drop by this much
MOST_LOSS = 0.05  # nor may the upper end of the drop's interval be above this
FEWEST_GOLDEN = 10  # fewer are counted as if there were so many, and the others stayed as they are
CONFIDENCE = 0.9
RESAMPLES = 2000
SEED = 5
LEAST_OVERLAP = 0.5  # mean rank-biased overlap of recent questions
MOST_FIRST_CHANGED = 0.5  # share of recent questions whose first result may change …
FIRST_FREE = 5  # … but so many in any case: a new site has few questions, and some are put right
PERSISTENCE = 0.9  # p of rank-biased overlap: the ten top results have 86 % of the weight
TOP = 10
SHOWN = 20  # questions that got worse, in the report
NOTICEABLE = 0.001  # of nDCG


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One question's best TOP ids under the live revision and under the new one. relevant: id → grade, of golden
    questions; empty: a recent one."""

    question: str
    before: Sequence[str]
    after: Sequence[str]
    relevant: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """golden, recent: how many questions were measured. ndcg: mean over the golden ones, 0..1; drop: above 0 is worse.
    overlap: mean rank-biased overlap of the recent ones, 0..1. first_changed: how many of these have another first
    result. worse: golden questions with their nDCG. reason: why the revision is held; empty: it passes. measured: False
    where something was away, so that the same revision may pass another time.
    """

    golden: int = 0
    recent: int = 0
    ndcg_before: float | None = None
    ndcg_after: float | None = None
    drop: float | None = None
    overlap: float | None = None
    first_changed: int = 0
    worse: Sequence[Mapping[str, Any]] = ()
    reason: str = ""
    notes: Sequence[str] = ()
    measured: bool = True


def judge(
    questions: Sequence[Compared],
    *,
    untouched_golden: int = 0,
    untouched_recent: int = 0,
    other_golden: int = 0,
) -> GuardReport:
    """questions: those whose ranking changes. untouched: how many there are beside these, ranked as before.
    other_golden: how many name no document, so that no ranking is right or wrong for them."""
    golden = [question for question in questions if question.relevant]
    recent = [question for question in questions if not question.relevant]
    before = _ndcg(golden, "before")
    after = _ndcg(golden, "after")
    drops = [was - now for was, now in zip(before, after, strict=True)]
    drop, interval = _drop([*drops, *[0.0] * untouched_golden])
    overlaps = [rank_biased_overlap(question.before, question.after) for question in recent]
    overlap = _mean([*overlaps, *[1.0] * untouched_recent])
    first_changed = sum(
        list(question.before[:1]) != list(question.after[:1]) for question in recent
    )
    reasons = [
        *_golden_reason(drop, interval),
        *_recent_reasons(overlap, first_changed, len(recent)),
    ]
    worse = sorted(
        (round(now, 4), round(was, 4), question.question)
        for question, was, now in zip(golden, before, after, strict=True)
        if now < was - NOTICEABLE
    )
    return GuardReport(
        golden=len(golden) + untouched_golden,
        recent=len(recent) + untouched_recent,
        ndcg_before=_mean(before),
        ndcg_after=_mean(after),
        drop=drop,
        overlap=overlap,
        first_changed=first_changed,
        worse=[
            {"question": question, "before": was, "after": now}
            for now, was, question in worse[:SHOWN]
        ],
        reason=joined("; ", reasons) if reasons else "",
        notes=() if golden or untouched_golden else (_nothing_measured(other_golden),),
    )


NO_GOLDEN = worded(
    "there are no test questions yet: add some to check that the right documents come first"
)


def _nothing_measured(other_golden: int) -> Sentence:
    if not other_golden:
        return NO_GOLDEN
    return counted(
        "the one test question names no document: add some that do, to check that the right ones come first",
        "none of the {count} test questions names a document: add some that do, to check that the right ones come "
        "first",
        other_golden,
    )


def _golden_reason(drop: float | None, interval: Sequence[float] | None) -> list[Sentence]:
    if drop is None or interval is None:
        return []
    low, high = interval
    # One question alone proves little: its interval begins at 0, and twice the margin is let pass.
    most = GOLDEN_MARGIN if low > 0.0 else 2.0 * GOLDEN_MARGIN
    if drop <= most and high <= MOST_LOSS:
        return []
    return [
        worded(
            "test questions are ranked worse: nDCG@{top} drops by {drop} ({confidence} interval {low} to {high})",
            top=TOP,
            drop=f"{drop:.4f}",
            confidence=f"{CONFIDENCE:.0%}",
            low=f"{low:.4f}",
            high=f"{high:.4f}",
        )
    ]


def _recent_reasons(overlap: float | None, first_changed: int, count: int) -> list[Sentence]:
    reasons = []
    if overlap is not None and overlap < LEAST_OVERLAP:
        reasons.append(
            worded(
                "the top results of recent questions would be another list: overlap {overlap}, at least {least}",
                overlap=f"{overlap:.2f}",
                least=f"{LEAST_OVERLAP:g}",
            )
        )
    if first_changed > max(FIRST_FREE, MOST_FIRST_CHANGED * count):
        reasons.append(
            worded(
                "the first result of {changed} of {count} recent questions would be another",
                changed=first_changed,
                count=count,
            )
        )
    return reasons


# ------------------------------------------------------------------------------------------------ measures
def rank_biased_overlap(
    left: Sequence[str], right: Sequence[str], *, p: float = PERSISTENCE
) -> float:
    """How alike two rankings are, 0..1, the top weighing most; extrapolated from their first TOP ids.

    The ids of each are distinct. p: 0..1 exclusive, the probability of looking at one place more. RBO_ext for lists of
    different lengths, equation 32 of Webber, Moffat & Zobel (2010). 1 where both are empty.
    """
    short, long = sorted((left[:TOP], right[:TOP]), key=len)
    if not short:
        return 1.0 if not long else 0.0
    first = len(short)
    last = len(long)
    shared = [len(set(short[:depth]) & set(long[:depth])) for depth in range(last + 1)]
    total = sum(shared[depth] / depth * p**depth for depth in range(1, last + 1))
    total += sum(
        shared[first] * (depth - first) / (first * depth) * p**depth
        for depth in range(first + 1, last + 1)
    )
    tail = ((shared[last] - shared[first]) / last + shared[first] / first) * p**last
    return min(1.0, (1.0 - p) / p * total + tail)


def _drop(drops: Sequence[float]) -> tuple[float | None, tuple[float, float] | None]:
    """The mean and the ends of its interval."""
    if not drops:
        return None, None
    values = np.zeros(max(len(drops), FEWEST_GOLDEN))
    values[: len(drops)] = drops
    rows = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    ends = np.quantile(
        values[rows].mean(axis=1), [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
    )
    return round(float(values.mean()), 4), (round(float(ends[0]), 4), round(float(ends[1]), 4))


def _ndcg(questions: Sequence[Compared], name: str) -> list[float]:
    rankings = {str(place): getattr(question, name) for place, question in enumerate(questions)}
    qrels = {str(place): question.relevant for place, question in enumerate(questions)}
    return list(ndcg(qrels, rankings, k=TOP).values()) if questions else []


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
