"""The trained estimate and a model's word as one probability, and whether the word is worth asking for.

A word is evidence: its log-likelihood ratio (`JudgeRecord`) is added to the estimate's log-odds. So numbers that a
model writes never stand on one scale with probabilities, and a word counts for as much as that model's have been worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.rag_settings import CorrectiveSettings
from retrieval.errors import ModelOutputError
from retrieval.values import JudgeRecord

EDGE = 1e-4  # a probability counts as no nearer than this to 0 or 1
TOP_SCORE = 10  # of the whole numbers that a model gives passages, from 0
YES_SCORE = 6  # the best passage's score from which the model has said that the answer is there
MIDDLE = TOP_SCORE / 2  # speaks neither for a passage nor against it


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that may be asked. trust: 0..1, of the running tally; 0: it has always said the same."""

    model: str
    record: JudgeRecord
    trust: float = 1.0

    @property
    def weight_yes(self) -> float:
        """What its yes adds to the log-odds, at least 0."""
        return self.trust * self.record.llr_yes

    @property
    def weight_no(self) -> float:
        """What its no takes from the log-odds, at least 0."""
        return self.trust * self.record.llr_no

    def weight(self, said: bool) -> float:
        return self.weight_yes if said else self.weight_no


def log_odds(probability: float) -> float:
    bounded = min(max(probability, EDGE), 1.0 - EDGE)
    return math.log(bounded / (1.0 - bounded))


def shifted(probability: float, shift: float) -> float:
    """The probability whose log-odds are `shift` higher."""
    return 1.0 / (1.0 + math.exp(-(log_odds(probability) + shift)))


def blend(probability: float, *, said: bool, judge: Judge) -> float:
    """The estimate and the judge's word together, 0..1."""
    return shifted(probability, judge.weight_yes if said else -judge.weight_no)


def why_not_to_ask(probability: float, judge: Judge, *, line: float, band: CorrectiveSettings) -> str:
    """Empty where the judge's word can change the outcome: the estimate lies inside the band, and the word can move it
    across `line`, the probability from which another thing is done. Else the reason, for people."""
    if probability >= band.sure_score:
        return f"the estimate is sure: {probability:.2f}"
    if probability < band.hopeless_score:
        return f"the estimate is sure that nothing answers: {probability:.2f}"
    said = probability < line  # the only word that could move it across
    moved = blend(probability, said=said, judge=judge)
    if (moved >= line) == (probability >= line):
        return f"its word could not change the outcome: {probability:.2f} against {line:.2f}"
    return ""


def check_scores(scores: Sequence[int], count: int) -> None:
    """Raises ModelOutputError where they are no judgement: too few, outside 0..TOP_SCORE, or all the same."""
    if len(scores) < (count + 1) // 2:
        raise ModelOutputError(f"the model scored {len(scores)} of {count} passages")
    if any(not 0 <= score <= TOP_SCORE for score in scores):
        raise ModelOutputError(f"the model gave a score outside 0 to {TOP_SCORE}")
    if len(scores) > 1 and len(set(scores)) == 1:
        raise ModelOutputError(f"the model gave every passage the same score, {scores[0]}")


def passage_odds(estimates: Sequence[float], scores: Sequence[int], judge: Judge) -> list[float]:
    """P(it answers) of each passage, 0..1, with the model's score as evidence: the highest adds what a yes is worth, 0
    takes what a no is worth, and in between in proportion. A passage that the model left out keeps its estimate."""
    given = [*scores, *[None] * (len(estimates) - len(scores))]
    return [
        estimate if score is None else shifted(estimate, _evidence(score, judge))
        for estimate, score in zip(estimates, given, strict=True)
    ]


def _evidence(score: int, judge: Judge) -> float:
    share = (score - MIDDLE) / (TOP_SCORE - MIDDLE)
    return share * (judge.weight_yes if share > 0 else judge.weight_no)
