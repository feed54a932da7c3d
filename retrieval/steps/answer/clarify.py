"""Clarify: asks back where the documents answer differently for different readings of the question.

A model says so and names a passage for each reading (`retrieval.steps.judge.judge`); the options are what tells these
passages' documents apart: their years, departments, kinds, titles or sections. An option that is chosen binds: only its
documents are searched then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ragsite.core.wording import joined, worded
from retrieval.steps.answer.generate import AnswerWriter
from retrieval.steps.answer.in_force import topic, year_of
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.query.route import fold
from retrieval.steps.step import Context, Step
from retrieval.text.answer_language import Language
from retrieval.trace import StepRecord
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


class Clarify(Step[Sequence[ScoredChunk], Clarification]):
    """What to ask back about these readings, a passage of each."""

    name = "clarify"

    async def act(self, given: Sequence[ScoredChunk], entry: StepRecord) -> Clarification:
        asked = from_documents(given, self.context.language)
        entry.summary = asked.question
        entry.detail["options"] = list(asked.options)
        return asked


async def ask_back(context: Context, readings: Sequence[ScoredChunk]) -> Answer:
    """The question in place of an answer."""
    asked = await Clarify(context)(readings)
    writer = AnswerWriter(context.run.trace)
    await writer.write(asked.question)
    await writer.finish()
    reason = worded("what was found is about several: {options}", options=joined(", ", asked.options))
    return Answer(decision="CLARIFY", text=writer.text, clarification=asked, reason=reason)


def from_documents(readings: Sequence[ScoredChunk], language: Language) -> Clarification:
    """By the first field in which all of them differ; failing that, by their files' names."""
    chunks = [reading.chunk for reading in readings[:MAX_OPTIONS]]
    versions = len({topic(chunk) for chunk in chunks}) == 1
    for field, read in TELLS_APART.items():
        values = [read(chunk) for chunk in chunks]
        if all(values) and len(set(values)) == len(values) and (field != "policy_year" or versions):
            return _asked(field, values, chunks, language)
    return _asked("title", [chunk.file_name or chunk.document_id for chunk in chunks], chunks, language)


def _asked(field: str, values: Sequence[str], chunks: Sequence[StoredChunk], language: Language) -> Clarification:
    return Clarification(
        question=phrase(f"clarify_{field}", language),
        options=tuple(values),
        documents=tuple(chunk.document_id for chunk in chunks),
    )


def bound_by_choice(question: Question) -> Question:
    """With what was chosen of the options of the last answer as a strict filter; as it came where none was."""
    opened = question.open_clarification
    if opened is None:
        return question
    asked, reply = opened.clarification, fold(question.text).strip(" .。")
    chosen = {
        document
        for option, document in zip(asked.options, asked.documents, strict=False)
        if fold(option).strip(" .。") == reply
    }
    if not chosen:
        return question
    return replace(question, filters=replace(question.filters, documents=tuple(sorted(chosen))))
