"""Judge: do the passages answer the question, differently for different readings, or not? One short model call.

`Rerank` puts the passages into the order of a cross-encoder, where one is configured. `Judge` asks the fast model about
the passages, in the same form and order as the writing model is given them: the numbers of those that answer, and a
verdict, about 20 tokens. Only a model's word refuses or asks back; without one the verdict is REFINE, and the score is
the estimate's.
Source: seed 003 §2.5 and §2.6; Yan et al., Corrective RAG, 2024, arXiv:2401.15884.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import fmean

from ragsite.core.wording import joined, worded
from retrieval.errors import ModelOutputError
from retrieval.providers import rerank_http
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.evaluator import (
    NO,
    YES,
    YES_SCORE,
    Evaluator,
    check_score,
    estimate_of,
    rank,
    scores_by_chunk,
)
from retrieval.steps.schemas import (
    VERDICTS,
    CriteriaJudgement,
    RetrievalJudgement,
    criteria_of,
    judgement_of,
)
from retrieval.steps.step import Context, Step
from retrieval.text.quoting import label, one_line
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk

PROMPT = "judge"  # files in retrieval/prompts
CRITERIA_PROMPT = "judge_criteria"
SNIPPET_LENGTH = 500  # characters of each passage that a cross-encoder reads
MIN_READINGS = 2


class Rerank(Step[Evidence, tuple[ScoredChunk, ...]]):
    """The passages in the cross-encoder's order, its score in `scores.rerank`; where it fails, as they came."""

    name = "rerank"

    async def act(self, given: Evidence, entry: StepRecord) -> tuple[ScoredChunk, ...]:
        passages, reranker = tuple(given.passages[: self.settings.rerank.max_candidates]), self.tools.reranker
        if reranker is None or not passages:
            entry.skip(worded("no cross-encoder is configured") if passages else worded("nothing was found"))
            return passages
        texts = await asyncio.to_thread(_snippets, given.question, passages)
        scores = await self.attempt(
            entry,
            reranker.rerank(given.question, texts),
            fallback=list,
            limit_s=rerank_http.TIMEOUT_S,
        )
        entry.detail["reranker"] = reranker.name
        if not scores:
            return passages
        ranked = rank(passages, scores)
        entry.detail["scores"] = scores_by_chunk(ranked)
        entry.summary = worded(
            "best {score:.2f}: {title}", score=ranked[0].scores.rerank or 0.0, title=ranked[0].chunk.title
        )
        return ranked


def _snippets(question: str, passages: Sequence[ScoredChunk]) -> list[str]:
    chunks = [passage.chunk for passage in passages]
    return [f"{label(chunk)}\n{best_window(chunk.text, question, SNIPPET_LENGTH)}" for chunk in chunks]


async def rerank(context: Context, evidence: Evidence) -> tuple[ScoredChunk, ...]:
    """By the cross-encoder where there is one and it is wanted; no step else."""
    if context.tools.reranker is None or not evidence.use_model:
        return tuple(evidence.passages)
    return await Rerank(context)(evidence)


class Judge(Evaluator[Evidence, Assessment]):
    name = "assess"

    async def act(self, given: Evidence, entry: StepRecord) -> Assessment:
        passages = tuple(given.passages)
        if not passages:
            assessment = Assessment(verdict="REFINE", reason=worded("nothing was found"))
        elif (reply := await self.ask(entry, self._ask(given), use_model=given.use_model)) is not None:
            assessment = _by_model(reply, passages)
        else:
            score = await estimated(self.context, given)
            reason = worded("the documents answer with a probability of {score:.2f}", score=score)
            assessment = Assessment(verdict="REFINE", candidates=passages, reason=reason, score=score)
        entry.summary = worded("{verdict}: {reason}", verdict=VERDICTS[assessment.verdict], reason=assessment.reason)
        entry.detail |= {
            "verdict": assessment.verdict,
            "score": round(assessment.score, 3),
            "by_model": assessment.by_model,
            "named": [passage.chunk_id for passage in assessment.named],
        }
        return assessment

    async def _ask(self, given: Evidence) -> RetrievalJudgement | CriteriaJudgement:
        """Raises ModelError, also for what is no judgement."""
        shown = await self.shown(given.passages)
        variables = {"passages": shown.text, "question": one_line(given.question), "count": shown.count}
        if self.settings.rerank.evaluator == "eight_criteria":
            by_criteria = await self.complete(CRITERIA_PROMPT, criteria_of(shown.count), **variables)
            check_score(*(number for entry in by_criteria.passages for number in entry.criteria))
            return by_criteria
        reply = await self.complete(PROMPT, judgement_of(shown.count), **variables)
        if any(not 1 <= number <= shown.count for number in reply.relevant_passages):
            raise ModelOutputError(worded("the model named a passage outside 1 to {count}", count=shown.count))
        return reply


def _by_model(reply: RetrievalJudgement | CriteriaJudgement, passages: tuple[ScoredChunk, ...]) -> Assessment:
    if isinstance(reply, CriteriaJudgement):
        scores = {entry.passage: fmean(entry.criteria) for entry in reply.passages}
        named = [number for number in range(1, len(passages) + 1) if scores.get(number, 0.0) >= YES_SCORE]
    else:
        named = list(dict.fromkeys(reply.relevant_passages))
    verdict = reply.verdict
    chosen = tuple(passages[number - 1] for number in named)
    readings = one_of_each_document(chosen)
    if verdict == "ask_back" and len(readings) < MIN_READINGS:
        verdict = "answer"  # one document alone leaves nothing to choose
    if verdict == "no_answer":
        return Assessment(
            verdict="NO_ANSWER", candidates=passages, reason=worded("the model says that no passage answers"), score=NO
        )
    if verdict == "ask_back":
        reason = worded("the model says that the passages answer for different things")
        return Assessment(verdict="CLARIFY", candidates=passages, reason=reason, named=readings, score=YES)
    reason = worded(
        "the model says that passages answer: {numbers}", numbers=joined(", ", map(str, named)) if named else "-"
    )
    return Assessment(verdict="ANSWER", candidates=passages, reason=reason, named=chosen, score=YES)


async def estimated(context: Context, evidence: Evidence) -> float:
    """P(the passages answer) without a language model: a cross-encoder's best score, else the estimate's."""
    crossed = [passage.scores.rerank for passage in evidence.passages if passage.scores.rerank is not None]
    if crossed and context.tools.reranker:  # else the scores are of single documents, by their grades
        return max(crossed)
    return await estimate_of(evidence.question, evidence.passages, semantic=evidence.semantic)


async def judge(context: Context, evidence: Evidence) -> Assessment:
    """Rerank, where there is a cross-encoder, and a model's verdict. Never raises a ModelError."""
    ranked = await rerank(context, evidence)
    return await Judge(context)(
        Evidence(question=evidence.question, passages=ranked, semantic=evidence.semantic, use_model=evidence.use_model)
    )


def one_of_each_document(passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """The first passage of each document."""
    first: dict[str, ScoredChunk] = {}
    for passage in passages:
        first.setdefault(passage.document_id, passage)
    return tuple(first.values())
