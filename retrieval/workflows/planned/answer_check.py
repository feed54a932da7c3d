"""The answer itself is checked (seed 002 §8.3.4): is it to the point, complete, and supported by what it cites?"""

from __future__ import annotations

from ragsite.core.wording import worded
from retrieval.steps.judge.answers import is_baseless, support
from retrieval.steps.judge.assessment import AnswerAssessment, WrittenAnswer
from retrieval.steps.judge.evaluator import YES_SCORE, Evaluator, check_score
from retrieval.steps.schemas import TOP_SCORE, AnswerReflection
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.refusal import reads_as_refusal
from retrieval.trace import StepRecord
from retrieval.workflows.planned import reflect

PROMPT = "reflect_answer"  # its file in retrieval/prompts


class AnswerCheck(Evaluator[WrittenAnswer, AnswerAssessment]):
    """Of an answer that the reader has already only the statements are counted: no model is asked.

    Not accepted: better to search again. Where no model gives its word, only an answer of which nothing is borne out is
    not accepted: other words may say the same. Never raises a ModelError.
    """

    name = "reflect"

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        answer = given.answer
        verdicts = [sentence.supported for sentence in answer.grounding if sentence.supported is not None]
        good, total = sum(verdicts), len(verdicts)
        entry.detail |= {"of": "answer", "statements": total, "borne_out": good}
        entry.summary = worded(
            "{good} of {total} statements are borne out by the passages that they cite", good=good, total=total
        )
        if given.released or answer.partial or not answer.model:
            return AnswerAssessment(accepted=True, score=good / total if total else None)
        if reads_as_refusal(answer.text):
            entry.summary = worded("the model found no answer in the passages")
            return AnswerAssessment(accepted=False, score=0.0, reason=entry.summary)
        if answer.decision == "NO_ANSWER":
            entry.summary = answer.reason
            return AnswerAssessment(accepted=False, baseless=True, score=0.0, reason=answer.reason)
        reply = await self.ask(entry, self._ask(given))
        if reply is None:
            accepted, score = not is_baseless(given), support(given)
            reason = worded("{share:.0%} of its statements are borne out", share=score)
        else:
            score = reflect.weighted(
                *(number / TOP_SCORE for number in (reply.relevance, reply.completeness, reply.factuality))
            )
            accepted = score >= reflect.RETRY_SCORE and reply.factuality >= YES_SCORE
            reason = worded(
                "the model says {relevance}, {completeness} and {factuality} of {top}",
                relevance=reply.relevance,
                completeness=reply.completeness,
                factuality=reply.factuality,
                top=TOP_SCORE,
            )
        baseless = not accepted and is_baseless(given)
        entry.summary = worded(
            "{verdict}: {reason}", verdict=(worded("good") if accepted else worded("not good enough")), reason=reason
        )
        return AnswerAssessment(accepted=accepted, baseless=baseless, score=score, reason=reason)

    async def _ask(self, given: WrittenAnswer) -> AnswerReflection:
        passages = (quote_source(source.marker, source.chunk) for source in given.answer.sources)
        reply = await self.complete(
            PROMPT,
            AnswerReflection,
            passages="\n\n".join(passages),
            answer=one_line(given.answer.text),
            question=one_line(given.question),
        )
        check_score(reply.relevance, reply.completeness, reply.factuality)
        return reply
