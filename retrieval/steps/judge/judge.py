"""Judge: do the passages answer the question, differently for different readings, or not? One short model call.

The fast model is shown the passages in the form and order in which the writing model is given them, and replies with
the numbers of those that answer, and a verdict, about 20 tokens. Only a model's word refuses or asks back; without one
the verdict is REFINE, and the score is the estimate's.
Source: seed 003 §2.5 and §2.6; Yan et al., Corrective RAG, 2024, arXiv:2401.15884.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from retrieval.errors import ModelOutputError
from retrieval.path_texts import path_text
from retrieval.ports import Reranker
from retrieval.providers import rerank_http
from retrieval.steps.deps import Deps
from retrieval.steps.judge.scores import (
    YES_SCORE,
    check_score,
    estimated,
    quoted,
    rank,
    reranking_is_on,
    scores_by_chunk,
)
from retrieval.steps.schemas import JudgedAs, Verdict, criteria_of, judgement_of
from retrieval.steps.step import step
from retrieval.text.quoting import label, one_line
from retrieval.text.snippet import best_window
from retrieval.trace import note
from retrieval.values import Question, ScoredChunk

PROMPT = "judge"  # files in retrieval/prompts
CRITERIA_PROMPT = "judge_criteria"
SNIPPET_LENGTH = 500  # characters of each passage that a cross-encoder reads
YES, NO = 0.9, 0.1  # P(the passages answer) that stands for a model's word


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What was found, and what is said of it. `candidates`: the passages, in the order in which they were judged.

    verdict: ANSWER, NO_ANSWER and CLARIFY are a model's word; REFINE: no model has said anything. `named`: the passages
    that it says to answer; of CLARIFY, one for each thing that the question may be about. `missing`: search words.
    score: P(the passages answer), 0..1.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    named: tuple[ScoredChunk, ...] = ()
    score: float = 0.0

    @property
    def refused(self) -> bool:
        """A model has looked and said that the passages do not answer."""
        return self.verdict == "NO_ANSWER"


# ------------------------------------------------------------------------------------------------ order
async def rerank(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """In the order of a cross-encoder, where one is configured and reranking is wanted; else as they came."""
    if deps.reranker is None or not passages or not reranking_is_on(deps, question):
        return tuple(passages)
    return await _rerank(deps, deps.reranker, question.standalone, passages[: deps.settings.rerank.max_candidates])


def _as_found(deps: Deps, reranker: Reranker, text: str, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    return tuple(passages)


@step("rerank", fallback=_as_found, timeout_s=rerank_http.TIMEOUT_S)
async def _rerank(
    deps: Deps, reranker: Reranker, text: str, passages: Sequence[ScoredChunk]
) -> tuple[ScoredChunk, ...]:
    snippets = await asyncio.to_thread(_snippets, text, passages)
    ranked = rank(passages, await reranker.rerank(text, snippets))
    best = ranked[0]
    note(
        "reranked",
        reranker=reranker.name,
        scores=scores_by_chunk(ranked),
        best=best.scores.rerank or 0.0,
        title=best.chunk.title,
    )
    return ranked


def _snippets(text: str, passages: Sequence[ScoredChunk]) -> list[str]:
    chunks = [passage.chunk for passage in passages]
    return [f"{label(chunk)}\n{best_window(chunk.text, text, SNIPPET_LENGTH)}" for chunk in chunks]


# ------------------------------------------------------------------------------------------------ verdict
async def by_estimate(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> Assessment:
    """No model's word: nothing is refused."""
    if not passages:
        return assessed("nothing_found", "REFINE", ())
    score = await estimated(deps, question, passages)
    return assessed("judged_by_estimate", "REFINE", passages, score=score)


@step("assess", fallback=by_estimate)
async def judge(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    if not passages or not reranking_is_on(deps, question):
        return await by_estimate(deps, question, passages)
    verdict, numbers = await _ask(deps, question, passages)
    named = tuple(passages[number - 1] for number in dict.fromkeys(numbers))
    if verdict == "no_answer":
        return assessed("judged_no", "NO_ANSWER", passages, score=NO)
    readings = _one_of_each_document(named)
    if verdict == "ask_back" and len(readings) > 1:  # one document alone leaves nothing to choose
        return assessed("judged_unclear", "CLARIFY", passages, named=readings, score=YES)
    return assessed("judged_yes", "ANSWER", passages, named=named, score=YES)


def assessed(
    code: Literal["nothing_found", "judged_by_estimate", "judged_no", "judged_unclear", "judged_yes"],
    verdict: Verdict,
    passages: Sequence[ScoredChunk],
    *,
    named: tuple[ScoredChunk, ...] = (),
    score: float = 0.0,
    missing: str = "",
) -> Assessment:
    """An assessment, and its entry in the decision path."""
    note(
        code,
        verdict=verdict,
        score=round(score, 3),
        by_model=verdict != "REFINE",
        named=[passage.chunk_id for passage in named],
        missing=missing,
    )
    return Assessment(
        verdict=verdict,
        candidates=tuple(passages),
        reason=path_text(code, {"score": score}),
        missing=missing,
        named=named,
        score=score,
    )


async def _ask(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> tuple[JudgedAs, Sequence[int]]:
    """The verdict, and the numbers of the passages that answer. Raises ModelError, also for what is no judgement."""
    shown = await quoted(deps, passages)
    variables: dict[str, Any] = {
        "passages": "\n\n".join(shown),
        "question": one_line(question.standalone),
        "count": len(shown),
    }
    numbers: Sequence[int]
    if deps.settings.rerank.evaluator == "eight_criteria":
        by_criteria = await deps.complete(CRITERIA_PROMPT, criteria_of(len(shown)), **variables)
        check_score(*(number for entry in by_criteria.passages for number in entry.criteria))
        verdict = by_criteria.verdict
        numbers = [entry.passage for entry in by_criteria.passages if fmean(entry.criteria) >= YES_SCORE]
    else:
        reply = await deps.complete(PROMPT, judgement_of(len(shown)), **variables)
        verdict, numbers = reply.verdict, reply.relevant_passages
    if any(not 1 <= number <= len(shown) for number in numbers):
        raise ModelOutputError("passage_out_of_range")
    return verdict, numbers


def _one_of_each_document(passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """The first passage of each document."""
    first: dict[str, ScoredChunk] = {}
    for passage in passages:
        first.setdefault(passage.document_id, passage)
    return tuple(first.values())
