"""Whether a run is worse than the last good one, so that noise does not ring. Pure.

Question by question, at each stage that both have: the mean of nDCG (of decisions, of right ones) has to fall by more
than the set's margin, and the bootstrap interval of the drop has to lie above 0. Search repeats itself exactly, so most
drops are 0; the interval then asks that at least three questions fell. What a model has a part in varies between runs,
so its interval is wider, and five have to fall. Questions where a fallback served in one run and not in the other say
nothing of the search, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from feedback.ranking.guard import FEWEST_GOLDEN, interval_of_mean
from retrieval.evaluation.stages import ASKING, DECISIONS

CONFIDENCE = 0.9  # of the interval
VARYING_CONFIDENCE = 0.98  # where a model has a part in it: chance alone passes its lower end once in a hundred times
NOTICEABLE = 0.001  # of nDCG


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A question's score at a stage, 0..1. fallback: whether a step could not do its own work."""

    score: float
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChange:
    """A stage in two runs, over the questions that both have and that can be compared.

    before, after: means, 0..1. drop: before − after, with its interval; of no questions all are 0. left_out: questions
    of both where a fallback served in one of them alone.
    """

    stage: str
    questions: int
    before: float
    after: float
    drop: float
    low: float
    high: float
    better: int
    worse: int
    left_out: int = 0

    def is_worse(self, margin: float) -> bool:
        return self.questions > 0 and self.drop > margin and self.low > 0.0

    def as_dict(self) -> dict[str, Any]:
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


Scores = Mapping[str, Scored]  # by question


def stage_change(stage: str, before: Scores, after: Scores, *, confidence: float = CONFIDENCE) -> StageChange:
    """Few questions are judged as if there were FEWEST_GOLDEN, and the others stayed as they are."""
    both = [question for question in after if question in before]
    alike = [question for question in both if before[question].fallback == after[question].fallback]
    drops = [before[question].score - after[question].score for question in alike]
    padded = drops + [0.0] * (max(0, FEWEST_GOLDEN - len(drops)) if drops else 0)
    low, high = interval_of_mean(padded, confidence=confidence)
    return StageChange(
        stage=stage,
        questions=len(alike),
        before=_mean([before[question].score for question in alike]),
        after=_mean([after[question].score for question in alike]),
        drop=_mean(padded),
        low=low,
        high=high,
        better=sum(drop < -NOTICEABLE for drop in drops),
        worse=sum(drop > NOTICEABLE for drop in drops),
        left_out=len(both) - len(alike),
    )


def what_is_worse(before: Mapping[str, Scores], after: Mapping[str, Scores], *, margin: float) -> list[StageChange]:
    """before, after: stage → question → score. The stages that fell, in the order of `after`."""
    asked = any(stage in ASKING for stage in after)  # a stage with a plus builds on those before
    changes = []
    for stage in after:
        if stage in before:
            varies = stage == DECISIONS or (asked and stage.startswith("+"))
            confidence = VARYING_CONFIDENCE if varies else CONFIDENCE
            changes.append(stage_change(stage, before[stage], after[stage], confidence=confidence))
    return [change for change in changes if change.is_worse(margin)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
