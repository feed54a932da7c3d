"""A running tally of what the models have said, to tell a judge that looks from one that always says the same."""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from retrieval.values import JudgeRecord

RECENT = 40  # judgements that are looked back at
RECENT_S = 3600.0  # seconds after which a judgement is forgotten, so that a judge that was left alone gets a new chance
HONEST = 0.9  # prior probability that a judge looks at what it is shown
SLIP = 0.02  # share of other words that a judge that always says the same lets slip
# Nats. What labels say of a judge speaks for it, or against it, up to here: one that has gone mad since is found out by
# about forty words.
MOST_KNOWN = 12.0


@dataclass(frozen=True, slots=True)
class Judged:
    """`probability`: the trained estimate's, before the model was asked. at: seconds of the tally's clock."""

    probability: float
    said: bool
    at: float


class JudgeTally:
    """In memory, for one process. A judge is a model in one kind of judgement: `model` and the step's name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._judged: defaultdict[tuple[str, str], deque[Judged]] = defaultdict(lambda: deque(maxlen=RECENT))

    def note(self, model: str, kind: str, *, probability: float, said: bool) -> None:
        self._judged[model, kind].append(Judged(probability, said, self._clock()))

    def trust(self, model: str, kind: str, record: JudgeRecord, *, labelled: bool = False) -> float:
        """P(the judge looks at what it is shown | what it said lately), 0..1, against always yes and always no.

        One that looks says yes with the estimate's probability times its true rate, and the rest times its false rate.
        So a run of yes says little where the answer was likely, and much where it was not.

        labelled: the record's counts are labels of this model in this kind of judgement. Where they have shown that it
        says both, a run is rather one of like questions: on many sites nearly every question can be answered.
        """
        since = self._clock() - RECENT_S
        judged = [one for one in self._judged.get((model, kind), ()) if one.at >= since]
        looks = math.log(HONEST)
        known = _known(record) if labelled else (0.0, 0.0)
        always_yes, always_no = (math.log((1.0 - HONEST) / 2) - against for against in known)
        for one in judged:
            yes = one.probability * record.true_rate + (1.0 - one.probability) * record.false_rate
            looks += math.log(yes if one.said else 1.0 - yes)
            always_yes += math.log(1.0 - SLIP if one.said else SLIP)
            always_no += math.log(SLIP if one.said else 1.0 - SLIP)
        highest = max(looks, always_yes, always_no)
        parts = [math.exp(part - highest) for part in (looks, always_yes, always_no)]
        return parts[0] / sum(parts)


def _known(record: JudgeRecord) -> tuple[float, float]:
    """Nats by which labelled judgements speak for a judge that looks, against one that always says yes, and against one
    that always says no; each −MOST_KNOWN..MOST_KNOWN."""
    true, false = record.true_rate, record.false_rate
    looks = record.yes_held * math.log(true) + record.no_held * math.log(1.0 - true)
    looks += record.yes_absent * math.log(false) + record.no_absent * math.log(1.0 - false)
    yes, no = record.yes_held + record.yes_absent, record.no_held + record.no_absent
    same, other = math.log(1.0 - SLIP), math.log(SLIP)
    against_yes, against_no = looks - yes * same - no * other, looks - no * same - yes * other
    return max(-MOST_KNOWN, min(against_yes, MOST_KNOWN)), max(-MOST_KNOWN, min(against_no, MOST_KNOWN))
