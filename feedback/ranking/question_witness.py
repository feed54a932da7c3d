"""What a model's word on "do these two questions want the same answer?" is worth.

The word comes with the probability that the model gave it. How far that can be believed differs from model to model,
and some say yes to everything, so it is measured: the model is asked about pairs of which the answer is known
(`witness_pairs.json`, some of those that `same_question.json` is fitted to). Its log-odds of yes for like and for
unlike pairs are taken for two normal distributions of one variance, whose log-likelihood ratio is linear in them
(linear discriminant analysis: Fisher, 1936). A model that does not tell the two apart counts for nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from feedback.ranking.same_question import FORBIDDEN

PAIRS = Path(__file__).with_name("witness_pairs.json")
FEWEST_PAIRS = 8  # of each sort, else nothing is known of the model
PRIOR_PAIRS = 10.0  # as many pairs that say nothing are added: few pairs make a slope look steeper than it is
LEAST_APART = 1.0  # standard deviations between like and unlike pairs; one that guesses reaches that in 1 of 100 trials
MOST_SHIFT = 3.0  # of log-odds, by one word
# The words' probability is a cautious one, since by itself nothing else speaks for a question. Beside a witness it is
# moved by this many log-odds (docs/feedback.md).
BESIDE_WORDS = 1.0
EDGE = 1e-4  # a probability counts as no nearer than this to 0 or 1
LEAST_VARIANCE = 1e-3  # of log-odds
# Probability by words between which a witness's word can change what follows.
OPEN_FROM, OPEN_TO = FORBIDDEN, 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPair:
    first: str
    second: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """slope: log-likelihood ratio for each unit of the model's log-odds of yes, at least 0. middle: the log-odds that
    speak neither way."""

    slope: float
    middle: float

    def together(self, same: float, yes: float) -> float:
        """The probability by words and the model's P(yes) as one probability, all 0..1."""
        shift = self.slope * (log_odds(yes) - self.middle)
        return shifted(same, BESIDE_WORDS + min(max(shift, -MOST_SHIFT), MOST_SHIFT))


def log_odds(probability: float) -> float:
    bounded = min(max(probability, EDGE), 1.0 - EDGE)
    return math.log(bounded / (1.0 - bounded))


def shifted(probability: float, shift: float) -> float:
    """The probability whose log-odds are `shift` higher."""
    return 1.0 / (1.0 + math.exp(-(log_odds(probability) + shift)))


def is_open(same: float) -> bool:
    """Whether a witness is worth asking: words neither set the questions apart nor find them the same."""
    return OPEN_FROM < same <= OPEN_TO


def witness_of(pairs: Sequence[LabelledPair], yes: Sequence[float]) -> Witness | None:
    """What a model is worth that gave these pairs these probabilities of yes, 0..1. None where there are too few pairs,
    or where it does not tell like from unlike.

    yes: for each pair, 0..1.
    """
    said = np.array([log_odds(probability) for probability in yes])
    same = np.array([pair.same for pair in pairs], dtype=bool)
    like, unlike = said[same], said[~same]
    if min(len(like), len(unlike)) < FEWEST_PAIRS:
        return None
    squares = ((like - like.mean()) ** 2).sum() + ((unlike - unlike.mean()) ** 2).sum()
    variance = max(float(squares) / (len(said) - 2), LEAST_VARIANCE)
    apart = float(like.mean() - unlike.mean())
    if apart < LEAST_APART * math.sqrt(variance):
        return None
    shrunk = len(said) / (len(said) + PRIOR_PAIRS)
    return Witness(slope=apart / variance * shrunk, middle=float(like.mean() + unlike.mean()) / 2)


@lru_cache(maxsize=1)
def labelled_pairs() -> tuple[LabelledPair, ...]:
    rows: list[dict[str, Any]] = json.loads(PAIRS.read_text(encoding="utf-8"))
    return tuple(LabelledPair(first=row["first"], second=row["second"], same=row["same"]) for row in rows)
