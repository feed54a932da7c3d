"""Relevance evaluator of the react workflow: is what was found enough to answer? SUFFICIENT or INSUFFICIENT.

By the trained estimate of answerability, blended with the word of a model where that can change the outcome. Source:
seed 004, tool 3 and node 4.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from ragsite.core.wording import worded
from retrieval.steps.judge.evaluator import Assessment, Evaluator, Evidence, clipped, scores_by_chunk
from retrieval.steps.query.wording import without_chat
from retrieval.steps.schemas import VERDICTS, SufficiencyVerdict
from retrieval.trace import StepRecord

PROMPT = "sufficiency"  # its file in retrieval/prompts
NOTHING = frozenset({"", "none", "nothing", "n/a", "无", "無", "没有", "沒有"})


@dataclass(frozen=True, slots=True)
class RelevanceEvaluator(Evaluator[Evidence, Assessment]):
    """The candidates are ordered by the trained estimate: a model's verdict is no score. ANSWER stands for sufficient,
    REFINE for insufficient.

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
        opinion = await self.ask_judge(
            entry, given, estimate.answerability,
            lambda: self.ask_about(
                best_passages, given.question, PROMPT, SufficiencyVerdict,
                probabilities=[passage.scores.rerank or 0.0 for passage in best_passages],
            ),
            said=lambda verdict: verdict.verdict == "SUFFICIENT",
        )  # fmt: skip
        answerability, reply = estimate.answerability, opinion.reply
        sufficient = opinion.probability >= self.settings.corrective.good_score
        if reply:
            reason = worded(
                "the model says {verdict}; the documents answer with a probability of {answerability:.2f}, "
                "with its word {probability:.2f}",
                verdict=reply.verdict,
                answerability=answerability,
                probability=opinion.probability,
            )
        elif ranked:
            reason = worded(
                "without a model; the documents answer with a probability of {answerability:.2f}",
                answerability=answerability,
            )
        else:
            sufficient, reason = False, worded("nothing was found")
        assessment = Assessment(
            verdict="ANSWER" if sufficient else "REFINE",
            candidates=ranked,
            reason=reason,
            missing=search_words(reply.missing) if reply and not sufficient else "",
            by_model=reply is not None,
            refused=reply is not None
            and not opinion.said
            and opinion.probability < self.settings.corrective.weak_score,
            answerability=answerability,
            shift=opinion.shift,
            retrieval_score=opinion.probability,
        )
        verdict = "SUFFICIENT" if sufficient else "INSUFFICIENT"
        entry.summary = worded("{verdict}: {reason}", verdict=VERDICTS[verdict], reason=reason)
        entry.detail |= {
            "verdict": verdict,
            "missing": assessment.missing,
            "by_model": assessment.by_model,
            "holds_answer": round(answerability, 3),
            "scores": scores_by_chunk(ranked),
        }
        await self.run.trace.sink.tool_called("relevance_evaluator", entry.summary, entry)
        return assessment


def search_words(missing: str) -> str:
    """Search words, without those that say that nothing is missing."""
    text = clipped(missing)
    return "" if text.strip(" .。-").casefold() in NOTHING else text
