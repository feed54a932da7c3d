"""Scores of a judge: what a model may reply with, and how passages are shown to it and ranked by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.steps.context.order import fit
from retrieval.engine.text.quoting import quote_source
from retrieval.engine.values import Question, ScoredChunk

BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
YES_SCORE = 6  # of TOP_SCORE, from which a model's score means yes
FRAME_TOKENS = 1000  # of a judge's prompt, for all that is no passage
TOP_SCORE = 10  # of the whole numbers, from 0, that a model scores with
Score = Annotated[int, limited(minimum=0, maximum=TOP_SCORE)]


def judging_is_on(question: Question) -> bool:
    """Whether a model may be asked about passages and answers, unless the request says no."""
    return question.options.judge is not False


async def quoted(deps: Deps, passages: Sequence[ScoredChunk]) -> list[str]:
    """As many as fit, best first, in the form that the writing model reads: a server that has read them once need not
    read them again. Raises ModelError."""
    model = await deps.models.chat("fast")
    fitting = fit(passages, tokens=model.prompt_budget - FRAME_TOKENS)
    return [quote_source(number, passage.chunk) for number, passage in enumerate(fitting, start=1)]


def rank(passages: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
    """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

    A judge reads the text alone and knows nothing of what users rated, so a part of their boost counts on. It moves
    passages, not verdicts: `rerank` stays the judge's own score.
    """
    judged = []
    for passage, score in zip(passages, scores, strict=True):
        boost = passage.scores.boost or 1.0
        final = score * boost**BOOST_SHARE
        with_score = replace(passage.scores, rerank=score, final=final)
        judged.append(replace(passage, scores=with_score))
    judged.sort(key=lambda passage: -round(passage.scores.final or 0.0, 2))
    return tuple(judged)


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    scores: dict[str, float] = {}
    for passage in passages:
        scores[passage.chunk_id] = round(passage.scores.rerank or 0.0, 3)
    return scores


def check_score(*numbers: float) -> None:
    """Raises ModelOutputError for a number outside 0 to TOP_SCORE."""
    if not all(0 <= number <= TOP_SCORE for number in numbers):
        raise ModelOutputError("score_out_of_range")


def check_numbers(numbers: Sequence[int], count: int) -> None:
    """Raises ModelOutputError for a passage that the model was not shown."""
    if not all(1 <= number <= count for number in numbers):
        raise ModelOutputError("passage_out_of_range")
