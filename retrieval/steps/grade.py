"""Grade: one independent verdict for every document, all of them side by side; the grader never answers.

Source: seed 000, node 2 (is_relevant, confidence). A model grades each document; without one, or where it fails, the
estimate does, for all documents alike, since it can't tell which of them answers; no refusal follows from that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ragsite.core.wording import counted
from retrieval.path_texts import path_text
from retrieval.steps.judge import (
    TOP_SCORE,
    Score,
    check_score,
    estimated,
    quoted,
    rank,
    reranking_is_on,
)
from retrieval.steps.step import Deadline, Deps, step, try_call
from retrieval.text.quoting import one_line
from retrieval.trace import note, queue_model_call, skip
from retrieval.values import Question, ScoredChunk

RELEVANT_SCORE = 0.4  # estimate from which the documents are relevant, where no model grades them
TIMEOUT_S = 60.0  # all documents of one search together
EXCERPT_CHARS = 2000  # of a graded document, kept in the decision path


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """`confidence`: in this verdict, 0..1. by_model: a model gave it, else the estimate."""

    relevant: bool
    confidence: float
    reason: str = ""
    by_model: bool = False

    @property
    def score(self) -> float:
        """P(relevant), 0..1: at least 0.5 for every relevant document, less for every other."""
        return 0.5 + self.confidence / 2 if self.relevant else min(0.5 - self.confidence / 2, 0.499)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """`documents`: those that passed by a model's word, best first, with their score in `scores.rerank`; then those
    that passed by the estimate and those that failed, as found. `grades`: by `grade_key`, earlier rounds' included."""

    documents: tuple[ScoredChunk, ...] = ()
    grades: Mapping[str, DocumentGrade] = field(default_factory=dict)

    @property
    def passed(self) -> tuple[ScoredChunk, ...]:
        return tuple(document for document in self.documents if self.grade_of(document).relevant)

    @property
    def by_model(self) -> bool:
        """Whether a model gave any of the grades, those of earlier searches included."""
        return any(grade.by_model for grade in self.grades.values())

    @property
    def pass_rate(self) -> float:
        """Share of the documents that are relevant, 0..1; 0 where nothing was found."""
        return len(self.passed) / len(self.documents) if self.documents else 0.0

    def grade_of(self, document: ScoredChunk) -> DocumentGrade:
        return self.grades[grade_key(document)]


def grade_key(document: ScoredChunk) -> str:
    """A passage that was merged of other neighbours than before is another text, so it gets a grade of its own."""
    chunk = document.chunk
    return f"{chunk.chunk_id}:{chunk.char_start}-{chunk.char_end}"


@step("grade")
async def grade(
    deps: Deps, question: Question, documents: Sequence[ScoredChunk], *, known: Mapping[str, DocumentGrade]
) -> Graded:
    """A grade for every document. known: grades of earlier rounds for the same question; they stand."""
    if not documents:
        skip("nothing_found")
        return Graded(grades=known)
    fresh = [document for document in documents if grade_key(document) not in known]
    grades = dict(known)
    if fresh and reranking_is_on(deps, question):
        grades |= await _by_model(deps, question.standalone, fresh)
    if left := [document for document in fresh if grade_key(document) not in grades]:
        by_estimate = _by_estimate(await estimated(deps, question, fresh))
        grades |= {grade_key(document): by_estimate for document in left}
    graded = Graded(documents=_in_order(documents, grades), grades=grades)
    note(
        "graded",
        pass_rate=round(graded.pass_rate, 3),
        pass_count=len(graded.passed),
        total_count=len(documents),
        graded_before=len(documents) - len(fresh),
        documents=[_row(document, graded, known) for document in graded.documents],
    )
    return graded


class DocumentVerdict(BaseModel):
    """Whether one document holds information that the answer needs, and how sure this judgement is."""

    is_relevant: bool
    confidence: Score


async def _by_model(deps: Deps, text: str, documents: Sequence[ScoredChunk]) -> dict[str, DocumentGrade]:
    """Grade key → grade, of those documents of which the model says something; the entry tells why not of the others.

    At most `ollama.max_concurrency` calls at once, each with its time limit, all together within `TIMEOUT_S`.
    """
    count = len(documents)
    told = counted("grading {count} documents, each by itself", "grading {count} documents, each by itself", count)
    await deps.trace.announce("grade", told)
    slots = asyncio.Semaphore(deps.settings.ollama.max_concurrency)
    deadline = Deadline(deps.deadline.limit(TIMEOUT_S))

    async def verdict_of(document: ScoredChunk) -> DocumentVerdict:
        (passage,) = await quoted(deps, [document])
        verdict = await deps.complete("grade", DocumentVerdict, passages=passage, question=one_line(text))
        check_score(verdict.confidence)
        return verdict

    async def ask(document: ScoredChunk) -> DocumentVerdict | None:
        queue_model_call()  # to wait for a slot is not to wait for another call's answer
        async with slots:
            limit_s = deadline.limit(deps.settings.ollama.structured_timeout_s)
            return await try_call(deps, verdict_of(document), timeout_s=limit_s)

    verdicts = await asyncio.gather(*map(ask, documents))
    return {
        grade_key(document): DocumentGrade(
            relevant=verdict.is_relevant,
            confidence=verdict.confidence / TOP_SCORE,
            reason=path_text("model_says_relevant" if verdict.is_relevant else "model_says_not_relevant", {}),
            by_model=True,
        )
        for document, verdict in zip(documents, verdicts, strict=True)
        if verdict is not None
    }


def _by_estimate(score: float) -> DocumentGrade:
    """`confidence` grows with the distance from the score from which they are relevant."""
    relevant = score >= RELEVANT_SCORE
    room = 1.0 - RELEVANT_SCORE if relevant else RELEVANT_SCORE
    reason = path_text("judged_by_estimate", {"score": score})
    return DocumentGrade(relevant=relevant, confidence=abs(score - RELEVANT_SCORE) / room, reason=reason)


def _in_order(documents: Sequence[ScoredChunk], grades: Mapping[str, DocumentGrade]) -> tuple[ScoredChunk, ...]:
    """The confidence of a rejection does not tell how near a document comes, so those that failed stay as found."""
    graded = [(document, grades[grade_key(document)]) for document in documents]
    chosen = [(document, grade.score) for document, grade in graded if grade.relevant and grade.by_model]
    others = [document for document, grade in graded if grade.relevant and not grade.by_model]
    failed = [document for document, grade in graded if not grade.relevant]
    return (*rank([document for document, _ in chosen], [score for _, score in chosen]), *others, *failed)


def _row(document: ScoredChunk, graded: Graded, known: Mapping[str, DocumentGrade]) -> dict[str, Any]:
    chunk, grade = document.chunk, graded.grade_of(document)
    return {
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "title": chunk.title,
        "file_name": chunk.file_name,
        "page": chunk.page,
        "heading": chunk.heading,
        "text": chunk.text[:EXCERPT_CHARS],
        "relevant": grade.relevant,
        "confidence": round(grade.confidence, 3),
        "reason": grade.reason,
        "by_model": grade.by_model,
        "graded_before": grade_key(document) in known,
        "scores": document.scores.as_dict(),
    }
