"""No answer: says so, says why, and quotes the nearest passages.

What the asking user may not see counts as not found: permission is a part of every search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from ragsite.core.wording import worded
from retrieval.steps.answer.extractive import extractive_answer
from retrieval.steps.answer.generate import AnswerWriter, as_sources, marked_cited
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.cite.markers import cited_markers
from retrieval.steps.step import Context
from retrieval.text.answer_language import Language
from retrieval.trace import Trace
from retrieval.values import Answer, ScoredChunk

Why = Literal["no_documents", "nothing_found", "found_but_weak"]
WHY: dict[Why, str] = {
    "no_documents": worded("there are no documents to search in"),
    "nothing_found": worded("nothing was found"),
    "found_but_weak": worded("what was found does not answer the question"),
}
NEAREST = 3  # passages that are quoted


async def no_answer(
    context: Context, question: str, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """The reply: why there is no answer, whether the web was searched, too, and what is nearest. None: there was
    nothing to search in. question: self-contained."""
    why: Why = "no_documents" if candidates is None else "found_but_weak" if candidates else "nothing_found"
    language, trace = context.language, context.run.trace
    sources = as_sources((candidates or ())[:NEAREST])
    writer = AnswerWriter(trace, language=language)
    if sources:
        await trace.sink.sources_chosen(sources)
    await writer.write("\n\n".join(filter(None, (phrase(why, language), _web_text(trace, language)))))
    if sources:
        await writer.write(f"\n\n{phrase('closest', language)}\n\n")
        for piece in await asyncio.to_thread(
            extractive_answer, question, sources, language=language, sentences=NEAREST
        ):
            await writer.write(piece)
    await writer.finish()
    return Answer(
        decision="NO_ANSWER",
        text=writer.text,
        sources=marked_cited(sources, cited_markers(writer.text)),
        reason=reason or WHY[why],
    )


def _web_text(trace: Trace, language: Language) -> str:
    asked = [step.detail for step in trace.steps if step.name == "web_search" and step.status != "skipped"]
    if not asked:
        return ""
    return phrase("web_searched" if any("results" in detail for detail in asked) else "web_away", language)
