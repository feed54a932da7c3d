"""Rerank and assess in one structured call over numbered passages; without a model, by the trained grader.

Source: seed 003 §2.5 (scores 0–1 for the first N candidates) and §2.6 (CRAG: ANSWER, CLARIFY, REFINE, NO_ANSWER).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrieval.answerability import Grading
from retrieval.answerability.grading import grade_passages
from retrieval.errors import ModelOutputError
from retrieval.providers import rerank_http
from retrieval.steps.judge.criteria import CriteriaJudgement
from retrieval.steps.schemas import RetrievalJudgement, Verdict
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import label, one_line, quote_passage
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import Clarification, ScoredChunk

SNIPPET_LENGTH = 500  # characters
PROMPT = "rerank_assess"  # its file in retrieval/prompts
CRITERIA_PROMPT = "rerank_criteria"  # its file in retrieval/prompts, with eight_criteria
MIN_SCORE = 0.0  # candidates below it are dropped
BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking

BESIDE = 3  # best passages so far that those newly found are graded beside
MAX_OPTIONS = 5
OPTION_CHARS = 120
REASON_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What retrieval is worth. `candidates`: reranked, best first; `best`: the best one's score, 0..1.

    `scored_by_model`: the scores are a model's or a cross-encoder's, `by_model`: so is the verdict.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    clarification: Clarification | None = None
    by_model: bool = False
    scored_by_model: bool = False
    refused: bool = False  # the model said NO_ANSWER, and nothing that answers was found after it
    contradictory: bool = False  # the model said that the passages contradict each other on what is asked
    holds_answer: float = 0.0  # the trained grader's P(the documents hold the answer), whoever gave the verdict
    worth: float = 0.0  # what the verdict rests on, 0..1: a model's best score, else `holds_answer`

    @property
    def best(self) -> float:
        return max((candidate.scores.rerank or 0.0 for candidate in self.candidates), default=0.0)


@dataclass(frozen=True, slots=True)
class Judge:
    tools: Toolbox

    async def judge(
        self,
        question: str,
        candidates: Sequence[ScoredChunk],
        *,
        run: Run,
        language: Language,
        before: Assessment | None = None,
        listed: Sequence[ScoredChunk] = (),
        semantic: bool = True,
        use_model: bool = True,
        use_reranker: bool = True,
    ) -> Assessment:
        """Scores and a verdict. `use_model=False`: switched off, or no model round is left before the first token.

        Where there is a cross-encoder its scores serve in place of the model's; failing it, the model is asked.
        `before`: what earlier searches are worth; `candidates` are new then, are judged beside the best of these, and
        the verdict is on all; REFINE where there are none. `listed`, `semantic`: see `grade_passages`.
        """
        if before and not candidates:
            return replace(before, verdict="REFINE")
        pool = tuple(candidates[: self.tools.settings.rerank.max_candidates])
        beside = before.candidates[:BESIDE] if before else ()
        grading = await asyncio.to_thread(
            grade_passages, question, pool, listed=listed, beside=beside, semantic=semantic
        )
        newly = await self._judge(
            question, pool, grading, run=run, language=language, use_model=use_model, use_reranker=use_reranker
        )
        return combine(before, newly) if before else newly

    async def _judge(
        self,
        question: str,
        pool: tuple[ScoredChunk, ...],
        grading: Grading,
        *,
        run: Run,
        language: Language,
        use_model: bool,
        use_reranker: bool,
    ) -> Assessment:
        lexical = grading.passages
        async with run.trace.step("rerank") as rerank_step:
            crossed = await self._cross_encoded(question, pool, rerank_step, run) if pool and use_reranker else None
            judgement = None
            if crossed is None:
                judgement = await self._judgement(question, pool, rerank_step, run, language, use_model=use_model)
            scores = crossed or (scale(judgement, lexical) if judgement else lexical)
            ranked = rerank(pool, scores)
            ranked = at_least(ranked, MIN_SCORE)
            _describe(rerank_step, ranked, lexical)
        async with run.trace.step("assess") as step:
            by = self.tools.reranker.name if self.tools.reranker and crossed else "without a model"
            if judgement:
                assessment = self._from_model(judgement, ranked, grading)
            else:
                assessment = self._from_scores(ranked, grading, by, scored_by_model=crossed is not None)
            if rerank_step.status == "degraded":
                step.degrade(str(rerank_step.detail["reason"]))
            step.summary = f"{assessment.verdict}: {assessment.reason}"
            step.detail["verdict"] = assessment.verdict
            step.detail["best"] = round(assessment.best, 3)
            step.detail["holds_answer"] = round(assessment.holds_answer, 3)
            step.detail["missing"] = assessment.missing
            step.detail["by_model"] = assessment.by_model
        return assessment

    async def _cross_encoded(
        self, question: str, pool: tuple[ScoredChunk, ...], step: StepRecord, run: Run
    ) -> list[float] | None:
        reranker = self.tools.reranker
        if reranker is None:
            return None
        texts = await asyncio.to_thread(
            lambda: [f"{label(one.chunk)}\n{best_window(one.chunk.text, question, SNIPPET_LENGTH)}" for one in pool]
        )
        work: Coroutine[Any, Any, list[float] | None] = reranker.rerank(question, texts)
        limit_s = run.deadline.limit(rerank_http.TIMEOUT_S)
        scores = await attempt(step, work, fallback=lambda: None, timeout_s=limit_s)
        step.detail["reranker"] = reranker.name
        return scores

    async def _judgement(
        self,
        question: str,
        pool: tuple[ScoredChunk, ...],
        step: StepRecord,
        run: Run,
        language: Language,
        *,
        use_model: bool,
    ) -> RetrievalJudgement | None:
        if not pool:
            step.skip("nothing was found")
            return None
        if not use_model:
            if step.status == "degraded":  # the cross-encoder was asked, and failed
                return None
            step.skip("no model call: switched off, or no round is left before the first token")
            return None
        ask: Coroutine[Any, Any, RetrievalJudgement | None] = self._ask_model(question, pool, step, language)
        limit_s = run.deadline.limit(self.tools.settings.ollama.structured_timeout_s)
        return await attempt(step, ask, fallback=lambda: None, timeout_s=limit_s)

    async def _ask_model(
        self, question: str, pool: tuple[ScoredChunk, ...], step: StepRecord, language: Language
    ) -> RetrievalJudgement:
        settings = self.tools.settings.rerank
        passages = await asyncio.to_thread(quote_pool, question, pool, length=SNIPPET_LENGTH, language=language)
        given = {"passages": passages, "question": one_line(question)}
        if settings.evaluator == "eight_criteria":
            by_criteria = await self.tools.complete(
                "fast", CRITERIA_PROMPT, CriteriaJudgement, language=language, **given
            )
            step.detail["criteria"] = by_criteria.by_passage()
            judgement = by_criteria.as_judgement()
        else:
            judgement = await self.tools.complete("fast", PROMPT, RetrievalJudgement, language=language, **given)
        if not any(1 <= entry.passage <= len(pool) for entry in judgement.scores):
            raise ModelOutputError("the model scored none of the passages")
        return judgement

    def _from_model(
        self, judgement: RetrievalJudgement, ranked: tuple[ScoredChunk, ...], grading: Grading
    ) -> Assessment:
        """The model's verdict, where its own scores bear it out."""
        numbers = self.tools.settings.corrective
        best = max(candidate.scores.rerank or 0.0 for candidate in ranked)
        verdict, reason = judgement.verdict, one_line(judgement.reason)[:REASON_CHARS]
        contradictory = judgement.contradictory and verdict == "NO_ANSWER"
        if verdict == "ANSWER" and best < numbers.weak_score:
            verdict, reason = "REFINE", f"said ANSWER, but the best passage scores only {best:.2f}"
        elif verdict in ("NO_ANSWER", "REFINE") and best >= numbers.good_score and not contradictory:
            verdict, reason = "ANSWER", f"said {verdict}, but a passage scores {best:.2f}"
        return Assessment(
            verdict=verdict,
            candidates=ranked,
            reason=reason or "the model's judgement",
            missing=one_line(judgement.missing)[:REASON_CHARS],
            clarification=_clarification(judgement) if verdict == "CLARIFY" else None,
            by_model=True,
            scored_by_model=True,
            refused=verdict == "NO_ANSWER",
            contradictory=contradictory,
            holds_answer=grading.holds_answer,
            worth=best,
        )

    def _from_scores(
        self, ranked: tuple[ScoredChunk, ...], grading: Grading, by: str, *, scored_by_model: bool
    ) -> Assessment:
        """A cross-encoder's verdict is its best score; the trained grader's is its estimate for the whole list."""
        if not ranked:
            return Assessment(verdict="REFINE", reason="nothing was found")
        # Ratings order the passages, too: the first need not be the one that scores best.
        best, holds = max(one.scores.rerank or 0.0 for one in ranked), grading.holds_answer
        worth = best if scored_by_model else holds
        reason = f"{by}, the best passage scores {best:.2f}"
        return Assessment(
            verdict="ANSWER" if worth >= self.tools.settings.corrective.good_score else "REFINE",
            candidates=ranked,
            reason=reason if scored_by_model else f"{reason}; P(the documents hold the answer) = {holds:.2f}",
            scored_by_model=scored_by_model,
            holds_answer=holds,
            worth=worth,
        )


