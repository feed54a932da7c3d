"""The answer itself is checked (seed 002 §8.3.4): is it to the point, complete, and supported by what it cites?"""

from __future__ import annotations

from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.judge.evaluator import AnswerAssessment, Evaluator, WrittenAnswer
from retrieval.steps.schemas import AnswerReflection
from retrieval.text.quoting import one_line, quote_source
from retrieval.trace import StepRecord
from retrieval.workflows.planned import reflect

REASON_CHARS = 200


class AnswerCheck(Evaluator[WrittenAnswer, AnswerAssessment]):
    """Of an answer that the reader has already only the statements are counted: no model is asked.

    Not accepted: better to search again. Never raises a ModelError.
    """

    name = "reflect"

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment:
        answer = given.answer
        verdicts = [sentence.supported for sentence in answer.grounding if sentence.supported is not None]
        good, total = sum(verdicts), len(verdicts)
        entry.detail |= {"of": "answer", "statements": total, "borne_out": good}
        entry.summary = f"{good} of {total} statements are borne out by the passages that they cite"
        if given.released or answer.partial or not answer.model:
            return AnswerAssessment(accepted=True, score=good / total if total else None)
        if reads_as_refusal(answer.text):
            entry.summary = "the model found no answer in the passages"
            return AnswerAssessment(accepted=False, score=0.0, reason=entry.summary)
        if answer.decision == "NO_ANSWER":
            entry.summary = answer.reason
            return AnswerAssessment(accepted=False, baseless=True, score=0.0, reason=answer.reason)
        checked = await self.attempt(entry, self._ask(given, entry), fallback=lambda: None)
        if checked is None:
            return AnswerAssessment(accepted=True, reason=entry.summary)
        entry.summary = f"{'good' if checked.accepted else 'not good enough'}: {checked.score:.2f}; {checked.reason}"
        return checked

    async def _ask(self, given: WrittenAnswer, entry: StepRecord) -> AnswerAssessment | None:
        language = self.context.language
        passages = (quote_source(source.marker, source.chunk, language) for source in given.answer.sources)
        reply = await self.complete(
            "reflect_answer",
            AnswerReflection,
            passages="\n\n".join(passages),
            answer=one_line(given.answer.text),
            question=one_line(given.question),
        )
        relevance, completeness, factuality = (
            min(1.0, max(0.0, value)) for value in (reply.relevance, reply.completeness, reply.factuality)
        )
        score = reflect.weighted(relevance, completeness, factuality)
        baseless = factuality < reflect.RETRY_SCORE
        entry.detail |= {"score": round(score, 3), "factuality": reply.factuality, "by_model": True}
        return AnswerAssessment(
            accepted=not baseless and score >= reflect.RETRY_SCORE,
            baseless=baseless,
            score=score,
            reason=one_line(reply.reason)[:REASON_CHARS] or f"factuality {factuality:.2f}",
        )
