"""Grade: one independent verdict for every document, all of them side by side; the grader never answers.

Source: seed 000, node 2 (is_relevant, confidence, reasoning); Yan et al., 2024, arXiv:2401.15884 (the retrieval
evaluator). Without a model the trained grader serves (`retrieval.answerability.grading`), for each document whose call
failed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from retrieval.answerability import Grading
from retrieval.answerability.grading import grade_passages
from retrieval.errors import ModelError
from retrieval.steps.deadline import Deadline
from retrieval.steps.judge.judge import quote_pool, rerank
from retrieval.steps.schemas import DocumentVerdict
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord, queue_model_call
from retrieval.values import ScoredChunk

PROMPT = "grade"  # its file in retrieval/prompts
SNIPPET_LENGTH = 2000  # characters of a document that the model reads
RELEVANT_SCORE = 0.4  # without a model: probability from which a document is relevant
TIMEOUT_S = 60.0  # all documents of one search together

REASON_CHARS = 300
EXCERPT_CHARS = 2000  # of a graded document, kept in the decision path


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """`confidence`: in this verdict, 0..1."""

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
    """`documents`: those that passed, best first, then the others as found; their score is `scores.rerank`. `grades`:
    by `grade_key`. `holds_answer`: the trained grader's P(the documents hold the answer); 0 where it was not asked."""

    documents: tuple[ScoredChunk, ...] = ()
    grades: Mapping[str, DocumentGrade] = field(default_factory=dict)
    holds_answer: float = 0.0

    @property
    def passed(self) -> tuple[ScoredChunk, ...]:
        return tuple(document for document in self.documents if self.of(document).relevant)

    @property
    def by_model(self) -> bool:
        """Whether a model gave any of the grades, those of earlier searches included."""
        return any(grade.by_model for grade in self.grades.values())

    @property
    def pass_rate(self) -> float:
        """Share of the documents that are relevant, 0..1; 0 where nothing was found."""
        return len(self.passed) / len(self.documents) if self.documents else 0.0

    def of(self, document: ScoredChunk) -> DocumentGrade:
        return self.grades[grade_key(document)]


def grade_key(document: ScoredChunk) -> str:
    """A passage that was merged of other neighbours than before is another text, so it gets a grade of its own."""
    chunk = document.chunk
    return f"{chunk.chunk_id}:{chunk.char_start}-{chunk.char_end}"


