"""The gate of the outer loop: does the answer solve the question? Asked before anything of it is sent.

Source: seed 001, `grade_relevance`. Without a model, an answer passes that cites what it says and is no refusal.
"""

from __future__ import annotations

import asyncio

from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.judge import evaluator
from retrieval.steps.judge.evaluator import (
    BY_MODEL,
    AnswerAssessment,
    Evaluator,
    WrittenAnswer,
    clipped,
    quote_windows,
    unit_score,
)
from retrieval.steps.schemas import AnswerGrade
from retrieval.text.quoting import neutralise, one_line
from retrieval.trace import StepRecord
from retrieval.values import Answer

GOOD_ANSWER = 0.6  # a grade at or above it: the answer is accepted, 0-1
PROMPT = "grade_answer"  # its file in retrieval/prompts

NO_PASSAGES = "-"


class GradeAnswer(Evaluator[WrittenAnswer, AnswerAssessment]):
    """A refusal is rejected without a call: it says itself that it solves nothing. Never raises a ModelError."""

    name = "reflect"

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        answer = given.answer
        if answer.decision == "NO_ANSWER" or (not answer.sources and reads_as_refusal(answer.text)):
            assessment = AnswerAssessment(accepted=False, score=0.0, reason="the answer says that it does not know")
        elif answer.model:
            assessment = await self.attempt(entry, self._ask(given), fallback=lambda: without_model(answer))
        else:
            assessment = without_model(answer)
            entry.skip("no model wrote this answer, so none judges it")
        score = assessment.score or 0.0
        entry.summary = f"{'accepted' if assessment.accepted else 'rejected'} ({score:.2f}): {assessment.reason}"
        entry.detail |= {"accepted": assessment.accepted, "score": round(score, 3), "missing": assessment.missing}
        return assessment

    async def _ask(self, given: WrittenAnswer) -> AnswerAssessment:
        length, language = evaluator.SNIPPET_LENGTH, self.context.language
        cited = [(source.marker, source.chunk) for source in given.answer.sources if source.cited]
        passages = await asyncio.to_thread(quote_windows, given.question, cited, length=length, language=language)
        reply = await self.complete(
            PROMPT,
            AnswerGrade,
            passages=passages or NO_PASSAGES,
            answer=neutralise(given.answer.text),
            question=one_line(given.question),
        )
        return read(reply, good=GOOD_ANSWER)


def read(grade: AnswerGrade, *, good: float) -> AnswerAssessment:
    """Score and verdict must not contradict each other: the answer passes when both do, or when the score is far above
    `good`, 0..1."""
    score = unit_score(grade.score)
    return AnswerAssessment(
        accepted=score >= (good if grade.solves else (1.0 + good) / 2),
        score=score,
        missing=clipped(grade.missing),
        reason=clipped(grade.reason) or BY_MODEL,
    )


def without_model(answer: Answer) -> AnswerAssessment:
    supported = any(source.cited for source in answer.sources) or not answer.sources
    reason = "it cites what it says" if supported else "it cites nothing"
    return AnswerAssessment(accepted=supported and bool(answer.text), score=0.5 if supported else 0.0, reason=reason)
