"""Relevance evaluator of the react workflow: is what was found enough to answer? SUFFICIENT or INSUFFICIENT.

Without a model, by the trained estimate of answerability. Source: seed 004, tool 3 and node 4.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from retrieval.steps.judge.evaluator import BY_MODEL, Assessment, Evaluator, Evidence, clipped, scores_by_chunk
from retrieval.steps.query.wording import without_chat
from retrieval.steps.schemas import SufficiencyVerdict
from retrieval.trace import StepRecord

PROMPT = "sufficiency"  # its file in retrieval/prompts


@dataclass(frozen=True, slots=True)
class RelevanceEvaluator(Evaluator[Evidence, Assessment]):
    """The candidates are ordered by the trained estimate: a model's verdict is no score, so the estimate is also what
    the assessment's `retrieval_score` says. ANSWER stands for sufficient, REFINE for insufficient.

    `most`: passages that the model is shown. Never raises a ModelError.
    """

    most: int
    name = "assess"

    async def act(self, given: Evidence, entry: StepRecord) -> Assessment:
        # "help me find" stands in no document
        asked = await asyncio.to_thread(without_chat, given.question)
        estimate = await self.estimate(replace(given, question=asked), given.passages)
        ranked = self.rank(given.passages, estimate.passages)
        best_passages = ranked[: self.most]
        reply = await self.consult(
            entry, given, estimate, lambda: self.ask_about(best_passages, given.question, PROMPT, SufficiencyVerdict)
        )
        answerability = estimate.answerability
        if reply:
            sufficient, reason = reply.verdict == "SUFFICIENT", clipped(reply.reason) or BY_MODEL
        elif ranked:
            sufficient = answerability >= self.settings.corrective.good_score
            reason = f"without a model; P(the documents hold the answer) = {answerability:.2f}"
        else:
            sufficient, reason = False, "nothing was found"
        assessment = Assessment(
            verdict="ANSWER" if sufficient else "REFINE",
            candidates=ranked,
            reason=reason,
            missing=clipped(reply.missing) if reply else "",
            by_model=reply is not None,
            answerability=answerability,
            retrieval_score=answerability,
        )
        verdict = "SUFFICIENT" if sufficient else "INSUFFICIENT"
        entry.summary = f"{verdict}: {reason}"
        entry.detail |= {
            "verdict": verdict,
            "missing": assessment.missing,
            "by_model": assessment.by_model,
            "holds_answer": round(answerability, 3),
            "scores": scores_by_chunk(ranked),
        }
        await self.run.trace.sink.tool_called("relevance_evaluator", entry.summary, entry)
        return assessment
