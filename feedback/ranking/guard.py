"""Decides whether a revision may go live. Pure.

It is compared with the live revision and with no feedback at all, by four kinds of questions:

- golden ones, whose right documents are known: nDCG@10 must not be lower, within a margin. Compared with no feedback
  too, so that small losses of many rounds do not add up.
- recent and rated ones: not too many of the ten top results may change, nor too many of the first places.
- contrast questions (`feedback.ranking.contrast`): ranked as if nobody had rated the question that they are made from.

Order is compared by rank-biased overlap (Webber, Moffat & Zobel, "A similarity measure for indefinite rankings", 2010).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from ragsite.core.wording import Sentence, counted, joined, worded, wordings_of
from retrieval.evaluation.metrics import ndcg

GOLDEN_MARGIN = 0.005  # nDCG@10 on the golden questions may drop by this much, not more
UNCLEAR = 2.0  # times the margin may be lost where a single question makes the difference
MOST_LOSS = 0.05  # nor may the upper end of the drop's interval be above this, however few questions there are
FEWEST_GOLDEN = 10  # fewer are judged as if there were so many, and the others stayed as they are
CONFIDENCE = 0.9  # of intervals
RESAMPLES = 2000
SEED = 5
MAX_CHURN = 0.5  # mean share of the 10 top results that may change; 0.47 where each of them was rated
MAX_FIRST_CHANGED = 0.5  # share of the recent questions near a changed boost whose first result may change
FIRST_FREE = 5  # so many first results may change in any case: a new site has few questions, and some are put right
PERSISTENCE = 0.9  # p of rank-biased overlap: the ten top results have 86 % of the weight
CONTRAST_OVERLAP = 0.9  # rank-biased overlap from which a contrast question is ranked as before
MAX_CONTRAST_MOVED = 0.1  # share of the contrast questions that may move

TOP = 10
SHOWN = 20  # questions that got worse, in the report
NOTICEABLE = 0.001  # of nDCG


class Outcome(StrEnum):
    """For programs. NOT_MEASURED: something was away. NOTHING_TO_MEASURE: there was no question to measure with."""

    PASSED = "passed"
    WORSE = "worse"
    NOT_MEASURED = "not_measured"
    NOTHING_TO_MEASURE = "nothing_to_measure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One question's best TOP ids under the live revision and under the new one.

    without: without feedback; of a contrast question with the priors of documents alone, which hold whatever is asked.
    None: not compared. relevant: id → grade, of golden questions. untouched: no boost in question is for a similar
    question, so it was not searched, and is ranked as before. contrast_of, change: of a contrast question, the rated
    question and what was changed in it.
    """

    question: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    without: Sequence[str] | None = None
    relevant: Mapping[str, int] = field(default_factory=dict)
    untouched: bool = False
    contrast_of: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    """A golden question with its nDCG@TOP, 0..1."""

    question: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The mean drop of nDCG@TOP over the golden questions, and the ends of its interval; above 0: worse."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """More than one question tells of it."""
        return self.low > 0.0

    @property
    def said(self) -> Sentence:
        return worded(
            "{mean} ({confidence} interval {low} to {high})",
            mean=f"{self.mean:.4f}", confidence=f"{CONFIDENCE:.0%}", low=f"{self.low:.4f}", high=f"{self.high:.4f}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A contrast question that is ranked otherwise than without the votes for the question that it is made of.

    overlap: rank-biased overlap, 0..1. first: whether the first result is another one.
    """

    question: str
    contrast_of: str
    change: str
    overlap: float
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """golden, recent, contrast: how many questions; measured: how many of all these were searched.

    ndcg: mean over the golden questions that were searched, 0..1, None where there are none. drop: over all golden
    questions, against the live revision, with drop_interval; drop_without: against no feedback. Of recent questions:
    churn, the mean share of the TOP ids that changed; overlap, the mean rank-biased overlap; first_changed: how many
    have another first result, of the first_measured that were searched. worse_count, moved_count: golden questions
    that got worse and contrast questions that moved; worse, moved: the SHOWN of them that did most. reason: why the
    revision is held; empty: it passes. outcome: the same for programs. not_measured: nothing is known of it, so that
    the same revision may pass another time. duration_ms: of the measuring.
    """

    golden: int = 0
    recent: int = 0
    contrast: int = 0
    measured: int = 0
    ndcg_without: float | None = None
    ndcg_before: float | None = None
    ndcg_after: float | None = None
    drop: float | None = None
    drop_interval: Sequence[float] | None = None
    drop_without: float | None = None
    drop_without_interval: Sequence[float] | None = None
    churn: float | None = None
    overlap: float | None = None
    first_changed: int = 0
    first_measured: int = 0
    worse_count: int = 0
    moved_count: int = 0
    worse: Sequence[Worse] = ()
    moved: Sequence[Moved] = ()
    reason: str = ""
    outcome: Outcome | None = None
    not_measured: bool = False
    notes: Sequence[str] = ()
    duration_ms: int = 0

    def __post_init__(self) -> None:
        outcome = self.outcome
        if outcome is None:
            held = Outcome.NOT_MEASURED if self.not_measured else Outcome.WORSE
            outcome = held if self.reason else Outcome.PASSED
        object.__setattr__(self, "outcome", outcome)
        object.__setattr__(self, "not_measured", outcome in (Outcome.NOT_MEASURED, Outcome.NOTHING_TO_MEASURE))

    @property
    def passed(self) -> bool:
        return not self.reason

    def _sentences(self) -> list[str]:
        return [self.reason, *self.notes, *(found.change for found in self.moved)]

    def as_dict(self) -> dict[str, Any]:
        lists = {name: list(map(asdict, getattr(self, name))) for name in ("worse", "moved")}
        known = {"wordings": wordings} if (wordings := wordings_of(self._sentences())) else {}
        told = {"notes": list(self.notes), "outcome": str(self.outcome), "passed": self.passed}
        return {**asdict(self), **lists, **told, **known}


