"""Clarify: which of the documents is meant?"""

from __future__ import annotations

from collections.abc import Sequence

from ragsite.core.messages import joined
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import ClarifyDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import append_text
from retrieval.engine.steps.step import step
from retrieval.engine.text.phrases import Language, in_script, phrase
from retrieval.engine.trace import note
from retrieval.engine.values import Answer, Clarification, ScoredChunk

MAX_OPTIONS = 5  # of a question asked back


@step("clarify")
async def ask_back(deps: Deps, readings: Sequence[ScoredChunk], *, asks: str = "") -> Answer:
    """The question about these readings, a passage of each, in place of an answer. asks: the judge's own words for it;
    where it gave none, ours."""
    clarification = from_documents(readings, deps.language, asks=asks)
    note(
        "asked_back",
        ClarifyDetails(question=clarification.question, options=clarification.options),
    )
    reason = Reason("several_things", {"options": joined(", ", clarification.options)})
    answer = Answer(decision="CLARIFY", text="", clarification=clarification, reason=reason)
    return await append_text(deps, answer, clarification.question)


def from_documents(
    readings: Sequence[ScoredChunk], language: Language, *, asks: str = ""
) -> Clarification:
    """Options by the documents' titles; where these are equal, with year or section; failing that, by file names."""
    chunks = [reading.chunk for reading in readings[:MAX_OPTIONS]]
    titles = [chunk.title for chunk in chunks]
    years = [f"{chunk.title} ({chunk.policy_year})" for chunk in chunks]
    sections = [f"{chunk.title}: {chunk.heading}" for chunk in chunks]
    files = [chunk.file_name or chunk.document_id for chunk in chunks]
    options = files
    for names in (titles, years, sections):
        if len(set(names)) == len(names):  # they tell the documents apart
            options = names
            break
    documents = tuple(chunk.document_id for chunk in chunks)
    question = in_script(asks, language) or phrase("clarify", language)
    return Clarification(question=question, options=tuple(options), documents=documents)
