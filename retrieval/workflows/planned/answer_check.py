"""The answer itself is checked (seed 002 §8.3.4): is it to the point, whole, and borne out by what it cites?"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line, quote_source
from retrieval.values import Answer
from retrieval.workflows.planned import reflect


class AnswerReflection(BaseModel):
    relevance: float = Field(description="How well the answer keeps to the question, from 0 to 1")
    completeness: float = Field(description="How much of the question it answers, from 0 to 1")
    factuality: float = Field(description="How far the passages bear it out, from 0 to 1")
    reason: str = Field(default="", description="Why, in one short sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """`failed`: better to search again. `is_baseless`: better to say that there is no answer. score: 0..1; None: it
    could not be told."""

    failed: bool = False
    is_baseless: bool = False
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    tools: Toolbox

    async def check(self, answer: Answer, question: str, *, shown: bool, run: Run, language: Language) -> CheckedAnswer:
        """`shown`: the reader has it already, so that its statements are counted and no model is asked."""
        async with run.trace.step("reflect") as step:
            step.detail["of"] = "answer"
            verdicts = [one.supported for one in answer.grounding if one.supported is not None]
            good, all_ = sum(verdicts), len(verdicts)
            step.detail |= {"statements": all_, "borne_out": good}
            step.summary = f"{good} of {all_} statements are borne out by the passages that they cite"
            if shown or answer.partial or not answer.model:
                return CheckedAnswer(score=good / all_ if all_ else None)
            if reads_as_refusal(answer.text):
                step.summary = "the model found no answer in the passages"
                return CheckedAnswer(failed=True, score=0.0, reason=step.summary)
            if answer.decision == "NO_ANSWER":
                step.summary = answer.reason
                return CheckedAnswer(failed=True, is_baseless=True, score=0.0, reason=answer.reason)
            told = await attempt(
                step,
                self._ask_model(answer, question, language),
                fallback=lambda: None,
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
            )
            if told is None:
                return CheckedAnswer(score=None, reason=step.summary)
            checked = self._weighed(told)
            step.detail |= {"score": round(checked.score or 0.0, 3), "factuality": told.factuality, "by_model": True}
            step.summary = f"{'not good enough' if checked.failed else 'good'}: {checked.score:.2f}; {checked.reason}"
            return checked

    async def _ask_model(self, answer: Answer, question: str, language: Language) -> AnswerReflection | None:
        passages = (quote_source(source.marker, source.chunk, language) for source in answer.sources)
        return await self.tools.complete(
            "fast",
            "reflect_answer",
            AnswerReflection,
            language=language,
            passages="\n\n".join(passages),
            answer=one_line(answer.text),
            question=one_line(question),
        )

    def _weighed(self, told: AnswerReflection) -> CheckedAnswer:
        relevance, completeness, factuality = (
            min(1.0, max(0.0, value)) for value in (told.relevance, told.completeness, told.factuality)
        )
        score = (
            reflect.RELEVANCE_WEIGHT * relevance
            + reflect.COMPLETENESS_WEIGHT * completeness
            + reflect.FACTUALITY_WEIGHT * factuality
        )
        baseless = factuality < reflect.RETRY_SCORE
        return CheckedAnswer(
            failed=baseless or score < reflect.RETRY_SCORE,
            is_baseless=baseless,
            score=score,
            reason=one_line(told.reason)[:200] or f"factuality {factuality:.2f}",
        )
