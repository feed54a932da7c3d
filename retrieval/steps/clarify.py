"""Clarify: ask back when the question leaves open what the documents distinguish by.

The model's own question and options are used when it gave them; else the options are the values (year, department,
kind of document, title) in which the competing candidates differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from retrieval.steps.answer_language import Language
from retrieval.steps.judge import Assessment
from retrieval.steps.lexical_grader import strong_terms
from retrieval.steps.phrases import phrase
from retrieval.steps.route import fold, is_named, years_in
from retrieval.steps.toolbox import Run
from retrieval.values import Clarification, ScoredChunk, SearchFilters, StoredChunk

COMPETING = 0.85  # of the best score: candidates at or above it compete
VAGUE_TERMS = 2  # a question of so few words with a meaning of their own does not say which document it is about
MIN_OPTIONS, MAX_OPTIONS = 2, 5
_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")

_READ: dict[str, Callable[[StoredChunk], str]] = {
    "policy_year": lambda chunk: str(chunk.policy_year or ""),
    "department": lambda chunk: chunk.department,
    "doc_type": lambda chunk: chunk.doc_type,
    "title": lambda chunk: chunk.title,
}


@dataclass(frozen=True, slots=True)
class Clarify:
    async def clarify(self, assessment: Assessment, question: str, *, run: Run, language: Language) -> Clarification:
        """What to ask back. Without two values to choose among, the options are the nearest documents' titles."""
        async with run.trace.step("clarify") as step:
            asked = assessment.clarification
            if asked is None or len(asked.options) < MIN_OPTIONS:
                rivals = competing(assessment)
                built = from_documents(rivals if len(rivals) >= MIN_OPTIONS else assessment.candidates, language)
                asked = Clarification(question=asked.question if asked else built.question, options=built.options)
            step.summary = asked.question
            step.detail["options"] = list(asked.options)
            if not assessment.by_model:
                step.detail["built_from"] = "the values in which the competing documents differ"
            return asked


def competing(assessment: Assessment) -> list[ScoredChunk]:
    """The candidates about as good as the best one; the first of each document."""
    least = assessment.best * COMPETING
    seen: set[str] = set()
    kept = []
    for candidate in assessment.candidates:
        document = candidate.chunk.document_id
        if (candidate.scores.rerank or 0.0) >= least and document not in seen:
            seen.add(document)
            kept.append(candidate)
    return kept


def is_open(assessment: Assessment, question: str, filters: SearchFilters) -> bool:
    """Whether several documents answer equally well and the question doesn't say which is meant. No model needed.

    Open are: one document in the versions of several years when no year is named, and a question of one or two words
    with a meaning of their own that several documents answer.
    """
    rivals = competing(assessment)
    if len(rivals) < MIN_OPTIONS:
        return False
    if _are_versions(rivals):
        return filters.policy_year is None and not years_in(question)
    text = fold(question)
    said = any(is_named(_READ[field](rival.chunk), text) for rival in rivals for field in ("department", "title"))
    return len(strong_terms(question)) <= VAGUE_TERMS and not said


def from_documents(candidates: Sequence[ScoredChunk], language: Language) -> Clarification:
    """A question over the field that tells the candidates' documents apart: the year of versions of one document, else
    the department or the kind when each document has its own, else the title."""
    documents = {candidate.chunk.document_id: candidate for candidate in reversed(candidates)}
    first_of_each = list(documents.values())[::-1]
    fields = ("policy_year",) if _are_versions(first_of_each) else ("department", "doc_type")
    for field in fields:
        values = [_READ[field](candidate.chunk) for candidate in first_of_each]
        if all(values) and len(set(values)) == len(values) and MIN_OPTIONS <= len(values) <= MAX_OPTIONS:
            options = sorted(values, reverse=True) if field == "policy_year" else values
            return Clarification(question=phrase(f"clarify_{field}", language), options=tuple(options))
    titles = dict.fromkeys(candidate.chunk.title for candidate in first_of_each if candidate.chunk.title)
    return Clarification(question=phrase("clarify_title", language), options=tuple(titles)[:MAX_OPTIONS])


def _are_versions(candidates: Sequence[ScoredChunk]) -> bool:
    """All of the same title but for the year, and of different years."""
    years = {candidate.chunk.policy_year for candidate in candidates}
    topics = {_NOT_THE_TOPIC.sub(" ", fold(candidate.chunk.title)).strip() for candidate in candidates}
    return len(topics) == 1 and len(years) == len(candidates) > 1 and None not in years
