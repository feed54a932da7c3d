"""Relevance evaluator of the react workflow: is what was found enough to answer? SUFFICIENT or INSUFFICIENT.

By a model's word; without one, as it came, and the score is the estimate's. Source: seed 004, tool 3 and node 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragsite.core.wording import worded
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.evaluator import NO, YES, Evaluator, clipped
from retrieval.steps.judge.judge import estimated
from retrieval.steps.schemas import VERDICTS, SufficiencyVerdict
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord

PROMPT = "sufficiency"  # its file in retrieval/prompts
NOTHING = frozenset({"", "none", "nothing", "n/a", "无", "無", "没有", "沒有"})


@dataclass(frozen=True, slots=True)
class RelevanceEvaluator(Evaluator[Evidence, Assessment]):
    """ANSWER stands for sufficient, NO_ANSWER for insufficient, REFINE where no model says anything.

    `most`: passages that the model is shown. Never raises a ModelError.
    """

    most: int
    name = "assess"

    async def act(self, given: Evidence, entry: StepRecord) -> Assessment:
        passages = tuple(given.passages)
        if not passages:
            assessment = Assessment(verdict="REFINE", reason=worded("nothing was found"))
        elif (reply := await self.ask(entry, self._ask(given), use_model=given.use_model)) is not None:
            enough = reply.verdict == "SUFFICIENT"
            assessment = Assessment(
                verdict="ANSWER" if enough else "NO_ANSWER",
                candidates=passages,
                reason=worded("the model says {verdict}", verdict=VERDICTS[reply.verdict]),
                missing="" if enough else search_words(reply.missing),
                score=YES if enough else NO,
            )
        else:
            score = await estimated(self.context, given)
            reason = worded("the documents answer with a probability of {score:.2f}", score=score)
            assessment = Assessment(verdict="REFINE", candidates=passages, reason=reason, score=score)
        entry.summary = worded("{verdict}: {reason}", verdict=VERDICTS[assessment.verdict], reason=assessment.reason)
        entry.detail |= {
            "verdict": "SUFFICIENT" if assessment.verdict == "ANSWER" else "INSUFFICIENT",
            "missing": assessment.missing,
            "by_model": assessment.by_model,
            "score": round(assessment.score, 3),
        }
        await self.run.trace.sink.tool_called("relevance_evaluator", entry.summary, entry)
        return assessment

    async def _ask(self, given: Evidence) -> SufficiencyVerdict:
        shown = await self.shown(given.passages[: self.most])
        return await self.complete(PROMPT, SufficiencyVerdict, passages=shown.text, question=one_line(given.question))


def search_words(missing: str) -> str:
    """Search words, without those that say that nothing is missing."""
    text = clipped(missing)
    return "" if text.strip(" .。-").casefold() in NOTHING else text
