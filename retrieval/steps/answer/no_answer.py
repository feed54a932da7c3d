"""No answer: says so, says why, and quotes the nearest passages.

What the asking user may not see counts as not found: permission is a part of every search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from retrieval.path_texts import reason_text
from retrieval.steps.answer.extractive import quotations
from retrieval.steps.answer.generate import as_sources, with_more
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.deps import Deps
from retrieval.values import Answer, Question, ScoredChunk

NEAREST = 3  # passages that are quoted


async def no_answer(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """The reply: why there is no answer, whether the web was searched, too, and what is nearest. None: there was
    nothing to search in. reason: a code, or a sentence."""
    why = "no_documents" if candidates is None else "found_but_weak" if candidates else "nothing_found"
    sources = as_sources((candidates or ())[:NEAREST])
    paragraphs = [phrase(why, deps.language), _of_the_web(deps)]
    if sources:
        await deps.trace.sink.sources_chosen(sources)
        quoted = await asyncio.to_thread(quotations, question.standalone, sources, most=NEAREST, language=deps.language)
        paragraphs += [phrase("closest", deps.language), quoted]
    refusal = Answer(decision="NO_ANSWER", text="", sources=sources, reason=reason_text(reason or why))
    return await with_more(deps, refusal, "\n\n".join(filter(None, paragraphs)))


def _of_the_web(deps: Deps) -> str:
    searches = [step.detail for step in deps.trace.steps if step.name == "web_search" and step.status != "skipped"]
    if not searches:
        return ""
    answered = any("results" in detail for detail in searches)
    return phrase("web_searched" if answered else "web_away", deps.language)
