"""The gate of the outer loop: does the answer solve the question? Asked before anything of it is sent.

Source: seed 001, `grade_relevance`. Without a model, an answer passes that cites what it says and is no refusal.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.judge import judge
from retrieval.steps.schemas import AnswerGrade
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import neutralise, one_line, quote_passage
from retrieval.text.snippet import best_window
from retrieval.values import Answer

GOOD_ANSWER = 0.6  # a grade at or above it: the answer is accepted, 0-1
PROMPT = "grade_answer"  # its file in retrieval/prompts

REASON_CHARS = 300
NO_PASSAGES = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswer:
    """`score`: 0..1. `missing`: search words for what the answer lacks."""

    accepted: bool
    score: float
    missing: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GradeAnswer:
    tools: Toolbox

    async def grade(self, standalone: str, answer: Answer, *, run: Run, language: Language) -> GradedAnswer:
        """A refusal is rejected without a call: it says itself that it solves nothing."""
        async with run.trace.step("reflect") as step:
            if answer.decision == "NO_ANSWER" or (not answer.sources and reads_as_refusal(answer.text)):
                graded = GradedAnswer(accepted=False, score=0.0, reason="the answer says that it does not know")
            elif not answer.model:
                graded = without_model(answer)
                step.skip("no model wrote this answer, so none judges it")
            else:
                graded = await attempt(
                    step,
                    self._ask_model(standalone, answer, language),
                    fallback=lambda: without_model(answer),
                    timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
                )
            step.summary = f"{'accepted' if graded.accepted else 'rejected'} ({graded.score:.2f}): {graded.reason}"
            step.detail |= {"accepted": graded.accepted, "score": round(graded.score, 3), "missing": graded.missing}
            return graded

    async def _ask_model(self, standalone: str, answer: Answer, language: Language) -> GradedAnswer:
        length = judge.SNIPPET_LENGTH
        cited = [source for source in answer.sources if source.cited]
        passages = await asyncio.to_thread(
            lambda: "\n\n".join(
                quote_passage(source.marker, source.chunk, best_window(source.chunk.text, standalone, length), language)
                for source in cited
            )
        )
        grade = await self.tools.complete(
            "fast",
            PROMPT,
            AnswerGrade,
            language=language,
            passages=passages or NO_PASSAGES,
            answer=neutralise(answer.text),
            question=one_line(standalone),
        )
        return read(grade, good=GOOD_ANSWER)


def read(grade: AnswerGrade, *, good: float) -> GradedAnswer:
    """A model that graded 0–10 or 0–100 is understood. Score and verdict must not contradict each other: the answer
    passes when both do, or when the score is far above the line."""
    score = grade.score if grade.score == grade.score else 0.0
    score = min(1.0, max(0.0, score / (1.0 if score <= 1.0 else 10.0 if score <= 10.0 else 100.0)))
    accepted = score >= good if grade.solves else score >= (1.0 + good) / 2
    return GradedAnswer(
        accepted=accepted,
        score=score,
        missing=one_line(grade.missing)[:REASON_CHARS],
        reason=one_line(grade.reason)[:REASON_CHARS] or "the model's judgement",
    )


def without_model(answer: Answer) -> GradedAnswer:
    supported = any(source.cited for source in answer.sources) or not answer.sources
    reason = "it cites what it says" if supported else "it cites nothing"
    return GradedAnswer(accepted=supported and bool(answer.text), score=0.5 if supported else 0.0, reason=reason)
