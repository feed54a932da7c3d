"""What all evaluators share: they say how good the evidence, or an answer, is for a question.

An evaluator of evidence works in four moves. Only the third differs from one to the other:

1. `estimate`: the trained model's answerability of each passage and of all of them together;
2. `consult`: a language model's reply, where one may be asked; `ask_about` quotes the passages to it;
3. its own part: the prompt, the schema of the reply, and what the reply means;
4. `passage_scores` and `rank`: the reply's scores beside the estimate, and the order with what ratings say.

Evaluators: `judge` (rerank and assess), `grade` (each document by itself), `sufficiency` (react), and of the workflows
`planned.reflect`, `planned.answer_check` and `dual_loop.answer_grade`.
Source: Yan et al., Corrective RAG, 2024, arXiv:2401.15884 (the retrieval evaluator).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from retrieval.answerability import Estimate, estimate_answerability
from retrieval.errors import ModelOutputError
from retrieval.ports import Schema
from retrieval.steps.schemas import PassageScore, Verdict
from retrieval.steps.step import Given, Result, Step
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line, quote_passage
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import Answer, Clarification, ScoredChunk, StoredChunk

Reply = TypeVar("Reply")
REASON_CHARS = 300
SNIPPET_LENGTH = 500  # characters of each passage that the model reads
BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
BY_MODEL = "the model's judgement"  # the reason where the model gives none


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Passages to be judged, best first, for a self-contained `question`.

    listed, semantic: see `estimate_answerability`. use_model: whether a language model may be asked; not where that is
    switched off, or where no model round is left before the first token.
    """

    question: str
    passages: Sequence[ScoredChunk]
    listed: Sequence[ScoredChunk] = ()
    semantic: bool = True
    use_model: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How good the evidence is. `candidates`: reranked, best first.

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
    answerability: float = 0.0  # the trained model's P(the documents hold the answer), always
    retrieval_score: float = 0.0  # what the verdict rests on, 0..1: a model's best score, else `answerability`

    @property
    def best(self) -> float:
        """The highest score, 0..1; ratings order the candidates too, so the first need not have it."""
        return best_score(self.candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """An answer to be judged. `released`: the reader has it already."""

    answer: Answer
    question: str
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAssessment:
    """How good an answer is. score: 0..1; None: not known. missing: search words for what it lacks.
    baseless: the passages do not support it, so it is better to say that there is no answer."""

    accepted: bool
    score: float | None = None
    missing: str = ""
    reason: str = ""
    baseless: bool = False


class Evaluator(Step[Given, Result]):
    """A step that judges. See the module's text for its parts."""

    async def estimate(
        self, evidence: Evidence, passages: Sequence[ScoredChunk], *, beside: Sequence[ScoredChunk] = ()
    ) -> Estimate:
        """The trained model's, for these passages of the evidence; `beside`: see `estimate_answerability`."""
        return await asyncio.to_thread(
            estimate_answerability,
            evidence.question,
            passages,
            listed=evidence.listed,
            beside=beside,
            semantic=evidence.semantic,
        )

    async def consult(
        self,
        entry: StepRecord,
        evidence: Evidence,
        estimate: Estimate,
        ask: Callable[[], Coroutine[Any, Any, Reply]],
    ) -> Reply | None:
        """The model's reply. None where no model may be asked, where there are no passages to ask about, and, with the
        reason in the entry, where the reply can't be used."""
        if not evidence.use_model or not estimate.passages:
            return None
        work: Coroutine[Any, Any, Reply | None] = ask()
        return await self.attempt(entry, work, fallback=lambda: None)

    async def ask_about(
        self,
        passages: Sequence[ScoredChunk],
        question: str,
        prompt: str,
        schema: type[Schema],
        *,
        length: int | None = None,
        **variables: object,
    ) -> Schema:
        """One structured call about the quoted passages. `length`: characters of each, by default SNIPPET_LENGTH.

        Raises ModelError.
        """
        length = length or SNIPPET_LENGTH
        numbered = enumerate((passage.chunk for passage in passages), start=1)
        language = self.context.language
        quoted = await asyncio.to_thread(quote_windows, question, numbered, length=length, language=language)
        return await self.complete(prompt, schema, passages=quoted, question=one_line(question), **variables)

    def rank(self, passages: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
        """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

        A judge reads the text anew and knows nothing of what users rated, so a part of their boost counts on. It moves
        passages, not verdicts: `rerank` stays the judge's own score.
        """
        ranked = []
        for passage, score in zip(passages, scores, strict=True):
            final = score * (passage.scores.boost or 1.0) ** BOOST_SHARE
            ranked.append(replace(passage, scores=replace(passage.scores, rerank=score, final=final)))
        return tuple(sorted(ranked, key=lambda passage: -round(passage.scores.final or 0.0, 2)))


def quote_windows(
    question: str, passages: Iterable[tuple[int, StoredChunk]], *, length: int, language: Language
) -> str:
    """Of each passage, under its number, the window that says most about the question.

    Some ms of CPU: keep it off the event loop.
    """
    return "\n\n".join(
        quote_passage(number, chunk, best_window(chunk.text, question, length), language) for number, chunk in passages
    )


def unit_score(value: float, *, highest: float | None = None, unreadable: float = 0.0) -> float:
    """0..1 of a number that was meant as 0–1, 0–10 or 0–100; `unreadable` for NaN and infinity.

    highest: of all numbers in the reply, where there are several: it tells the scale.
    """
    if not math.isfinite(value):
        return unreadable
    highest = value if highest is None else highest
    unit = 1.0 if highest <= 1.0 else 10.0 if highest <= 10.0 else 100.0
    return min(1.0, max(0.0, value / unit))


def passage_scores(scores: Sequence[PassageScore], estimates: Sequence[float]) -> list[float]:
    """The model's scores as 0..1, in the passages' order.

    A passage that it left out keeps half of its estimate: such a passage is seldom the answer.
    Raises ModelOutputError when it scored none of the passages.
    """
    if not any(1 <= entry.passage <= len(estimates) for entry in scores):
        raise ModelOutputError("the model scored none of the passages")
    given = {entry.passage: entry.score for entry in scores if math.isfinite(entry.score)}
    highest = max(given.values(), default=0.0)
    return [
        unit_score(given[number], highest=highest) if number in given else estimate / 2
        for number, estimate in enumerate(estimates, start=1)
    ]


def best_score(passages: Sequence[ScoredChunk]) -> float:
    return max((passage.scores.rerank or 0.0 for passage in passages), default=0.0)


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    return {passage.chunk_id: round(passage.scores.rerank or 0.0, 3) for passage in passages}


def clipped(text: str) -> str:
    """A model's words on one line, at most REASON_CHARS characters."""
    return one_line(text)[:REASON_CHARS]
