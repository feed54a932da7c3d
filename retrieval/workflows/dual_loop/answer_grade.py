"""The gate of the outer loop: does the answer solve the question? Asked before anything of it is sent.

Source: seed 001, `grade_relevance`. By a model; where none gives its word, by our own check of the statements.
"""

from __future__ import annotations

from ragsite.core.wording import worded
from retrieval.steps.judge.answers import ACCEPT, support
from retrieval.steps.judge.assessment import AnswerAssessment, WrittenAnswer
from retrieval.steps.judge.evaluator import YES_SCORE, Evaluator, check_score
from retrieval.steps.judge.sufficiency import search_words
from retrieval.steps.schemas import TOP_SCORE, AnswerGrade
from retrieval.text.quoting import neutralise, one_line, quote_source
from retrieval.text.refusal import reads_as_refusal
from retrieval.trace import StepRecord

PROMPT = "grade_answer"  # its file in retrieval/prompts

NO_PASSAGES = "-"


class GradeAnswer(Evaluator[WrittenAnswer, AnswerAssessment]):
    """A refusal is rejected without a call: it says itself that it solves nothing. Never raises a ModelError."""

    name = "reflect"

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        answer = given.answer
        if not answer.model:
            assessment = AnswerAssessment(accepted=bool(answer.text), score=0.5, reason=worded("it is quoted"))
            entry.skip(worded("no model wrote this answer, so none judges it"))
        elif answer.decision == "NO_ANSWER" or (not answer.sources and reads_as_refusal(answer.text)):
            assessment = AnswerAssessment(
                accepted=False, score=0.0, reason=worded("the answer says that it does not know")
            )
        else:
            assessment = await self._graded(given, entry)
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
        reply = await self.ask(entry, self._ask(given))
        if reply is None:
            return without_model(given)
        accepted = reply.score >= YES_SCORE
        return AnswerAssessment(
            accepted=accepted,
            score=reply.score / TOP_SCORE,
            missing="" if accepted else search_words(reply.missing),
            reason=worded("the model gives it {score} of {top}", score=reply.score, top=TOP_SCORE),
        )

    async def _ask(self, given: WrittenAnswer) -> AnswerGrade:
        cited = [quote_source(source.marker, source.chunk) for source in given.answer.sources if source.cited]
        grade = await self.complete(
            PROMPT,
            AnswerGrade,
            passages="\n\n".join(cited) or NO_PASSAGES,
            answer=neutralise(given.answer.text),
            question=one_line(given.question),
        )
        check_score(grade.score)
        return grade


def without_model(given: WrittenAnswer) -> AnswerAssessment:
    share = support(given)
    reason = worded("{share:.0%} of its statements are borne out", share=share)
    return AnswerAssessment(accepted=share >= ACCEPT and bool(given.answer.text), score=share, reason=reason)
