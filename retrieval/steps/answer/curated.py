"""Answers that people have written and checked beforehand, given in place of one that the workflow would come to.

They are looked for before a workflow begins, by the words of the question alone: that costs no call of a model and no
search. What is given must be nearly the same question, and every passage that it cites must be readable for who asks
and be as it was when it was checked; the port sees to both.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.steps.answer.generate import AnswerWriter
from retrieval.steps.cite import verify
from retrieval.steps.cite.claims import claims_of
from retrieval.steps.cite.markers import cited_markers
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.step import Context
from retrieval.trace import Trace
from retrieval.values import Answer, CuratedAnswer, GroundedSentence, Question, Scores, Source

SUPPORTED_SCORE = 0.45  # from which a sentence's words are taken to stand in its passage
TIMEOUT_S = 1.0  # for a look into memory, and one into the database where something fits


async def curated_answer(question: Question, draft: str, context: Context) -> Answer | None:
    """The answer, streamed as one piece; None where none fits. A reply to a question that was asked back is no question
    of its own, filters and attached files ask for other documents than those that were chosen, and who has an answer
    written anew wants another one."""
    tools, trace = context.tools, context.run.trace
    asks_otherwise = question.again or question.filters or any(ref.attached for ref in question.scope.collections)
    if tools.curated is None or asks_otherwise or question.open_clarification or small_talk_kind(question.text):
        return None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = await tools.curated.find(draft, question.scope)
    except (UnavailableError, TimeoutError) as error:
        async with trace.step("route") as entry:
            reason = error.message if isinstance(error, UnavailableError) else worded("it took too long")
            entry.degrade(worded("answers checked beforehand could not be looked at: {reason}", reason=reason))
        return None
    return await _given(found, question, trace) if found else None


async def _given(found: CuratedAnswer, question: Question, trace: Trace) -> Answer:
    checked = found.checked
    async with trace.step("route") as entry:
        entry.summary = worded("a checked answer to “{question}” fits", question=found.question)
        entry.detail |= {"curated": checked.as_dict(), "question": found.question}
    cited = cited_markers(found.text)
    sources = tuple(
        Source(marker=marker, chunk=chunk, scores=Scores(), cited=marker in cited)
        for marker, chunk in enumerate(found.passages, start=1)
    )
    async with trace.step("generate") as entry:
        await trace.sink.sources_chosen(sources)
        writer = AnswerWriter(trace)
        await writer.write(found.text)
        await writer.finish()
        entry.summary = worded("written and checked by {by} on {on}", by=checked.by, on=checked.on)
        entry.detail |= {"model": "", "cited": sorted(cited), "partial": False}
    answer = Answer(
        decision="ANSWER", text=writer.text, sources=sources, curated=checked,
        reason=worded("checked by {by} on {on}", by=checked.by, on=checked.on),
    )  # fmt: skip
    return replace(answer, grounding=await asyncio.to_thread(_evidence, answer, question.text))


def _evidence(answer: Answer, question: str) -> tuple[GroundedSentence, ...]:
    """Where its sentences rest. None of them is doubted for its words: people have judged it."""
    claims = claims_of(answer.text)[: verify.MAX_SENTENCES]
    return tuple(
        sentence if sentence.supported else replace(sentence, supported=None, reason=worded("checked by a person"))
        for sentence in verify.check_by_words(answer, claims, question, supported_score=SUPPORTED_SCORE)
    )
