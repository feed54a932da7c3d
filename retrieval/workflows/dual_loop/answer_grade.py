"""The gate of the outer loop: does the answer solve the question? Asked before anything of it is sent.

Source: seed 001, `grade_relevance`. Our own check of its statements comes first: an answer that what it cites bears out
passes, and one that it speaks against does not; a model is asked about those in between.
"""

from __future__ import annotations

import asyncio

from ragsite.core.wording import worded
from retrieval.errors import ModelOutputError
from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.judge import evaluator
from retrieval.steps.judge.answers import ACCEPT, AnswerEvaluator
from retrieval.steps.judge.blending import YES_SCORE, passage_odds, shifted
from retrieval.steps.judge.evaluator import AnswerAssessment, WrittenAnswer, quote_windows
from retrieval.steps.judge.sufficiency import search_words
from retrieval.steps.schemas import TOP_SCORE, AnswerGrade
from retrieval.text.quoting import neutralise, one_line
from retrieval.trace import StepRecord
from retrieval.values import Answer

PROMPT = "grade_answer"  # its file in retrieval/prompts

NO_PASSAGES = "-"


class GradeAnswer(AnswerEvaluator):
    """A refusal is rejected without a call: it says itself that it solves nothing. Never raises a ModelError."""

    name = "reflect"

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        answer = given.answer
        if answer.decision == "NO_ANSWER" or (not answer.sources and reads_as_refusal(answer.text)):
            assessment = AnswerAssessment(
                accepted=False, score=0.0, reason=worded("the answer says that it does not know")
            )
        elif answer.model:
            assessment = await self._graded(given, entry)
        else:
            assessment = without_model(answer)
            entry.skip(worded("no model wrote this answer, so none judges it"))
        score = assessment.score or 0.0
        entry.summary = worded(
            "{verdict} ({score:.2f}): {reason}",
            verdict=(worded("accepted") if assessment.accepted else worded("rejected")),
            score=score,
            reason=assessment.reason,
        )
        entry.detail |= {"accepted": assessment.accepted, "score": round(score, 3), "missing": assessment.missing}
        return assessment

    async def _graded(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        opinion = await self.ask_of_answer(
            entry, given, lambda: self._ask(given), said=lambda grade: grade.score >= YES_SCORE
        )
        if opinion.reply is None and not opinion.why_not:
            return without_model(given.answer)
        accepted, score = opinion.probability >= ACCEPT, opinion.probability
        reason = worded("it is good with a probability of {score:.2f}", score=score)
        if opinion.reply and opinion.judge:
            # Its number tells drafts apart that it is asked about one after the other.
            unasked = shifted(opinion.probability, -opinion.shift)
            [score] = passage_odds([unasked], [opinion.reply.score], opinion.judge)
            reason += worded("; the model gives it {score} of {top}", score=opinion.reply.score, top=TOP_SCORE)
        return AnswerAssessment(
            accepted=accepted,
            score=score,
            missing=search_words(opinion.reply.missing) if opinion.reply and not accepted else "",
            reason=reason,
        )

    async def _ask(self, given: WrittenAnswer) -> AnswerGrade:
        length, language = evaluator.SNIPPET_LENGTH, self.context.language
        cited = [(source.marker, source.chunk) for source in given.answer.sources if source.cited]
        passages = await asyncio.to_thread(quote_windows, given.question, cited, length=length, language=language)
        grade = await self.complete(
            PROMPT,
            AnswerGrade,
            passages=passages or NO_PASSAGES,
            answer=neutralise(given.answer.text),
            question=one_line(given.question),
        )
        if not 0 <= grade.score <= TOP_SCORE:
            raise ModelOutputError(worded("the model gave a grade outside 0 to {top_score}", top_score=TOP_SCORE))
        return grade


def without_model(answer: Answer) -> AnswerAssessment:
    supported = any(source.cited for source in answer.sources) or not answer.sources
    reason = worded("it cites what it says") if supported else worded("it cites nothing")
    return AnswerAssessment(accepted=supported and bool(answer.text), score=0.5 if supported else 0.0, reason=reason)