# ------------------------------------------------------------------------------------------------ the judgement
def judge(
    golden: Sequence[Compared],
    recent: Sequence[Compared],
    contrast: Sequence[Compared] = (),
    *,
    margin: float,
    max_churn: float,
) -> GuardReport:
    """margin: by how much nDCG@TOP, the mean over all golden questions, may drop. max_churn: 0..1.

    Held is what loses more than the margin, or, where the interval's lower end is 0 since it is one question alone,
    more than UNCLEAR times the margin; and what may lose much (its upper end is above MOST_LOSS). So neither a small
    change of one of three golden questions decides, nor does a gain of one make up for the loss of another where there
    are only three.
    """
    searched = [question for question in golden if not question.untouched]
    values = {name: _ndcg_of(searched, name) for name in ("without", "before", "after")}
    against_live = _loss(values["before"], values["after"], len(golden))
    against_none = _loss(values["without"], values["after"], len(golden)) if values["without"] else None
    touched = [question for question in recent if not question.untouched]
    changed = _mean([churn(question.before, question.after) for question in recent])
    first_changed = sum(first_differs(question.before, question.after) for question in touched)
    moved = [found for question in contrast if not question.untouched and (found := _moved(question))]
    reasons = [
        *_golden_reasons(against_live, against_none, count=len(golden), margin=margin),
        *_recent_reasons(changed, first_changed, len(touched), max_churn=max_churn),
        *_contrast_reasons(moved, len(contrast)),
    ]
    worse = [
        Worse(question=question.question, before=round(was, 4), after=round(now, 4))
        for question, was, now in zip(searched, values["before"], values["after"], strict=True)
        if now < was - NOTICEABLE
    ]
    return GuardReport(
        golden=len(golden),
        recent=len(recent),
        contrast=len(contrast),
        measured=sum(not question.untouched for question in (*golden, *recent, *contrast)),
        ndcg_without=_rounded(_mean(values["without"])),
        ndcg_before=_rounded(_mean(values["before"])),
        ndcg_after=_rounded(_mean(values["after"])),
        drop=_rounded(against_live.mean if against_live else None),
        drop_interval=_ends(against_live),
        drop_without=_rounded(against_none.mean if against_none else None),
        drop_without_interval=_ends(against_none),
        churn=_rounded(changed),
        overlap=_rounded(_mean([rank_biased_overlap(question.before, question.after) for question in recent])),
        first_changed=first_changed,
        first_measured=len(touched),
        worse_count=len(worse),
        moved_count=len(moved),
        worse=sorted(worse, key=lambda question: question.after - question.before)[:SHOWN],
        moved=sorted(moved, key=lambda found: (not found.first, found.overlap))[:SHOWN],
        reason=joined("; ", reasons) if reasons else "",
        notes=() if golden else (NO_GOLDEN,),
    )


NO_GOLDEN = worded("there are no golden questions: whether the right documents come first was not measured")


def _golden_reasons(live: Loss | None, none: Loss | None, *, count: int, margin: float) -> list[Sentence]:
    """Against no feedback only what does not mend the live revision is held: that would keep the worse one live."""
    questions = counted("{count} golden question", "{count} golden questions", count)
    if count < FEWEST_GOLDEN:
        questions = worded("{questions}, counted as {fewest},", questions=questions, fewest=FEWEST_GOLDEN)
    found = [(live, worded("the live revision"))] if live else []
    if none and live and live.mean >= 0.0:
        found.append((none, worded("no feedback")))
    reasons = []
    for loss, other in found:
        most = margin if loss.clear else UNCLEAR * margin
        bound = worded("more than {most}", most=f"{most:g}") if loss.mean > most else ""
        if not bound and loss.high > max(MOST_LOSS, margin):
            bound = worded("so it may be more than {most}", most=f"{MOST_LOSS:g}")
        if bound:
            reasons.append(
                worded(
                    "nDCG@{top} on the {questions} drops by {loss} against {other}, {bound}",
                    top=TOP, questions=questions, loss=loss.said, other=other, bound=bound,
                )
            )  # fmt: skip
    return reasons