@dataclass(frozen=True, slots=True)
class Grade:
    tools: Toolbox

    async def grade(
        self,
        question: str,
        documents: Sequence[ScoredChunk],
        *,
        run: Run,
        language: Language,
        known: Mapping[str, DocumentGrade] | None = None,
        use_model: bool = True,
        beyond: Sequence[ScoredChunk] = (),
        listed: Sequence[ScoredChunk] = (),
        semantic: bool = True,
    ) -> Graded:
        """A grade for every document. Never raises a ModelError.

        `known`: grades of earlier rounds for the same question; they stand. `beyond`: what was found below the
        documents, which the trained grader looks at too; `listed`, `semantic`: see `grade_passages`. At most
        `ollama.max_concurrency` calls at once, each with its time limit, all together within `TIMEOUT_S`.
        """
        before = dict(known or {})
        found = (*documents, *beyond)
        estimate = partial(grade_passages, question, found, listed=listed, semantic=semantic)
        fresh = [document for document in documents if grade_key(document) not in before]
        async with run.trace.step("grade") as step:
            if not documents:
                step.skip("nothing was found")
                return Graded(grades=before)
            use_model = use_model and self.tools.settings.grade.enabled
            given: list[DocumentGrade | str] = ["switched off"] * len(fresh)
            if use_model and fresh:
                await run.trace.sink.tool_called("grade", f"grading {len(fresh)} documents, each by itself", step)
                given = await self._ask_model(question, fresh, run=run, language=language)
            grades, holds_answer = await self._complete(found, fresh, given, estimate)
            if use_model and (failures := [reason for reason in given if isinstance(reason, str)]):
                step.degrade(f"{len(failures)} of {len(fresh)} documents were graded without a model: {failures[0]}")
            graded = _graded(documents, before | grades)
            _describe(step, graded, fresh)
            step.detail["holds_answer"] = round(holds_answer, 3)
            return replace(graded, grades=before | grades, holds_answer=holds_answer)

    async def _ask_model(
        self, question: str, documents: Sequence[ScoredChunk], *, run: Run, language: Language
    ) -> list[DocumentGrade | str]:
        """A grade, or why there is none, for each document."""
        settings = self.tools.settings
        slots = asyncio.Semaphore(settings.ollama.max_concurrency)
        ends = Deadline(run.deadline.limit(TIMEOUT_S))

        async def one(document: ScoredChunk) -> DocumentGrade | str:
            queue_model_call()  # to wait for a slot is not to wait for another call's answer
            async with slots:
                limit_s = ends.limit(settings.ollama.structured_timeout_s)
                try:
                    async with asyncio.timeout(limit_s):
                        return await self._verdict(question, document, language)
                except ModelError as error:
                    return error.reason
                except TimeoutError:
                    return f"no result within {limit_s:.1f} s"

        return list(await asyncio.gather(*map(one, documents)))

    async def _verdict(self, question: str, document: ScoredChunk, language: Language) -> DocumentGrade:
        passages = await asyncio.to_thread(quote_pool, question, [document], length=SNIPPET_LENGTH, language=language)
        verdict = await self.tools.complete(
            "fast",
            PROMPT,
            DocumentVerdict,
            language=language,
            passages=passages,
            question=one_line(question),
        )
        return DocumentGrade(
            relevant=verdict.is_relevant,
            confidence=as_share(verdict.confidence),
            reason=one_line(verdict.reasoning)[:REASON_CHARS],
            by_model=True,
        )

    async def _complete(
        self,
        documents: Sequence[ScoredChunk],
        fresh: Sequence[ScoredChunk],
        given: Sequence[DocumentGrade | str],
        estimate: Callable[[], Grading],
    ) -> tuple[dict[str, DocumentGrade], float]:
        """The model's grades, and for what it gave none those of the trained grader, which looks at all documents; and
        its estimate for them together. A few ms of CPU a document."""
        grades = {
            grade_key(document): grade
            for document, grade in zip(fresh, given, strict=True)
            if isinstance(grade, DocumentGrade)
        }
        if len(grades) == len(fresh):
            return grades, 0.0
        grading = await asyncio.to_thread(estimate)
        wanted = {grade_key(document) for document in fresh}
        for document, probability in zip(documents, grading.passages, strict=True):
            if (key := grade_key(document)) in wanted:
                grades.setdefault(key, _from_probability(probability, RELEVANT_SCORE))
        return grades, grading.holds_answer


def _from_probability(probability: float, relevant_score: float) -> DocumentGrade:
    """`confidence` grows with the distance from `relevant_score`."""
    relevant = probability >= relevant_score
    room = 1.0 - relevant_score if relevant else relevant_score
    return DocumentGrade(
        relevant=relevant,
        confidence=abs(probability - relevant_score) / room if room else 1.0,
        reason=f"without a model: answers the question with a probability of {probability:.2f}",
    )


def as_share(value: float) -> float:
    """0..1 of a number that was meant as 0–1, 0–10 or 0–100; 0.5 for what is no number."""
    if not math.isfinite(value):
        return 0.5
    unit = 1.0 if value <= 1.0 else 10.0 if value <= 10.0 else 100.0
    return min(1.0, max(0.0, value / unit))


def _graded(documents: Sequence[ScoredChunk], grades: Mapping[str, DocumentGrade]) -> Graded:
    """Those that passed by their score; the others as they were found: how surely one is rejected says nothing of how
    near it comes."""
    scores = [grades[grade_key(document)].score for document in documents]
    ranked = rerank(documents, scores)
    scored = {document.chunk_id: document for document in ranked}
    passed = [document for document in ranked if grades[grade_key(document)].relevant]
    rejected = [scored[document.chunk_id] for document in documents if not grades[grade_key(document)].relevant]
    return Graded(documents=(*passed, *rejected), grades=grades)


def _describe(step: StepRecord, graded: Graded, fresh: Sequence[ScoredChunk]) -> None:
    new = {grade_key(document) for document in fresh}
    step.summary = f"{len(graded.passed)} of {len(graded.documents)} documents are relevant"
    if known := len(graded.documents) - len(new):
        step.summary += f"; {known} were graded before"
    step.detail |= {
        "pass_rate": round(graded.pass_rate, 3),
        "pass_count": len(graded.passed),
        "total_count": len(graded.documents),
        "documents": [_entry(graded, document, new) for document in graded.documents],
    }


def _entry(graded: Graded, document: ScoredChunk, new: set[str]) -> dict[str, Any]:
    grade, chunk = graded.of(document), document.chunk
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
        "graded_before": grade_key(document) not in new,
        "scores": document.scores.as_dict(),
    }
