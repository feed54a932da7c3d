"""Grade: an independent verdict for every document, all of them side by side.

Source: seed 000, node 2 (is_relevant, confidence, reasoning).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel

from ragsite.core.messages import counted
from retrieval.engine.deps import Deadline, Deps
from retrieval.engine.model_calls import queue_model_call
from retrieval.engine.path_details import GradedDocument, GradeDetails
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.judge.scores import (
    TOP_SCORE,
    Score,
    check_score,
    judging_is_on,
    quoted,
    rank,
)
from retrieval.engine.steps.step import step, try_call
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Question, ScoredChunk

GRADING_PATIENCE = 3.0  # times a structured call's time limit: all documents of one search together
MAX_REASON_CHARS = 200  # of a grade
EXCERPT_CHARS = 2000  # of a graded document, kept in the decision path


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """`confidence`: in this verdict, 0..1. reason: the model's, in the question's language. by_model: a model gave it;
    else nobody did, and the document stays."""

    relevant: bool
    confidence: float
    reason: str = ""
    by_model: bool = False

    @property
    def score(self) -> float:
        """P(relevant), 0..1: at least 0.5 for every relevant document, less for every other."""
        return 0.5 + self.confidence / 2 if self.relevant else min(0.5 - self.confidence / 2, 0.499)


NOT_GRADED = DocumentGrade(relevant=True, confidence=0.0, reason=Reason("not_graded").text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """`documents`: those that passed by a model's word, best first, with their score in `scores.rerank`; then those
    that nobody graded and those that failed, as found. `grades`: by `grade_key`, earlier rounds' included."""

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
    deps: Deps,
    question: Question,
    documents: Sequence[ScoredChunk],
    *,
    known: Mapping[str, DocumentGrade],
) -> Graded:
    """A grade for every document. known: grades of earlier rounds for the same question; they stand."""
    if not documents:
        skip("nothing_found")
        return Graded(grades=known)
    fresh = [document for document in documents if grade_key(document) not in known]
    grades = dict(known)
    if fresh and judging_is_on(question):
        grades |= await _grades_by_model(deps, question.standalone, fresh)
    grades = {grade_key(document): NOT_GRADED for document in fresh} | grades
    graded = Graded(documents=_in_order(documents, grades), grades=grades)
    details = GradeDetails(
        pass_rate=round(graded.pass_rate, 3),
        pass_count=len(graded.passed),
        total_count=len(documents),
        graded_before=len(documents) - len(fresh),
        documents=tuple(_row(document, graded, known) for document in graded.documents),
    )
    note("graded", details)
    return graded


class DocumentVerdict(BaseModel):
    """Whether one document holds information that the answer needs, how sure this judgement is, and why."""

    is_relevant: bool
    confidence: Score
    reasoning: Annotated[str, limited(maxLength=MAX_REASON_CHARS)] = ""


async def _grades_by_model(
    deps: Deps, text: str, documents: Sequence[ScoredChunk]
) -> dict[str, DocumentGrade]:
    """Grade key → grade, of those documents of which the model says something; the entry tells why not of the others.

    At most `ollama.max_concurrency` calls at once, each with its time limit, all together within `TIMEOUT_S`.
    """
    count = len(documents)
    line = counted(
        "grading {count} documents, each by itself",
        "grading {count} documents, each by itself",
        count,
    )
    await deps.trace.announce("grade", line)
    slots = asyncio.Semaphore(deps.settings.ollama.max_concurrency)
    limit_s = GRADING_PATIENCE * deps.settings.ollama.structured_timeout_s
    deadline = Deadline(deps.deadline.limit(limit_s))

    async def verdict_of(document: ScoredChunk) -> DocumentVerdict:
        (passage,) = await quoted(deps, [document])
        verdict = await deps.judge(
            "grade", DocumentVerdict, passages=passage, question=one_line(text)
        )
        check_score(verdict.confidence)
        return verdict

    async def ask(document: ScoredChunk) -> DocumentVerdict | None:
        queue_model_call()  # to wait for a slot is not to wait for another call's answer
        async with slots:
            limit_s = deadline.limit(deps.settings.ollama.structured_timeout_s)
            return await try_call(deps, verdict_of(document), timeout_s=limit_s)

    verdicts = await asyncio.gather(*map(ask, documents))
    grades: dict[str, DocumentGrade] = {}
    for document, verdict in zip(documents, verdicts, strict=True):
        if verdict is None:
            continue
        grades[grade_key(document)] = DocumentGrade(
            relevant=verdict.is_relevant,
            confidence=verdict.confidence / TOP_SCORE,
            reason=_reason(verdict),
            by_model=True,
        )
    return grades


def _reason(verdict: DocumentVerdict) -> str:
    """The model's own, in one line; the verdict's sentence where it gave none."""
    own = one_line(verdict.reasoning)[:MAX_REASON_CHARS].strip()
    return (
        own
        or Reason("model_says_relevant" if verdict.is_relevant else "model_says_not_relevant").text
    )


def _in_order(
    documents: Sequence[ScoredChunk], grades: Mapping[str, DocumentGrade]
) -> tuple[ScoredChunk, ...]:
    """The confidence of a rejection does not tell how near a document comes, so those that failed stay as found."""
    chosen: list[ScoredChunk] = []
    scores: list[float] = []
    others: list[ScoredChunk] = []
    failed: list[ScoredChunk] = []
    for document in documents:
        grade = grades[grade_key(document)]
        if not grade.relevant:
            failed.append(document)
        elif not grade.by_model:
            others.append(document)
        else:
            chosen.append(document)
            scores.append(grade.score)
    return (*rank(chosen, scores), *others, *failed)


def _row(
    document: ScoredChunk, graded: Graded, known: Mapping[str, DocumentGrade]
) -> GradedDocument:
    chunk = document.chunk
    grade = graded.grade_of(document)
    return GradedDocument(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        title=chunk.title,
        file_name=chunk.file_name,
        page=chunk.page,
        heading=chunk.heading,
        text=chunk.text[:EXCERPT_CHARS],
        relevant=grade.relevant,
        confidence=round(grade.confidence, 3),
        reason=grade.reason,
        by_model=grade.by_model,
        graded_before=grade_key(document) in known,
        scores=document.scores.as_dict(),
    )