def quote_pool(question: str, pool: Sequence[ScoredChunk], *, length: int, language: Language) -> str:
    """Of each passage the window that says most about the question. Some ms of CPU: keep it off the event loop."""
    return "\n\n".join(
        quote_passage(number, candidate.chunk, best_window(candidate.chunk.text, question, length), language)
        for number, candidate in enumerate(pool, start=1)
    )


def scale(judgement: RetrievalJudgement, lexical: Sequence[float]) -> list[float]:
    """The model's scores as 0..1, in the passages' order; a model that graded 0–10 or 0–100 is understood.

    A passage that it left out keeps at most half of its lexical grade: what is not worth a line is seldom the answer.
    """
    given = {entry.passage: entry.score for entry in judgement.scores if entry.score == entry.score}
    top = max(given.values(), default=0.0)
    unit = 1.0 if top <= 1.0 else 10.0 if top <= 10.0 else 100.0
    return [
        min(1.0, max(0.0, given[number] / unit)) if number in given else estimate / 2
        for number, estimate in enumerate(lexical, start=1)
    ]


def rerank(pool: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
    """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

    A judge reads the text anew and knows nothing of what users found, so a part of their word counts on. It moves
    passages, not verdicts: `rerank` stays the judge's own score.
    """
    scored = [
        replace(
            candidate,
            scores=replace(
                candidate.scores, rerank=score, final=score * (candidate.scores.boost or 1.0) ** BOOST_SHARE
            ),
        )
        for candidate, score in zip(pool, scores, strict=True)
    ]
    return tuple(sorted(scored, key=lambda candidate: -round(candidate.scores.final or 0.0, 2)))


def at_least(ranked: tuple[ScoredChunk, ...], min_score: float) -> tuple[ScoredChunk, ...]:
    """Without the candidates below `min_score`; the best one stays, so that there is something to judge."""
    return tuple(one for one in ranked if (one.scores.rerank or 0.0) >= min_score) or ranked[:1]


def combine(before: Assessment, newly: Assessment) -> Assessment:
    """The verdict on what was newly found, over all candidates: scores that were given stay."""
    candidates = sorted((*newly.candidates, *before.candidates), key=lambda candidate: -(candidate.scores.final or 0.0))
    gained = newly.by_model or newly.worth >= before.worth
    return replace(
        newly,
        candidates=tuple(candidates),
        reason=newly.reason if gained else before.reason,
        missing=newly.missing or before.missing,
        refused=newly.refused if newly.by_model else before.refused and newly.verdict != "ANSWER",
        scored_by_model=newly.scored_by_model and before.scored_by_model,
        holds_answer=max(before.holds_answer, newly.holds_answer),
        worth=max(before.worth, newly.worth),
    )


def _clarification(judgement: RetrievalJudgement) -> Clarification | None:
    question = one_line(judgement.clarifying_question)
    options = dict.fromkeys(one_line(text)[:OPTION_CHARS] for text in judgement.clarifying_options)
    if not question:
        return None
    return Clarification(question=question, options=tuple(option for option in options if option)[:MAX_OPTIONS])


def _describe(step: StepRecord, ranked: Sequence[ScoredChunk], lexical: Sequence[float]) -> None:
    step.detail["scores"] = {candidate.chunk_id: round(candidate.scores.rerank or 0.0, 3) for candidate in ranked}
    step.detail["lexical"] = [round(value, 3) for value in lexical]
    if ranked and step.status != "skipped":
        best = ranked[0]
        step.summary = f"{len(ranked)} passages; best {best.scores.rerank or 0:.2f}: {best.chunk.title}"
