"""What all judges share: the model's word decides where a model gives it, the estimate stands where none does.

Judges: `judge` (rerank and assess), `grade` (each document by itself), `sufficiency` (react), and of the workflows
`planned.reflect`, `planned.answer_check` and `dual_loop.answer_grade`.
Source: Yan et al., Corrective RAG, 2024, arXiv:2401.15884 (the retrieval evaluator).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ragsite.core.wording import worded
from retrieval.answerability import estimate_answerability
from retrieval.errors import ModelOutputError
from retrieval.steps.retrieve.order import fit
from retrieval.steps.schemas import TOP_SCORE
from retrieval.steps.step import Given, Result, Step
from retrieval.text.quoting import one_line, quote_source
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk

Reply = TypeVar("Reply")
REASON_CHARS = 300
BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
YES, NO = 0.9, 0.1  # P(the passages answer) that stands for a model's word
YES_SCORE = 6  # of TOP_SCORE, from which a model's score means yes
FRAME_TOKENS = 1000  # of a judge's prompt, for all that is no passage


class Evaluator(Step[Given, Result]):
    """A step that judges. Never raises a ModelError."""

    async def ask(self, entry: StepRecord, work: Coroutine[Any, Any, Reply], *, use_model: bool = True) -> Reply | None:
        """The model's reply; None where it may not be asked, or fails: then the entry says so."""
        if not use_model:
            work.close()
            entry.detail["not_asked"] = worded("no model is asked: that is switched off")
            return None
        return await self.attempt(entry, work, fallback=lambda: None)

    async def shown(self, passages: Sequence[ScoredChunk]) -> Shown:
        """As many as fit, in the form that the writing model reads: a server that has read them once need not read them
        again. Raises ModelError."""
        model = await self.tools.models.chat("fast")
        fitting = fit(passages, tokens=model.prompt_budget - FRAME_TOKENS)
        quoted = [quote_source(number, passage.chunk) for number, passage in enumerate(fitting, start=1)]
        return Shown("\n\n".join(quoted), len(quoted))


@dataclass(frozen=True, slots=True)
class Shown:
    """The first `count` passages as a prompt quotes them, numbered from 1."""

    text: str
    count: int


async def estimate_of(question: str, passages: Sequence[ScoredChunk], *, semantic: bool) -> float:
    return await asyncio.to_thread(estimate_answerability, question, passages, semantic=semantic)


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


def check_score(*numbers: float) -> None:
    """Raises ModelOutputError for a number outside 0 to TOP_SCORE."""
    if not all(0 <= number <= TOP_SCORE for number in numbers):
        raise ModelOutputError(worded("the model gave a number outside 0 to {top_score}", top_score=TOP_SCORE))


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    return {passage.chunk_id: round(passage.scores.rerank or 0.0, 3) for passage in passages}


def clipped(text: str) -> str:
    """A model's words on one line, at most REASON_CHARS characters."""
    return one_line(text)[:REASON_CHARS]
