"""The grade of an answer: whether it is sent, and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import ReflectDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.judge.scores import (
    TOP_SCORE,
    YES_SCORE,
    Score,
    check_score,
)
from retrieval.engine.steps.judge.sufficiency import MISSING_CHARS, SearchWords
from retrieval.engine.steps.step import step, try_call
from retrieval.engine.text.quoting import neutralise, one_line, quote_source
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Answer

NO_PASSAGES = "-"
ACCEPT = (
    0.5  # the share of borne-out statements from which an answer is accepted without a model's word
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAssessment:
    """Whether an answer is sent. score: 0..1. missing: search words for what it lacks."""

    accepted: bool
    score: float = 0.0
    missing: str = ""
    reason: Reason | None = None


class AnswerGrade(BaseModel):
    """How well the answer solves the question."""

    score: Score
    missing: SearchWords


@step("reflect")
async def grade_answer(deps: Deps, question: str, answer: Answer) -> AnswerAssessment:
    """Whether to send it. An answer that no model wrote is sent; a refusal is rejected without a call."""
    if not answer.model:
        skip("no_model_wrote")
        return AnswerAssessment(
            accepted=bool(answer.text), score=0.5, reason=Reason("no_model_wrote")
        )
    if answer.decision == "NO_ANSWER":
        graded = AnswerAssessment(accepted=False, score=0.0, reason=answer.reason)
    elif (reply := await try_call(deps, _ask(deps, question, answer))) is not None:
        accepted = reply.score >= YES_SCORE
        graded = AnswerAssessment(
            accepted=accepted,
            score=reply.score / TOP_SCORE,
            missing="" if accepted else one_line(reply.missing)[:MISSING_CHARS],
        )
    else:
        share = supported_share(answer)
        graded = AnswerAssessment(accepted=share >= ACCEPT and bool(answer.text), score=share)
    details = ReflectDetails(
        accepted=graded.accepted,
        score=round(graded.score, 3),
        missing=graded.missing,
    )
    note("answer_accepted" if graded.accepted else "answer_rejected", details)
    return graded


async def _ask(deps: Deps, question: str, answer: Answer) -> AnswerGrade:
    cited = [quote_source(source.marker, source.chunk) for source in answer.sources if source.cited]
    grade = await deps.judge(
        "grade_answer",
        AnswerGrade,
        passages="\n\n".join(cited) or NO_PASSAGES,
        answer=neutralise(answer.text),
        question=one_line(question),
    )
    check_score(grade.score)
    return grade


def supported_share(answer: Answer) -> float:
    """The share of the answer's statements that their passages support, 0..1; one that can't be checked counts half,
    and so does an answer that makes none."""
    verdicts = [0.5 if one.supported is None else float(one.supported) for one in answer.grounding]
    return fmean(verdicts or [0.5])
