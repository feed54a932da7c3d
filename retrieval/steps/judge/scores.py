"""What all judges share: the passages as a model is shown them, its scores, and the estimate where it gives none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from retrieval.answerability import estimate_answerability
from retrieval.errors import ModelOutputError
from retrieval.steps.deps import Deps
from retrieval.steps.retrieve.order import fit
from retrieval.steps.schemas import TOP_SCORE
from retrieval.text.quoting import quote_source
from retrieval.values import Question, ScoredChunk

BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
YES_SCORE = 6  # of TOP_SCORE, from which a model's score means yes
FRAME_TOKENS = 1000  # of a judge's prompt, for all that is no passage


def reranking_is_on(deps: Deps, question: Question) -> bool:
    """Whether a model may be asked about passages: as the request says, else the settings."""
    asked = question.options.rerank
    return deps.settings.rerank.enabled if asked is None else asked


async def estimated(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> float:
    """P(the passages answer), 0..1, without a language model: a cross-encoder's best score, else the estimate's."""
    crossed = [passage.scores.rerank for passage in passages if passage.scores.rerank is not None]
    if crossed and deps.reranker:  # else the scores are of single documents, by their grades
        return max(crossed)
    return await asyncio.to_thread(
        estimate_answerability, question.standalone, passages, semantic=question.scope.semantic
    )


async def quoted(deps: Deps, passages: Sequence[ScoredChunk]) -> list[str]:
    """As many as fit, best first, in the form that the writing model reads: a server that has read them once need not
    read them again. Raises ModelError."""
    model = await deps.models.chat("fast")
    fitting = fit(passages, tokens=model.prompt_budget - FRAME_TOKENS)
    return [quote_source(number, passage.chunk) for number, passage in enumerate(fitting, start=1)]


def rank(passages: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
    """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

    A judge reads the text anew and knows nothing of what users rated, so a part of their boost counts on. It moves
    passages, not verdicts: `rerank` stays the judge's own score.
    """
    ranked = []
    for passage, score in zip(passages, scores, strict=True):
        final = score * (passage.scores.boost or 1.0) ** BOOST_SHARE
        ranked.append(replace(passage, scores=replace(passage.scores, rerank=score, final=final)))
    return tuple(sorted(ranked, key=lambda passage: -round(passage.scores.final or 0.0, 2)))


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    return {passage.chunk_id: round(passage.scores.rerank or 0.0, 3) for passage in passages}


def check_score(*numbers: float) -> None:
    """Raises ModelOutputError for a number outside 0 to TOP_SCORE."""
    if not all(0 <= number <= TOP_SCORE for number in numbers):
        raise ModelOutputError("score_out_of_range")