def _recent_reasons(changed: float | None, first_changed: int, touched: int, *, max_churn: float) -> list[Sentence]:
    reasons = []
    if changed is not None and changed > max_churn:
        reasons.append(
            worded(
                "{share} of the top results of recent questions would change, more than {most}",
                share=f"{changed:.0%}", most=f"{max_churn:.0%}",
            )
        )  # fmt: skip
    if first_changed > FIRST_FREE and first_changed > MAX_FIRST_CHANGED * touched:
        reasons.append(
            worded(
                "the first result of {changed} of {count} recent questions near a changed boost would be another, more "
                "than {most}",
                changed=first_changed,
                count=touched,
                most=f"{MAX_FIRST_CHANGED:.0%}",
            )
        )
    return reasons


def _contrast_reasons(moved: Sequence[Moved], count: int) -> list[Sentence]:
    if len(moved) <= MAX_CONTRAST_MOVED * count:
        return []
    worst = min(moved, key=lambda found: (not found.first, found.overlap))
    return [
        worded(
            "{moved} of {count} contrast questions are ranked otherwise by votes for another question, more than "
            "{most}: “{question}” by those for “{other}”",
            moved=len(moved),
            count=count,
            most=f"{MAX_CONTRAST_MOVED:.0%}",
            question=worst.question[:100],
            other=worst.contrast_of[:100],
        )
    ]


def _moved(question: Compared) -> Moved | None:
    without = question.without if question.without is not None else question.before
    overlap = rank_biased_overlap(without, question.after)
    first = first_differs(without, question.after)
    if overlap >= CONTRAST_OVERLAP and not first:
        return None
    return Moved(
        question=question.question, contrast_of=question.contrast_of, change=question.change,
        overlap=round(overlap, 4), first=first,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ measures
def rank_biased_overlap(left: Sequence[str], right: Sequence[str], *, p: float = PERSISTENCE) -> float:
    """How alike two rankings are, 0..1, the top weighing most; extrapolated from their first TOP ids.

    The ids of each are distinct. p: 0..1 exclusive, the probability of looking at one place more. RBO_ext for lists of
    different lengths, equation 32 of Webber, Moffat & Zobel (2010). 1 where both are empty.
    """
    short, long = sorted((left[:TOP], right[:TOP]), key=len)
    if not short:
        return 1.0 if not long else 0.0
    first, last = len(short), len(long)
    in_short: set[str] = set()
    in_long: set[str] = set()
    shared = [0]  # by depth
    for depth in range(1, last + 1):
        in_long.add(long[depth - 1])
        if depth <= first:
            in_short.add(short[depth - 1])
        shared.append(len(in_short & in_long))
    total = sum(shared[depth] / depth * p**depth for depth in range(1, last + 1))
    total += sum(shared[first] * (depth - first) / (first * depth) * p**depth for depth in range(first + 1, last + 1))
    tail = ((shared[last] - shared[first]) / last + shared[first] / first) * p**last
    return min(1.0, (1.0 - p) / p * total + tail)


def first_differs(left: Sequence[str], right: Sequence[str]) -> bool:
    return list(left[:1]) != list(right[:1])


def churn(before: Sequence[str], after: Sequence[str]) -> float:
    """Share of the first TOP ids that are not among those before, 0..1."""
    first = set(before[:TOP])
    return len(set(after[:TOP]) - first) / max(1, min(TOP, len(after)))


def interval_of_mean(values: Sequence[float], *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """By percentile bootstrap (Efron, 1979), always the same for the same values. Of no values (0, 0)."""
    if not values:
        return 0.0, 0.0
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    means = np.asarray(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)


def _loss(before: Sequence[float], after: Sequence[float], count: int) -> Loss | None:
    """before, after: nDCG of the questions that were searched. count: of all; the others did not change."""
    if not count:
        return None
    drops = [was - now for was, now in zip(before, after, strict=True)]
    drops += [0.0] * (max(count, FEWEST_GOLDEN) - len(drops))
    low, high = interval_of_mean(drops)
    return Loss(mean=sum(drops) / len(drops), low=low, high=high)


def _ndcg_of(questions: Sequence[Compared], name: str) -> list[float]:
    """Empty where one of them has no such ranking."""
    rankings = {str(place): getattr(question, name) for place, question in enumerate(questions)}
    if any(ranking is None for ranking in rankings.values()):
        return []
    qrels = {str(place): question.relevant for place, question in enumerate(questions)}
    return list(ndcg(qrels, rankings, k=TOP).values())


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _ends(loss: Loss | None) -> list[float] | None:
    return [round(loss.low, 4), round(loss.high, 4)] if loss else None
