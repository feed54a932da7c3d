"""Grade: one independent verdict for every document, all of them side by side; the grader never answers.

Source: seed 000, node 2 (is_relevant, confidence). The trained estimate grades; a model is asked about those documents
alone of which the estimate is unsure and the model's word can change the grade, and its word is blended with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragsite.core.wording import counted, worded
from retrieval.errors import ModelError
from retrieval.steps.deadline import Deadline
from retrieval.steps.judge.blending import Judge, blend
from retrieval.steps.judge.evaluator import EAGER, Evaluator, Evidence
from retrieval.steps.schemas import TOP_SCORE, DocumentVerdict
from retrieval.trace import StepRecord, queue_model_call
from retrieval.values import ScoredChunk

PROMPT = "grade"  # its file in retrieval/prompts
SNIPPET_LENGTH = 2000  # English characters of a document that the model reads
CHARS_PER_TOKEN = 4
RELEVANT_SCORE = 0.4  # probability from which a document is relevant
TIMEOUT_S = 60.0  # all documents of one search together
EXCERPT_CHARS = 2000  # of a graded document, kept in the decision path


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """`confidence`: in this verdict, 0..1. `said`: the model's own word on it; None where it was not asked."""

    relevant: bool
    confidence: float
    reason: str = ""
    said: bool | None = None

    @property
    def by_model(self) -> bool:
        """Whether a model's word is in it."""
        return self.said is not None

    @property
    def score(self) -> float:
        """P(relevant), 0..1: at least 0.5 for every relevant document, less for every other."""
        return 0.5 + self.confidence / 2 if self.relevant else min(0.5 - self.confidence / 2, 0.499)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents(Evidence):
    """`passages` are the documents to grade. `known`: grades of earlier rounds for the same question; they stand.
    `beyond`: what was found below the documents, which the trained model looks at too."""

    known: Mapping[str, DocumentGrade] = field(default_factory=dict)
    beyond: Sequence[ScoredChunk] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """`documents`: those that passed, best first, then the others as found; their score is `scores.rerank`. `grades`:
    by `grade_key`, those of earlier rounds included. `answerability`: the trained model's P(the documents hold the
    answer), 0..1; 0 where all were graded before. `blended`: the same with the model's word, where it was asked."""

    documents: tuple[ScoredChunk, ...] = ()
    grades: Mapping[str, DocumentGrade] = field(default_factory=dict)
    answerability: float = 0.0
    blended: float = 0.0

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
        grades = {**given.known}
        answerability = blended = 0.0
        if fresh:
            looked_at = (*documents, *given.beyond)
            estimate = await self.estimate(given, looked_at)
            answerability = blended = estimate.answerability
            probabilities = {
                grade_key(document): probability
                for document, probability in zip(looked_at, estimate.passages, strict=True)
            }
            for document in fresh:
                grades[grade_key(document)] = _without_model(probabilities[grade_key(document)])
            unsure, judge = await self._unsure(given, fresh, probabilities, entry)
            if judge and unsure:
                await self.run.trace.sink.tool_called(
                    "grade",
                    counted(
                        "grading {count} documents, each by itself",
                        "grading {count} documents, each by itself",
                        len(unsure),
                    ),
                    entry,
                )
                words = await self._ask_each(given.question, unsure, probabilities, entry)
                for key, word in words.items():
                    grades[key] = _blended(probabilities[key], word, judge)
                for key, word in words.items():
                    said, probability = word.is_relevant, probabilities[key]
                    self.tools.judge_tally.note(judge.model, self.name, probability=probability, said=said)
            blended = await self._blended_list(answerability, probabilities, grades, entry)
        ranked = self.rank(documents, [grades[grade_key(document)].score for document in documents])
        scored = {document.chunk_id: document for document in ranked}
        passed = [document for document in ranked if grades[grade_key(document)].relevant]
        # Those that failed stay as found: the confidence of a rejection does not tell how near a document comes.
        failed = [scored[document.chunk_id] for document in documents if not grades[grade_key(document)].relevant]
        graded = Graded(documents=(*passed, *failed), grades=grades, answerability=answerability, blended=blended)
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
            "holds_answer": round(answerability, 3),
            "blended": round(blended, 3),
        }
        return graded

    async def _unsure(
        self,
        given: Documents,
        documents: Sequence[ScoredChunk],
        probabilities: Mapping[str, float],
        entry: StepRecord,
    ) -> tuple[list[ScoredChunk], Judge | None]:
        """The documents of which a model's word could change the grade, and the model; None, with the reason in the
        entry, where none is asked."""

        def worth_asking(judge: Judge) -> list[ScoredChunk]:
            if given.insist:
                return list(documents)
            return [
                document
                for document in documents
                if not self.why_not_to_ask(probabilities[grade_key(document)], judge, line=RELEVANT_SCORE)
            ]

        if not (given.use_model and self.settings.grade.enabled):
            entry.detail["not_asked"] = worded("switched off")
            return [], None
        if not worth_asking(EAGER):
            entry.detail["not_asked"] = worded("the estimate is sure of each document")
            return [], None
        work: Coroutine[Any, Any, Judge | None] = self.judge()
        judge = await self.attempt(entry, work, fallback=lambda: None)
        unsure = worth_asking(judge) if judge else []
        if judge and not unsure:
            entry.detail["not_asked"] = worded("the model's word could change no grade")
        return unsure, judge

    async def _ask_each(
        self,
        question: str,
        documents: Sequence[ScoredChunk],
        probabilities: Mapping[str, float],
        entry: StepRecord,
    ) -> dict[str, DocumentVerdict]:
        """Grade key → what the model says, of those that it said something about; the entry says why not of others."""
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
                        verdict = await self.ask_about(
                            [document], question, PROMPT, DocumentVerdict, tokens=SNIPPET_LENGTH // CHARS_PER_TOKEN
                        )
                except ModelError as error:
                    failures.append(error.reason)
                    return None
                except TimeoutError:
                    failures.append(worded("no result within {limit_s:.1f} s", limit_s=limit_s))
                    return None
            if not 0 <= verdict.confidence <= TOP_SCORE:
                failures.append(worded("the model gave a confidence outside 0 to {top_score}", top_score=TOP_SCORE))
                return None
            return verdict

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
        return {
            grade_key(document): verdict
            for document, verdict in zip(documents, verdicts, strict=True)
            if verdict is not None
        }

    async def _blended_list(
        self,
        answerability: float,
        probabilities: Mapping[str, float],
        grades: Mapping[str, DocumentGrade],
        entry: StepRecord,
    ) -> float:
        """P(the documents hold the answer) with the model's word. It is heeded where it was asked, now or before, about
        the likeliest document: what it says of others leaves that one as it is."""
        said = {key: grades[key].said for key in probabilities if key in grades and grades[key].by_model}
        if max(probabilities, key=lambda key: probabilities[key]) not in said:
            return answerability
        try:
            judge = await self.judge()
        except ModelError:  # it was there before
            return answerability
        yes = any(said.values())
        entry.detail["judge"] = judge.word(yes)
        return blend(answerability, said=yes, judge=judge)


def _without_model(probability: float) -> DocumentGrade:
    return _from_probability(
        probability,
        worded(
            "without a model: answers the question with a probability of {probability:.2f}", probability=probability
        ),
    )


def _blended(probability: float, word: DocumentVerdict, judge: Judge) -> DocumentGrade:
    together = blend(probability, said=word.is_relevant, judge=judge)
    said = worded("relevant") if word.is_relevant else worded("not relevant")
    reason = worded(
        "the model says: {said}; probability {probability:.2f}, with that {together:.2f}",
        said=said,
        probability=probability,
        together=together,
    )
    return replace(_from_probability(together, reason), said=word.is_relevant)


def _from_probability(probability: float, reason: str) -> DocumentGrade:
    """`confidence` grows with the distance from the score from which a document is relevant."""
    least = RELEVANT_SCORE
    relevant = probability >= least
    room = 1.0 - least if relevant else least
    return DocumentGrade(relevant=relevant, confidence=abs(probability - least) / room if room else 1.0, reason=reason)


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
