"""Relevance evaluator of the react workflow: is what was found enough to answer? SUFFICIENT or INSUFFICIENT.

By a model's word; without one nothing is refused, and the score is the estimate's. Source: seed 004, tool 3 and node 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.steps.deps import Deps
from retrieval.steps.judge.judge import NO, YES, Assessment, assessed, by_estimate
from retrieval.steps.judge.scores import quoted, reranking_is_on
from retrieval.steps.schemas import SufficiencyVerdict
from retrieval.steps.step import step
from retrieval.text.quoting import one_line
from retrieval.values import Question, ScoredChunk

PROMPT = "sufficiency"  # its file in retrieval/prompts
MISSING_CHARS = 300


@step("assess", fallback=by_estimate)
async def evaluate(deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, most: int) -> Assessment:
    """ANSWER stands for sufficient, NO_ANSWER for insufficient. most: passages that the model is shown."""
    if not passages or not reranking_is_on(deps, question):
        return await by_estimate(deps, question, passages)
    shown = "\n\n".join(await quoted(deps, passages[:most]))
    reply = await deps.complete(PROMPT, SufficiencyVerdict, passages=shown, question=one_line(question.standalone))
    if reply.verdict == "SUFFICIENT":
        assessment = assessed("judged_yes", "ANSWER", passages, score=YES)
    else:
        missing = one_line(reply.missing)[:MISSING_CHARS]
        assessment = assessed("judged_no", "NO_ANSWER", passages, score=NO, missing=missing)
    await deps.trace.announce("relevance_evaluator", assessment.reason)
    return assessment
