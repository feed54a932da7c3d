"""What it is worth to ask a model where the estimate is unsure: right decisions and costs against how many are asked.

Of an estimate of at least `sure` the decision is ANSWER, of one below `hopeless` NO_ANSWER; in between the model's word
alone decides. In the first row nobody is asked. The judges are an oracle, one that is
right three times in four whatever the question, and a coin; what they come to is computed, not drawn. Half of the
questions can be answered; of those that can not, as many had their passages taken out as were never answerable, where a
set has such (written by people, or altered by rule).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
WRONG_ANSWER, WRONG_REFUSAL, SECOND = 3.0, 2.0, 0.05  # costs
SECONDS = {"GPU": 0.6, "CPU": 40.0}  # of one judgement
JUDGES = {"oracle": 1.0, "75 %": 0.75, "coin": 0.5}  # how often it is right
BANDS = (
    (0.4, 0.4), (0.35, 0.45), (0.3, 0.5), (0.25, 0.6), (0.2, 0.6), (0.2, 0.7), (0.15, 0.7), (0.15, 0.8), (0.1, 0.8),
    (0.1, 0.9), (0.05, 0.9), (0.05, 0.95), (0.0, 1.01),
)  # fmt: skip


def curve(sets: Sequence[Mapping[str, Vector]]) -> list[dict[str, object]]:
    """A row for each band, the mean over `sets` (P that the documents hold the answer, by case). Costs a question."""
    return [_row(hopeless, sure, sets) for hopeless, sure in BANDS]


def _row(hopeless: float, sure: float, sets: Sequence[Mapping[str, Vector]]) -> dict[str, object]:
    row: dict[str, object] = {"hopeless": hopeless, "sure": min(sure, 1.0)}
    found = [_outcome(hopeless, sure, holds) for holds in sets]
    asked, answered, refused, inside, outside = (float(np.mean(column)) for column in zip(*found, strict=True))
    row["asked"] = round(asked, 3)
    for name, right in JUDGES.items():
        wrong_answers, wrong_refusals = answered + (1 - right) * outside, refused + (1 - right) * inside
        row[f"accuracy, {name}"] = round(1 - wrong_answers - wrong_refusals, 3)
        for place, seconds in SECONDS.items():
            cost = WRONG_ANSWER * wrong_answers + WRONG_REFUSAL * wrong_refusals + SECOND * seconds * asked
            row[f"cost, {name}, {place}"] = round(cost, 3)
    return row


def _outcome(hopeless: float, sure: float, holds: Mapping[str, Vector]) -> tuple[float, float, float, float, float]:
    """Shares of all questions: asked; wrongly answered and wrongly refused unasked; asked that can and can not be."""
    can = holds["present"]
    never = [holds[case] for case in ("unanswerable", "altered") if case in holds]
    groups = [(can, 0.5), (holds["absent"], 0.25 if never else 0.5)]
    groups += [(group, 0.25 / len(never)) for group in never]
    asked = [share * float(((group >= hopeless) & (group < sure)).mean()) for group, share in groups]
    answered = sum(share * float((group >= sure).mean()) for group, share in groups[1:])
    return sum(asked), answered, 0.5 * float((can < hopeless).mean()), asked[0], sum(asked[1:])
