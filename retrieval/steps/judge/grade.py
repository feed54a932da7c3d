"""Grade: one independent verdict for every document, all of them side by side; the grader never answers.

Source: seed 000, node 2 (is_relevant, confidence). A model grades each document; without one, or where it fails, the
estimate does, and no refusal follows from that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsite.core.wording import counted, worded
from retrieval.errors import ModelError
from retrieval.steps.deps import Deadline
from retrieval.steps.judge.assessment import Evidence
from retrieval.steps.judge.evaluator import Evaluator, check_score, estimate_of, rank
from retrieval.steps.schemas import TOP_SCORE, DocumentVerdict
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord, queue_model_call
from retrieval.values import ScoredChunk

PROMPT = "grade"  # its file in retrieval/prompts
RELEVANT_SCORE = 0.4  # estimate from which a document is relevant, where no model grades it
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
class Documents(Evidence):
    """`passages` are the documents to grade. `known`: grades of earlier rounds for the same question; they stand."""

    known: Mapping[str, DocumentGrade] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """`documents`: those that passed, best first, then the others as found; their score is `scores.rerank`. `grades`:
    by `grade_key`, those of earlier rounds included."""

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


class Grade(Evaluator[Documents, Graded]):
    """A grade for every document. Never raises a ModelError.

    At most `ollama.max_concurrency` calls at once, each with its time limit, all together within `TIMEOUT_S`.
    """

    name = "grade"

    async def act(self, given: Documents, entry: StepRecord) -> Graded:
        documents = given.passages
        if not documents:
            entry.skip(worded("nothing was found"))
            return Graded(grades=given.known)
        fresh = [document for document in documents if grade_key(document) not in given.known]
        grades = {**given.known, **await self._graded(given, fresh, entry)}
        ranked = rank(documents, [grades[grade_key(document)].score for document in documents])
        scored = {document.chunk_id: document for document in ranked}
        passed = [document for document in ranked if grades[grade_key(document)].relevant]
        # Those that failed stay as found: the confidence of a rejection does not tell how near a document comes.
        failed = [scored[document.chunk_id] for document in documents if not grades[grade_key(document)].relevant]
        graded = Graded(documents=(*passed, *failed), grades=grades)
        entry.summary = worded(
            "{passed} of {documents} documents are relevant", passed=len(passed), documents=len(documents)
        )
        if known := len(documents) - len(fresh):
            entry.summary += worded("; {known} were graded before", known=known)
        entry.detail |= {
            "pass_rate": round(graded.pass_rate, 3),
            "pass_count": len(passed),
            "total_count": len(documents),
            "documents": [_row(document, graded, given.known) for document in graded.documents],
        }
        return graded

    async def _graded(
        self, given: Documents, documents: Sequence[ScoredChunk], entry: StepRecord
    ) -> dict[str, DocumentGrade]:
        """Grade key → grade: the model's where it gives one, else the estimate's."""
        verdicts: Sequence[DocumentVerdict | None] = [None] * len(documents)
        if not (given.use_model and self.settings.grade.enabled):
            entry.detail["not_asked"] = worded("switched off")
        elif documents:
            text = counted(
                "grading {count} documents, each by itself", "grading {count} documents, each by itself", len(documents)
            )
            await self.run.trace.sink.tool_called("grade", text, entry)
            verdicts = await self._ask_each(given.question, documents, entry)
        grades = {
            grade_key(document): _by_model(verdict)
            for document, verdict in zip(documents, verdicts, strict=True)
            if verdict is not None
        }
        left = [document for document in documents if grade_key(document) not in grades]
        if left:
            probability = await estimate_of(given.question, documents, semantic=given.semantic)
            grades |= {grade_key(document): _without_model(probability) for document in left}
        return grades

    async def _ask_each(
        self, question: str, documents: Sequence[ScoredChunk], entry: StepRecord
    ) -> Sequence[DocumentVerdict | None]:
        """What the model says of each; the entry says why it says nothing of some."""
        settings = self.settings
        slots = asyncio.Semaphore(settings.ollama.max_concurrency)
        deadline = Deadline(self.run.deadline.limit(TIMEOUT_S))
        failures: list[str] = []

        async def ask(document: ScoredChunk) -> DocumentVerdict | None:
            queue_model_call()  # to wait for a slot is not to wait for another call's answer
            async with slots:
                limit_s = deadline.limit(settings.ollama.structured_timeout_s)
                try:
                    async with asyncio.timeout(limit_s):
                        passages = (await self.shown([document])).text
                        verdict = await self.complete(
                            PROMPT, DocumentVerdict, passages=passages, question=one_line(question)
                        )
                        check_score(verdict.confidence)
                        return verdict
                except ModelError as error:
                    failures.append(error.reason)
                except TimeoutError:
                    failures.append(worded("no result within {limit_s:.1f} s", limit_s=limit_s))
                return None

        verdicts = await asyncio.gather(*map(ask, documents))
        if failures:
            entry.degrade(
                worded(
                    "{failed} of {documents} documents were graded without a model: {reason}",
                    failed=len(failures),
                    documents=len(documents),
                    reason=failures[0],
                )
            )
        return verdicts


def _by_model(verdict: DocumentVerdict) -> DocumentGrade:
    said = worded("the model says: relevant") if verdict.is_relevant else worded("the model says: not relevant")
    return DocumentGrade(
        relevant=verdict.is_relevant, confidence=verdict.confidence / TOP_SCORE, reason=said, by_model=True
    )


def _without_model(probability: float) -> DocumentGrade:
    """By the estimate for all documents together: which of them answers, it does not know. `confidence` grows with the
    distance from the score from which they are relevant."""
    relevant = probability >= RELEVANT_SCORE
    room = 1.0 - RELEVANT_SCORE if relevant else RELEVANT_SCORE
    reason = worded(
        "without a model: the documents answer with a probability of {probability:.2f}", probability=probability
    )
    return DocumentGrade(relevant=relevant, confidence=abs(probability - RELEVANT_SCORE) / room, reason=reason)


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
