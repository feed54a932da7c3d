"""The assessment of what was found: a verdict, and what it rests on. Only a model's word refuses or asks back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import AssessDetails
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.reasons import Reason
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Question, ScoredChunk

ASKS_CHARS = 200
NO_DETAILS = AssessDetails()
ClarifyingQuestion = Annotated[str, limited(maxLength=ASKS_CHARS)]  # in the question's language
JudgedAs = Literal["answer", "no_answer", "ask_back"]
Verdict = Literal["ANSWER", "CLARIFY", "NO_ANSWER", "REFINE"]
AssessmentCode = Literal[
    "nothing_found",
    "not_judged",
    "judged_no",
    "judged_unclear",
    "judged_yes",
    "enough_good",
    "too_few_good",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What was found, and what is said of it. `candidates`: the passages, in the order in which they were judged.

    verdict: ANSWER, NO_ANSWER and CLARIFY are a model's word; REFINE: no model has said anything. `named`: the passages
    that it says to answer; of CLARIFY, one for each thing that the question may be about. `missing`: search words.
    asks: of CLARIFY, the model's own question back; empty where it gave none.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: Reason | None = None
    missing: str = ""
    named: tuple[ScoredChunk, ...] = ()
    asks: str = ""

    @property
    def refused(self) -> bool:
        """A model has looked and said that the passages do not answer."""
        return self.verdict == "NO_ANSWER"


def not_judged(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any
) -> Assessment:
    """No model's word: nothing is refused."""
    return assessed("not_judged" if passages else "nothing_found", "REFINE", passages)


def first_of_each_document(
    passages: Sequence[ScoredChunk],
) -> tuple[ScoredChunk, ...]:
    by_document: dict[str, ScoredChunk] = {}
    for passage in passages:
        by_document.setdefault(passage.document_id, passage)
    return tuple(by_document.values())


def assessed(
    code: AssessmentCode,
    verdict: Verdict,
    passages: Sequence[ScoredChunk],
    *,
    named: tuple[ScoredChunk, ...] = (),
    missing: str = "",
    asks: str = "",
    details: AssessDetails = NO_DETAILS,
) -> Assessment:
    """An assessment, and its entry in the decision path. details: what that says besides."""
    details = replace(
        details,
        verdict=verdict,
        by_model=verdict != "REFINE",
        named=tuple(passage.chunk_id for passage in named),
        missing=missing,
    )
    note(code, details)
    reason = Reason(code, dict(details.said()))
    return Assessment(
        verdict=verdict,
        candidates=tuple(passages),
        reason=reason,
        missing=missing,
        named=named,
        asks=one_line(asks)[:ASKS_CHARS],
    )
