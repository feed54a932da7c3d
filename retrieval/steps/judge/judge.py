"""Rerank and assess in one structured call over numbered passages; without a model, by the trained estimate.

Source: seed 003 §2.5 (scores 0–1 for the first N candidates) and §2.6 (CRAG: ANSWER, CLARIFY, REFINE, NO_ANSWER).
With the setting `rerank.evaluator` = eight_criteria (seed 002, LLMEvaluatorPrompt) a passage's score is the mean of
eight. The seed asks about one document a call and lets the model take the mean; here all are in one call, and the mean
is taken in code: small models add badly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrieval.answerability import Estimate
from retrieval.providers import rerank_http
from retrieval.steps.judge import evaluator
from retrieval.steps.judge.evaluator import (
    BY_MODEL,
    Assessment,
    Evaluator,
    Evidence,
    best_score,
    clipped,
    passage_scores,
    scores_by_chunk,
)
from retrieval.steps.schemas import CriteriaJudgement, RetrievalJudgement
from retrieval.steps.step import Context, Step
from retrieval.text.quoting import label, one_line
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import Clarification, ScoredChunk

PROMPT = "rerank_assess"  # its file in retrieval/prompts
CRITERIA_PROMPT = "rerank_criteria"  # its file in retrieval/prompts, with eight_criteria
MIN_SCORE = 0.0  # candidates below it are dropped
BESIDE = 3  # best passages so far that those newly found are compared with
MAX_OPTIONS = 5
OPTION_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved(Evidence):
    """`before`: what earlier searches came to; the passages are new then. `use_reranker`: where there is one."""

    before: Assessment | None = None
    use_reranker: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """`candidates`: best first. `judgement`: the model's, where it gave the scores; `reranker`: the cross-encoder's
    name, where that did. `failure`: why a fallback served."""

    candidates: tuple[ScoredChunk, ...]
    estimate: Estimate
    judgement: RetrievalJudgement | None = None
    reranker: str = ""
    failure: str = ""


async def judge(context: Context, evidence: Retrieved) -> Assessment:
    """Scores and a verdict. Where there is a cross-encoder its scores serve; else, or where it fails, the model's.

    After an earlier search the verdict is on all candidates; REFINE where nothing new was found. Never raises a
    ModelError.
    """
    if evidence.before and not evidence.passages:
        return replace(evidence.before, verdict="REFINE")
    assessment = await Assess(context)(await Rerank(context)(evidence))
    return combine(evidence.before, assessment) if evidence.before else assessment


class Rerank(Evaluator[Retrieved, Reranked]):
    name = "rerank"

    async def act(self, given: Retrieved, entry: StepRecord) -> Reranked:
        pool = tuple(given.passages[: self.settings.rerank.max_candidates])
        estimate = await self.estimate(given, pool, beside=given.before.candidates[:BESIDE] if given.before else ())
        scores: Sequence[float] = estimate.passages
        judgement, reranker = None, ""
        if not pool:
            entry.skip("nothing was found")
        elif given.use_reranker and (crossed := await self._cross_encoded(given.question, pool, entry)):
            scores, reranker = crossed, self.tools.reranker.name if self.tools.reranker else ""
        elif reply := await self.consult(entry, given, estimate, lambda: self._ask(given, pool, estimate, entry)):
            judgement, scores = reply
        elif not given.use_model and entry.status != "degraded":  # unless the cross-encoder was asked, and failed
            entry.skip("no model call: switched off, or no round is left before the first token")
        ranked = self.rank(pool, scores)
        kept = tuple(candidate for candidate in ranked if (candidate.scores.rerank or 0.0) >= MIN_SCORE)
        kept = kept or ranked[:1]  # so that there is something to judge
        entry.detail["scores"] = scores_by_chunk(kept)
        entry.detail["lexical"] = [round(value, 3) for value in estimate.passages]
        if kept and entry.status != "skipped":
            entry.summary = f"{len(kept)} passages; best {kept[0].scores.rerank or 0:.2f}: {kept[0].chunk.title}"
        failure = str(entry.detail["reason"]) if entry.status == "degraded" else ""
        return Reranked(candidates=kept, estimate=estimate, judgement=judgement, reranker=reranker, failure=failure)

    async def _cross_encoded(self, question: str, pool: Sequence[ScoredChunk], entry: StepRecord) -> list[float] | None:
        reranker = self.tools.reranker
        if reranker is None:
            return None

        def texts() -> list[str]:
            length, chunks = evaluator.SNIPPET_LENGTH, [candidate.chunk for candidate in pool]
            return [f"{label(chunk)}\n{best_window(chunk.text, question, length)}" for chunk in chunks]

        work: Coroutine[Any, Any, list[float] | None] = reranker.rerank(question, await asyncio.to_thread(texts))
        scores = await self.attempt(entry, work, fallback=lambda: None, limit_s=rerank_http.TIMEOUT_S)
        entry.detail["reranker"] = reranker.name
        return scores

    async def _ask(
        self, given: Retrieved, pool: Sequence[ScoredChunk], estimate: Estimate, entry: StepRecord
    ) -> tuple[RetrievalJudgement, list[float]]:
        if self.settings.rerank.evaluator == "eight_criteria":
            by_criteria = await self.ask_about(pool, given.question, CRITERIA_PROMPT, CriteriaJudgement)
            entry.detail["criteria"] = by_criteria.by_passage()
            judgement = by_criteria.as_judgement()
        else:
            judgement = await self.ask_about(pool, given.question, PROMPT, RetrievalJudgement)
        return judgement, passage_scores(judgement.scores, estimate.passages)


class Assess(Step[Reranked, Assessment]):
    name = "assess"

    async def act(self, given: Reranked, entry: StepRecord) -> Assessment:
        assessment = self._from_model(given, given.judgement) if given.judgement else self._from_scores(given)
        if given.failure:
            entry.degrade(given.failure)
        entry.summary = f"{assessment.verdict}: {assessment.reason}"
        entry.detail |= {
            "verdict": assessment.verdict,
            "best": round(assessment.best, 3),
            "holds_answer": round(assessment.answerability, 3),
            "missing": assessment.missing,
            "by_model": assessment.by_model,
        }
        return assessment

    def _from_model(self, given: Reranked, judgement: RetrievalJudgement) -> Assessment:
        """The model's verdict, unless its own scores contradict it."""
        thresholds, best = self.settings.corrective, best_score(given.candidates)
        verdict, reason = judgement.verdict, clipped(judgement.reason)
        contradictory = judgement.contradictory and verdict == "NO_ANSWER"
        if verdict == "ANSWER" and best < thresholds.weak_score:
            verdict, reason = "REFINE", f"said ANSWER, but the best passage scores only {best:.2f}"
        elif verdict in ("NO_ANSWER", "REFINE") and best >= thresholds.good_score and not contradictory:
            verdict, reason = "ANSWER", f"said {verdict}, but a passage scores {best:.2f}"
        return Assessment(
            verdict=verdict,
            candidates=given.candidates,
            reason=reason or BY_MODEL,
            missing=clipped(judgement.missing),
            clarification=_clarification(judgement) if verdict == "CLARIFY" else None,
            by_model=True,
            scored_by_model=True,
            refused=verdict == "NO_ANSWER",
            contradictory=contradictory,
            answerability=given.estimate.answerability,
            retrieval_score=best,
        )

    def _from_scores(self, given: Reranked) -> Assessment:
        """A cross-encoder's verdict is its best score; the trained model's is its estimate for the whole list."""
        if not given.candidates:
            return Assessment(verdict="REFINE", reason="nothing was found")
        best, answerability = best_score(given.candidates), given.estimate.answerability
        score = best if given.reranker else answerability
        reason = f"{given.reranker or 'without a model'}, the best passage scores {best:.2f}"
        if not given.reranker:
            reason += f"; P(the documents hold the answer) = {answerability:.2f}"
        return Assessment(
            verdict="ANSWER" if score >= self.settings.corrective.good_score else "REFINE",
            candidates=given.candidates,
            reason=reason,
            scored_by_model=bool(given.reranker),
            answerability=answerability,
            retrieval_score=score,
        )


def combine(before: Assessment, latest: Assessment) -> Assessment:
    """The verdict on the latest candidates, with all candidates in one list; earlier scores stay as they were given."""
    candidates = sorted(
        (*latest.candidates, *before.candidates), key=lambda candidate: -(candidate.scores.final or 0.0)
    )
    gained = latest.by_model or latest.retrieval_score >= before.retrieval_score
    return replace(
        latest,
        candidates=tuple(candidates),
        reason=latest.reason if gained else before.reason,
        missing=latest.missing or before.missing,
        refused=latest.refused if latest.by_model else before.refused and latest.verdict != "ANSWER",
        scored_by_model=latest.scored_by_model and before.scored_by_model,
        answerability=max(before.answerability, latest.answerability),
        retrieval_score=max(before.retrieval_score, latest.retrieval_score),
    )


def _clarification(judgement: RetrievalJudgement) -> Clarification | None:
    question = one_line(judgement.clarifying_question)
    options = dict.fromkeys(one_line(text)[:OPTION_CHARS] for text in judgement.clarifying_options)
    if not question:
        return None
    return Clarification(question=question, options=tuple(option for option in options if option)[:MAX_OPTIONS])
