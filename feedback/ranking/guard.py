"""Whether a revision may go live: golden questions no worse, recent questions not turned upside down. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import ir_measures
from ir_measures import nDCG

GOLDEN_MARGIN = 0.005  # nDCG@10 on the golden questions may drop by this much, not more
MAX_CHURN = 0.5  # mean share of the 10 top results that may change; 0.47 where each of them was rated

TOP = 10
SHOWN = 20  # questions that got worse, in the report
NOTICEABLE = 0.001  # of nDCG


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One question's best TOP ids under the live revision and under the new one. relevant: id → grade, empty for a
    recent question. untouched: no boost near it changes, so it was not searched, and is ranked as before."""

    question: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    relevant: Mapping[str, int] = field(default_factory=dict)
    untouched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    question: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """golden, recent: how many questions; measured: how many of them a changed boost is near to.

    ndcg: mean over the measured golden questions, 0..1, None where there are none. drop: over all golden questions.
    churn: mean share of the TOP ids that changed over all recent questions, 0..1. reason: why the revision is held;
    empty: it passes.
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

    @property
    def passed(self) -> bool:
        return not self.reason

    def as_dict(self) -> dict[str, Any]:
        told = {**asdict(self), "worse": [asdict(one) for one in self.worse]}
        return {**told, "notes": list(self.notes), "passed": self.passed}


def judge(golden: Sequence[Compared], recent: Sequence[Compared], *, margin: float, max_churn: float) -> GuardReport:
    """margin: by how much nDCG@10 may drop. Without golden questions the churn alone is bounded, and the notes say so.

    The drop is that of the mean over all golden questions.
    """
    measured = [one for one in golden if not one.untouched]
    before = ndcg([(one.before, one.relevant) for one in measured])
    after = ndcg([(one.after, one.relevant) for one in measured])
    drop = (sum(before) - sum(after)) / len(golden) if golden else None
    changed = _mean([churn(one.before, one.after) for one in recent])
    return GuardReport(
        golden=len(golden),
        recent=len(recent),
        measured=len(measured) + sum(not one.untouched for one in recent),
        ndcg_before=_rounded(_mean(before)),
        ndcg_after=_rounded(_mean(after)),
        drop=_rounded(drop),
        churn=_rounded(changed),
        worse=_worse(measured, before, after),
        reason="; ".join(_reasons(drop, margin, changed, max_churn)),
        notes=() if golden else ("there are no golden questions: only the churn was measured",),
    )


def _reasons(drop: float | None, margin: float, changed: float | None, max_churn: float) -> list[str]:
    reasons = []
    if drop is not None and drop > margin:
        reasons.append(f"nDCG@{TOP} on the golden questions drops by {drop:.4f}, more than {margin:g}")
    if changed is not None and changed > max_churn:
        reasons.append(f"{changed:.0%} of the top results of recent questions would change, more than {max_churn:.0%}")
    return reasons


def _worse(measured: Sequence[Compared], before: Sequence[float], after: Sequence[float]) -> list[Worse]:
    """The golden questions that got worse, the worst first."""
    worse = [
        Worse(question=one.question, before=round(was, 4), after=round(now, 4))
        for one, was, now in zip(measured, before, after, strict=True)
        if now < was - NOTICEABLE
    ]
    return sorted(worse, key=lambda one: one.after - one.before)[:SHOWN]


def ndcg(rankings: Sequence[tuple[Sequence[str], Mapping[str, int]]]) -> list[float]:
    """nDCG@TOP of each ranking, by trec_eval's definition (ir-measures)."""
    if not rankings:
        return []
    qrels = [
        ir_measures.Qrel(str(at), key, grade)
        for at, (_, wanted) in enumerate(rankings)
        for key, grade in wanted.items()
    ]
    run = [
        ir_measures.ScoredDoc(str(at), key, float(-place))
        for at, (ranking, _) in enumerate(rankings)
        for place, key in enumerate(ranking)
    ]
    values = {metric.query_id: float(metric.value) for metric in ir_measures.iter_calc([nDCG @ TOP], qrels, run)}
    return [values.get(str(at), 0.0) for at in range(len(rankings))]


def churn(before: Sequence[str], after: Sequence[str]) -> float:
    """Share of the first TOP ids that are not among those before, 0..1."""
    first = set(before[:TOP])
    return len(set(after[:TOP]) - first) / max(1, min(TOP, len(after)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
