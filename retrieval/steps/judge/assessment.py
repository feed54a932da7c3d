"""What judges say: of the passages that were found, and of an answer that was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.steps.schemas import Verdict
from retrieval.values import Answer, ScoredChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Passages to be judged, best first, for a self-contained `question`.

    semantic: see `estimate_answerability`. use_model: whether a language model may be asked.
    """

    question: str
    passages: Sequence[ScoredChunk]
    semantic: bool = True
    use_model: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How good the evidence is. `candidates`: the passages, in the order in which they were found or reranked.

    verdict: ANSWER, NO_ANSWER and CLARIFY are a model's word; REFINE: no model has said anything. `named`: the passages
    that it says to answer; of CLARIFY, one for each thing that the question may be about. `missing`: search words.
    score: P(the passages answer), 0..1, with the model's word in it.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    named: tuple[ScoredChunk, ...] = ()
    score: float = 0.0

    @property
    def by_model(self) -> bool:
        return self.verdict != "REFINE"

    @property
    def refused(self) -> bool:
        """A model has looked and said that the passages do not answer."""
        return self.verdict == "NO_ANSWER"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """An answer to be judged. `released`: the reader has it already."""

    answer: Answer
    question: str
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAssessment:
    """How good an answer is. score: 0..1; None: not known. missing: search words for what it lacks.
    baseless: the passages do not support it, so it is better to say that there is no answer."""

    accepted: bool
    score: float | None = None
    missing: str = ""
    reason: str = ""
    baseless: bool = False
