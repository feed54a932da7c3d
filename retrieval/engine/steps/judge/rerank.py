"""Rerank: the passages in the order of a cross-encoder's scores, where one is configured, else of a model's.

Source: seed 002 (TopN and MinScore).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import RerankDetails
from retrieval.engine.providers import rerank_http
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.providers.rerank_http import HttpReranker
from retrieval.engine.steps.judge.scores import (
    TOP_SCORE,
    Score,
    check_score,
    quoted,
    rank,
    scores_by_chunk,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import label, one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Question, ScoredChunk

CROSS_ENCODER_CHARS = 2000  # of each passage that it is sent; it reads some 500 tokens


class RerankScores(BaseModel):
    """How well each passage answers, in the passages' order."""

    scores: list[Score]


def reranking_is_on(deps: Deps, question: Question, *, by_default: bool = False) -> bool:
    """As the request says, else the setting; where neither does, with a cross-encoder, or `by_default`."""
    for choice in (question.options.rerank, deps.settings.rerank.enabled):
        if choice is not None:
            return choice
    return by_default or deps.reranker is not None


async def rerank(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    by_default: bool = False,
) -> tuple[ScoredChunk, ...]:
    """The first `max_candidates` in the order of a cross-encoder, where one is configured, else of a model's scores,
    then the others; without those that `min_score` and `top_n` leave out.

    As they came where reranking is not wanted or failed. by_default: the workflow wants it where nobody has said.
    """
    if not passages or not reranking_is_on(deps, question, by_default=by_default):
        return tuple(passages)
    if deps.reranker is None:
        return await _rerank_by_model(deps, question, passages)
    return await _rerank_by_cross_encoder(deps, question, passages, reranker=deps.reranker)


def _as_found(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any
) -> tuple[ScoredChunk, ...]:
    return tuple(passages)


@step("rerank", fallback=_as_found, timeout_s=rerank_http.TIMEOUT_S)
async def _rerank_by_cross_encoder(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    reranker: HttpReranker,
) -> tuple[ScoredChunk, ...]:
    first = passages[: deps.settings.rerank.max_candidates]
    texts = [
        f"{label(passage.chunk)}\n{passage.chunk.text[:CROSS_ENCODER_CHARS]}" for passage in first
    ]
    scores = await reranker.rerank(question.standalone, texts)
    return _reranked(deps, question, passages, scores, by=reranker.name)


@step("rerank", fallback=_as_found, optional=True)
async def _rerank_by_model(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> tuple[ScoredChunk, ...]:
    """In one call, of as many snippets as fit its prompt."""
    settings = deps.settings.rerank
    snippets: list[ScoredChunk] = []
    for passage in passages[: settings.max_candidates]:
        text = passage.chunk.text[: settings.snippet_length]
        snippets.append(replace(passage, chunk=replace(passage.chunk, text=text)))
    shown = await quoted(deps, snippets)
    reply = await deps.complete(
        "rerank",
        exactly(RerankScores, "scores", len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        count=len(shown),
    )
    if len(reply.scores) != len(shown):
        raise ModelOutputError("wrong_number_of_scores")
    check_score(*reply.scores)
    model = await deps.models.chat("fast")
    scores = [score / TOP_SCORE for score in reply.scores]
    return _reranked(deps, question, passages, scores, by=model.name)


def _reranked(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    scores: Sequence[float],
    *,
    by: str,
) -> tuple[ScoredChunk, ...]:
    """scores: of the first so many passages."""
    options = question.options
    settings = deps.settings.rerank
    least = settings.min_score if options.min_score is None else options.min_score
    most = options.top_n or settings.top_n or len(passages)
    ranked = rank(passages[: len(scores)], scores)
    reaching = [passage for passage in ranked if (passage.scores.rerank or 0.0) >= least]
    chosen = tuple(reaching) or ranked[:1]
    if not least:
        chosen += tuple(passages[len(scores) :])
    chosen = chosen[:most]
    left_out = len(passages) - len(chosen)
    details = RerankDetails(
        reranker=by,
        scores=scores_by_chunk(ranked),
        best=ranked[0].scores.rerank or 0.0,
        title=ranked[0].chunk.title,
        min_score=least,
        left_out=left_out,
    )
    if not reaching:
        note("reranked_below", details)
    else:
        note("reranked_fewer" if left_out else "reranked", details)
    return chosen
