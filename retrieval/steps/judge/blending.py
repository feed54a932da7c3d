"""The trained estimate and a model's word as one probability, and whether the word is worth asking for.

A word is evidence: its log-likelihood ratio (`JudgeRecord`) is added to the estimate's log-odds. So numbers that a
model writes never stand on one scale with probabilities, and a word counts for as much as that model's have been worth.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ragsite.core.rag_settings import CorrectiveSettings
from ragsite.core.wording import worded
from retrieval.errors import ModelOutputError
from retrieval.steps.schemas import TOP_SCORE
from retrieval.values import JudgeRecord

EDGE = 1e-4  # a probability counts as no nearer than this to 0 or 1
YES_SCORE = 6  # the best passage's score from which the model has said that the answer is there
MIDDLE = TOP_SCORE / 2  # speaks neither for a passage nor against it
# A word whose probability is told: its weight for each unit of the log-odds that the model gave it, and at most.
SURENESS, MOST_SURE = 2.0, 2.5
MOST_WEIGHT = 3.0  # nats; a word that is said for sure counts no more for that
# Nats of a yes and of a no that labels have to have shown. By the known cases (`probes`) one that guesses reaches both
# in 1 of 1,000 trials, one that says yes to seven near misses in ten in 2 of 100.
PROVEN_YES, PROVEN_NO = 0.75, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that may be asked. trust: 0..1, of the running tally; 0: it has always said the same. sureness: of its
    word, 0..MOST_SURE; 1 where only the word is known."""

    model: str
    record: JudgeRecord
    trust: float = 1.0
    sureness: float = 1.0

    @property
    def weight_yes(self) -> float:
        """What its yes adds to the log-odds, at least 0."""
        return self._weight(self.record.llr_yes)

    @property
    def weight_no(self) -> float:
        """What its no takes from the log-odds, at least 0."""
        return self._weight(self.record.llr_no)

    def _weight(self, worth: float) -> float:
        return self.trust * min(self.sureness * worth, max(worth, MOST_WEIGHT))

    @property
    def proven(self) -> bool:
        """Whether labels say that it seldom says no to what answers, and often to what does not."""
        yes, no = self.trust * self.record.llr_yes, self.trust * self.record.llr_no
        return yes >= PROVEN_YES and no >= PROVEN_NO

    def word(self, said: bool) -> dict[str, str | float]:
        """What it said, for the decision path; judgements are counted from there (`JudgeRecord`)."""
        weight = self.weight_yes if said else self.weight_no
        return {"model": self.model, "said": "yes" if said else "no", "weight": round(weight, 3)}

    def as_sure_as(self, yes_probability: float) -> Judge:
        """With what a word is worth that the model gave this probability, 0..1: a word said by a hair is worth next to
        nothing, one said for sure MOST_SURE times a word of which nothing is known."""
        return replace(self, sureness=min(MOST_SURE, SURENESS * abs(log_odds(yes_probability))))


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
        return worded("the estimate is sure: {probability:.2f}", probability=probability)
    if probability < band.hopeless_score:
        return worded("the estimate is sure that nothing answers: {probability:.2f}", probability=probability)
    said = probability < line  # the only word that could move it across
    moved = blend(probability, said=said, judge=judge)
    if (moved >= line) == (probability >= line):
        return worded(
            "its word could not change the outcome: {probability:.2f} against {line:.2f}",
            probability=probability,
            line=line,
        )
    return ""


def check_scores(scores: Sequence[float | None]) -> None:
    """`scores`: one for each passage that the model was shown, None where it gave none.

    Raises ModelOutputError where they are no judgement: fewer than half, outside 0..TOP_SCORE, or all the same.
    """
    given = [score for score in scores if score is not None]
    if 2 * len(given) < len(scores) or not given:
        raise ModelOutputError(
            worded("the model scored {given} of {scores} passages", given=len(given), scores=len(scores))
        )
    if any(not 0 <= score <= TOP_SCORE for score in given):
        raise ModelOutputError(worded("the model gave a score outside 0 to {top_score}", top_score=TOP_SCORE))
    if len(given) > 1 and len(set(given)) == 1:
        raise ModelOutputError(worded("the model gave every passage the same score, {given:g}", given=given[0]))


def check_named(named: Collection[int], count: int, *, yes: bool) -> None:
    """`named`: the numbers, from 1, of those of `count` passages that the model says to answer. yes: its verdict.

    Raises ModelOutputError where they are no judgement: numbers of no passage, yes with none named, or yes with all of
    more than two.
    """
    if any(not 1 <= number <= count for number in named):
        raise ModelOutputError(worded("the model named a passage outside 1 to {count}", count=count))
    if yes and not named:
        raise ModelOutputError(worded("the model said that passages answer and named none"))
    if yes and count > 2 and len(set(named)) == count:
        raise ModelOutputError(worded("the model named every passage, {count} of {count}", count=count))


def says_yes(scores: Sequence[float | None]) -> bool:
    """Whether scores that are a judgement say that some passage answers."""
    return max((score for score in scores if score is not None), default=0.0) >= YES_SCORE


def passage_odds(estimates: Sequence[float], scores: Sequence[float | None], judge: Judge) -> list[float]:
    """P(it answers) of each passage, 0..1, with the model's score as evidence: the highest adds what a yes is worth, 0
    takes what a no is worth, and in between in proportion. A passage without a score keeps its estimate."""
    return [
        estimate if score is None else shifted(estimate, _evidence(score, judge))
        for estimate, score in zip(estimates, scores, strict=True)
    ]


def _evidence(score: float, judge: Judge) -> float:
    share = (score - MIDDLE) / (TOP_SCORE - MIDDLE)
    return share * (judge.weight_yes if share > 0 else judge.weight_no)
