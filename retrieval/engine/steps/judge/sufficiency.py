"""The evaluator of `react`: are the passages sufficient to answer from, and what is missing?

Source: seed 004, tool 3 and node 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.steps.judge.assessment import Assessment, assessed, not_judged
from retrieval.engine.steps.judge.scores import judging_is_on, quoted
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.values import Question, ScoredChunk

MISSING_CHARS = 300
SearchWords = Annotated[str, limited(maxLength=60)]  # for what is missing


class SufficiencyVerdict(BaseModel):
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]
    missing: SearchWords = ""


@step("assess", fallback=not_judged)
async def evaluate(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    """ANSWER stands for sufficient, NO_ANSWER for insufficient."""
    if not passages or not judging_is_on(question):
        return not_judged(deps, question, passages)
    shown = "\n\n".join(await quoted(deps, passages))
    question_line = one_line(question.standalone)
    reply = await deps.judge(
        "sufficiency", SufficiencyVerdict, passages=shown, question=question_line
    )
    if reply.verdict == "SUFFICIENT":
        assessment = assessed("judged_yes", "ANSWER", passages)
    else:
        missing = one_line(reply.missing)[:MISSING_CHARS]
        assessment = assessed("judged_no", "NO_ANSWER", passages, missing=missing)
    if assessment.reason:
        await deps.trace.announce("relevance_evaluator", assessment.reason.text)
    return assessment
