"""Answers that people have checked beforehand."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import GenerateDetails, RouteDetails
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.answer.appending import append_text
from retrieval.engine.steps.answer.sources import as_sources, marked_cited
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.steps.grounding.verify import check_by_words
from retrieval.engine.text.markers import cited_markers
from retrieval.engine.trace import degrade, note
from retrieval.engine.values import (
    Answer,
    CuratedMatch,
    GroundedSentence,
    Question,
    ScoredChunk,
)

CHECKED_SCORE = (
    0.45  # from which the words of a checked answer's sentence are taken to stand in its passage
)
CHECKED_BY_PERSON = worded("checked by a person")
CHECKED_TIMEOUT_S = 1.0  # for a look into memory, and one into the database where something fits


async def curated_answer(deps: Deps, question: Question) -> Answer | None:
    """The answer, streamed as one piece; None where none fits. A reply to a question that was asked back is no question
    of its own, filters and attached files ask for other documents than those that were chosen, and regenerating an
    answer asks for another one."""
    asks_otherwise = (
        question.again
        or question.filters
        or any(ref.attached for ref in question.scope.collections)
    )
    if deps.curated is None or asks_otherwise or question.open_clarification:
        return None
    try:
        async with asyncio.timeout(CHECKED_TIMEOUT_S):
            found = await deps.curated.find(question.standalone, question.scope)
    except (UnavailableError, TimeoutError) as error:
        async with deps.trace.step("route"):
            degrade(reason_of(error, late="checked_answers_late"))
        return None
    return await _stream_curated(deps, question, found) if found else None


async def _stream_curated(deps: Deps, question: Question, found: CuratedMatch) -> Answer:
    checked = found.checked
    cited = cited_markers(found.text)
    async with deps.trace.step("route"):
        note(
            "checked_answer_fits",
            RouteDetails(curated=checked.as_dict(), question=found.question),
        )
    passages = [ScoredChunk(chunk=chunk) for chunk in found.passages]
    sources = marked_cited(as_sources(passages), cited)
    async with deps.trace.step("generate"):
        details = GenerateDetails(
            by=checked.by,
            on=checked.on,
            model="",
            cited=tuple(sorted(cited)),
            partial=False,
        )
        note("checked_beforehand", details)
        await deps.trace.choose_sources(sources)
        reason = Reason("checked_by", {"by": checked.by, "on": checked.on})
        answer = Answer(
            decision="ANSWER",
            text="",
            sources=sources,
            curated=checked,
            reason=reason,
        )
        answer = await append_text(deps, answer, found.text)
    return replace(answer, grounding=await asyncio.to_thread(_evidence, answer, question.text))


def _evidence(answer: Answer, question: str) -> tuple[GroundedSentence, ...]:
    """Where its sentences rest. None of them is doubted for its words: people have judged it."""
    checked = check_by_words(
        answer, claims_of(answer.text), question, supported_score=CHECKED_SCORE
    )
    evidence: list[GroundedSentence] = []
    for sentence in checked:
        if not sentence.supported:
            sentence = replace(sentence, supported=None, reason=CHECKED_BY_PERSON)
        evidence.append(sentence)
    return tuple(evidence)
