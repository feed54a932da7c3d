"""Clarify: asks back where the documents answer differently for different readings of the question.

A model says so and names a passage for each reading (`retrieval.steps.judge.judge`); the options are what tells these
passages' documents apart: their years, departments, kinds, titles or sections. An option that is chosen binds: only its
documents are searched then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ragsite.core.wording import joined, worded
from retrieval.steps.answer.generate import with_more
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.answer.versions import topic, year_of
from retrieval.steps.deps import Deps
from retrieval.steps.query.route import fold
from retrieval.steps.step import step
from retrieval.text.answer_language import Language
from retrieval.trace import note
from retrieval.values import Answer, Clarification, Question, ScoredChunk, StoredChunk

MAX_OPTIONS = 5
# What may tell documents apart, the most telling first; a year only does for versions of one document.
TELLS_APART: dict[str, Callable[[StoredChunk], str]] = {
    "policy_year": lambda chunk: str(year_of(chunk) or ""),
    "department": lambda chunk: chunk.department,
    "title": lambda chunk: chunk.title,
    "heading": lambda chunk: f"{chunk.title}: {chunk.heading}" if chunk.heading else "",
    "doc_type": lambda chunk: chunk.doc_type,
}


@step("clarify")
async def ask_back(deps: Deps, readings: Sequence[ScoredChunk]) -> Answer:
    """The question about these readings, a passage of each, in place of an answer."""
    asked = from_documents(readings, deps.language)
    note("asked_back", question=asked.question, options=list(asked.options))
    reason = worded("what was found is about several: {options}", options=joined(", ", asked.options))
    answer = Answer(decision="CLARIFY", text="", clarification=asked, reason=reason)
    return await with_more(deps, answer, asked.question)


def from_documents(readings: Sequence[ScoredChunk], language: Language) -> Clarification:
    """By the first field in which all of them differ; failing that, by their files' names."""
    chunks = [reading.chunk for reading in readings[:MAX_OPTIONS]]
    versions = len({topic(chunk) for chunk in chunks}) == 1
    told_by, options = "title", [chunk.file_name or chunk.document_id for chunk in chunks]
    for field, read in TELLS_APART.items():
        values = [read(chunk) for chunk in chunks]
        if all(values) and len(set(values)) == len(values) and (field != "policy_year" or versions):
            told_by, options = field, values
            break
    return Clarification(
        question=phrase(f"clarify_{told_by}", language),
        options=tuple(options),
        documents=tuple(chunk.document_id for chunk in chunks),
    )


def bound_by_choice(question: Question) -> Question:
    """With what was chosen of the options of the last answer as a strict filter; as it came where none was."""
    opened = question.open_clarification
    if opened is None:
        return question
    asked, reply = opened.clarification, fold(question.text).strip(" .。")
    options = zip(asked.options, asked.documents, strict=False)
    chosen = {document for option, document in options if fold(option).strip(" .。") == reply}
    if not chosen:
        return question
    return replace(question, filters=replace(question.filters, documents=tuple(sorted(chosen))))
