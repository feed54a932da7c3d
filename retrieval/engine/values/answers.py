"""What a workflow gives back, and what it rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from retrieval.engine.reasons import Reason
from retrieval.engine.values.chunks import Scores, StoredChunk

Decision = Literal["ANSWER", "CLARIFY", "NO_ANSWER"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """A question back to the user, with answers to choose from. documents: the id of each option's document, by which
    the choice binds; empty where options stand for none."""

    question: str
    options: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"question": self.question, "options": list(self.options)}

    def as_stored(self) -> dict[str, Any]:
        return {**self.as_dict(), "documents": list(self.documents)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSource:
    """A chunk that was given to the generator, under its marker [1], [2] …"""

    marker: int
    chunk: StoredChunk
    scores: Scores
    cited: bool = False


@dataclass(frozen=True, slots=True)
class SentenceEvidence:
    """`text[start:end]` of the chunk under that marker: the sentence or two of it that are nearest to a statement."""

    marker: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedSentence:
    """A sentence of an answer, checked against the passages that it cites. start, end: its characters in the answer.

    markers: what it was checked against; empty: nothing was cited, so all passages. score: 0..1. supported, score None:
    it could not be checked. reason: why it is weak or unchecked. evidence: of each cited passage one place at most.
    """

    sentence: str
    start: int
    end: int
    markers: tuple[int, ...] = ()
    score: float | None = None
    supported: bool | None = None
    reason: str = ""
    evidence: tuple[SentenceEvidence, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


SupportLevel = Literal["full", "partly", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedBy:
    """The person who checked an answer that was written beforehand, and the day: `on` is YYYY-MM-DD."""

    id: str
    by: str
    on: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedMatch:
    """An answer that people have written and checked for one question and those nearly identical to it.

    text: Markdown with markers from 1, each of one of the passages. question: the wording that fitted.
    """

    checked: CuratedBy
    question: str
    text: str
    passages: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a workflow gives back. reason: why this decision; None: as its sources say, or as it was.

    partial: the text is incomplete because the model broke off; the message says so, it never looks complete.
    cut: it is, because it reached its length limit.
    grounding: its sentences, checked; empty where no model wrote them. curated: where people wrote it beforehand.
    support: what a second look says of it, "none" also where it does not state what was asked; None: not looked at.
    """

    decision: Decision
    text: str
    sources: tuple[AnswerSource, ...] = ()
    clarification: Clarification | None = None
    reason: Reason | None = None
    model: str = ""
    partial: bool = False
    cut: bool = False
    grounding: tuple[GroundedSentence, ...] = ()
    curated: CuratedBy | None = None
    support: SupportLevel | None = None
