"""Relevance evaluator of the react workflow: is what was found enough to answer? SUFFICIENT or INSUFFICIENT.

Without a model, by the trained grader's P(the documents hold the answer). Source: seed 004, tool 3 and node 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from retrieval.answerability.grading import grade_passages
from retrieval.steps.judge import judge
from retrieval.steps.judge.judge import Assessment, quote_pool, rerank
from retrieval.steps.query.query_rewriter import without_chat
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line
from retrieval.values import ScoredChunk

PROMPT = "sufficiency"  # its file in retrieval/prompts

REASON_CHARS = 300


class SufficiencyVerdict(BaseModel):
    """What the model gives back."""

    reason: str = Field(default="", description="Why this verdict, in one short sentence")
    missing: str = Field(default="", description="What is still missing, in a few search words")
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """`candidates`: by the trained grader's scores, best first. `holds_answer`: its P(the documents hold the answer),
    0..1, whoever gave the verdict."""

    sufficient: bool
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    holds_answer: float = 0.0

    def assessment(self) -> Assessment:
        """For the steps and decisions that the workflows share. A model's verdict is no score: `holds_answer` is what
        it is worth."""
        return Assessment(
            verdict="ANSWER" if self.sufficient else "REFINE",
            candidates=self.candidates,
            reason=self.reason,
            missing=self.missing,
            holds_answer=self.holds_answer,
            worth=self.holds_answer,
        )


@dataclass(frozen=True, slots=True)
class RelevanceEvaluator:
    tools: Toolbox

    async def evaluate(
        self,
        question: str,
        candidates: Sequence[ScoredChunk],
        *,
        listed: Sequence[ScoredChunk] = (),
        semantic: bool,
        most: int,
        run: Run,
        language: Language,
    ) -> Evaluation:
        """`question`: self-contained; `most`: passages that the model is shown. Never raises a ModelError.

        `listed`, `semantic`: what the trained grader looks at, see `grade_passages`.
        """
        asked = await asyncio.to_thread(without_chat, question, ()) or question  # "help me find" stands in no document
        grading = await asyncio.to_thread(grade_passages, asked, candidates, listed=listed, semantic=semantic)
        ranked = rerank(candidates, grading.passages)
        async with run.trace.step("assess") as step:
            ask: Coroutine[Any, Any, SufficiencyVerdict | None] = self._ask_model(question, ranked[:most], language)
            said = None
            if ranked:
                limit_s = run.deadline.limit(self.tools.settings.ollama.structured_timeout_s)
                said = await attempt(step, ask, fallback=lambda: None, timeout_s=limit_s)
            else:
                ask.close()
            made = self._evaluation(said, ranked, grading.holds_answer)
            verdict = "SUFFICIENT" if made.sufficient else "INSUFFICIENT"
            step.summary = f"{verdict}: {made.reason}"
            step.detail |= {
                "verdict": verdict,
                "missing": made.missing,
                "by_model": said is not None,
                "holds_answer": round(made.holds_answer, 3),
                "scores": {one.chunk_id: round(one.scores.rerank or 0.0, 3) for one in ranked},
            }
            await run.trace.sink.tool_called("relevance_evaluator", step.summary, step)
        return made

    async def _ask_model(
        self, question: str, shown: Sequence[ScoredChunk], language: Language
    ) -> SufficiencyVerdict | None:
        passages = await asyncio.to_thread(quote_pool, question, shown, length=judge.SNIPPET_LENGTH, language=language)
        return await self.tools.complete(
            "fast", PROMPT, SufficiencyVerdict, language=language, passages=passages, question=one_line(question)
        )

    def _evaluation(
        self, said: SufficiencyVerdict | None, ranked: tuple[ScoredChunk, ...], holds_answer: float
    ) -> Evaluation:
        if not ranked:
            return Evaluation(sufficient=False, reason="nothing was found")
        made = Evaluation(sufficient=False, candidates=ranked, holds_answer=holds_answer)
        if said is None:
            enough = holds_answer >= self.tools.settings.corrective.good_score
            reason = f"without a model; P(the documents hold the answer) = {holds_answer:.2f}"
            return replace(made, sufficient=enough, reason=reason)
        return replace(
            made,
            sufficient=said.verdict == "SUFFICIENT",
            reason=one_line(said.reason)[:REASON_CHARS] or "the model's judgement",
            missing=one_line(said.missing)[:REASON_CHARS],
        )
