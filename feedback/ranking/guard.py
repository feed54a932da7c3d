"""Decides whether a revision may go live: golden questions ranked no worse, recent ones not too differently. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from retrieval.evaluation.metrics import ndcg

GOLDEN_MARGIN = 0.005  # nDCG@10 on the golden questions may drop by this much, not more
MAX_CHURN = 0.5  # mean share of the 10 top results that may change; 0.47 where each of them was rated

TOP = 10
SHOWN = 20  # questions that got worse, in the report
NOTICEABLE = 0.001  # of nDCG


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One question's best TOP ids under the live revision and under the new one.

    relevant: id → grade, empty for a recent question. untouched: no changed boost is for a similar question, so it was
    not searched, and is ranked as before.
    """

    question: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    relevant: Mapping[str, int] = field(default_factory=dict)
    untouched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    """A golden question with its nDCG@TOP, 0..1."""

    question: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """golden, recent: how many questions; measured: how many of them were searched.

    ndcg: mean over the measured golden questions, 0..1, None where there are none. drop: over all golden questions.
    churn: mean share of the TOP ids that changed over all recent questions, 0..1. reason: why the revision is held;
    empty: it passes. not_measured: a search failed, so nothing is known of it.
    """

    golden: int = 0
    recent: int = 0
    measured: int = 0
    ndcg_before: float | None = None
    ndcg_after: float | None = None
    drop: float | None = None
    churn: float | None = None
    worse: Sequence[Worse] = ()
    reason: str = ""
    notes: Sequence[str] = ()
    not_measured: bool = False

    @property
    def passed(self) -> bool:
        return not self.reason

    def as_dict(self) -> dict[str, Any]:
        lists = {"worse": [asdict(question) for question in self.worse], "notes": list(self.notes)}
        return {**asdict(self), **lists, "passed": self.passed}


def judge(golden: Sequence[Compared], recent: Sequence[Compared], *, margin: float, max_churn: float) -> GuardReport:
    """margin: by how much nDCG@TOP, the mean over all golden questions, may drop. max_churn: 0..1.

    Without golden questions only the churn is bounded, and the notes say so.
    """
    measured = [question for question in golden if not question.untouched]
    qrels = {str(place): question.relevant for place, question in enumerate(measured)}
    before = list(ndcg(qrels, {str(place): question.before for place, question in enumerate(measured)}, k=TOP).values())
    after = list(ndcg(qrels, {str(place): question.after for place, question in enumerate(measured)}, k=TOP).values())
    drop = (sum(before) - sum(after)) / len(golden) if golden else None
    changed = _mean([churn(question.before, question.after) for question in recent])
    reasons = []
    if drop is not None and drop > margin:
        reasons.append(f"nDCG@{TOP} on the golden questions drops by {drop:.4f}, more than {margin:g}")
    if changed is not None and changed > max_churn:
        reasons.append(f"{changed:.0%} of the top results of recent questions would change, more than {max_churn:.0%}")
    worse = [
        Worse(question=question.question, before=round(was, 4), after=round(now, 4))
        for question, was, now in zip(measured, before, after, strict=True)
        if now < was - NOTICEABLE
    ]
    return GuardReport(
        golden=len(golden),
        recent=len(recent),
        measured=len(measured) + sum(not question.untouched for question in recent),
        ndcg_before=_rounded(_mean(before)),
        ndcg_after=_rounded(_mean(after)),
        drop=_rounded(drop),
        churn=_rounded(changed),
        worse=sorted(worse, key=lambda question: question.after - question.before)[:SHOWN],
        reason="; ".join(reasons),
        notes=() if golden else ("there are no golden questions: only the churn was measured",),
    )


def churn(before: Sequence[str], after: Sequence[str]) -> float:
    """Share of the first TOP ids that are not among those before, 0..1."""
    first = set(before[:TOP])
    return len(set(after[:TOP]) - first) / max(1, min(TOP, len(after)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
