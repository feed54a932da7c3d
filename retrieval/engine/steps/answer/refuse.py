"""No answer: why there is none, and what is nearest."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.engine.deps import Deps
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import append_text, with_passages
from retrieval.engine.steps.answer.quote import (
    NEAREST,
    NEAREST_CHARS,
    show_passages,
)
from retrieval.engine.steps.answer.sources import as_sources
from retrieval.engine.text.phrases import phrase
from retrieval.engine.trace import skip
from retrieval.engine.values import Answer, Question, ScoredChunk


async def refuse(
    deps: Deps,
    question: Question,
    candidates: Sequence[ScoredChunk] | None,
    *,
    reason: Reason | None = None,
) -> Answer:
    """Says why there is no answer, whether the web was searched, too, and quotes what is nearest. None: there was
    nothing to search in. reason: by default what was found."""
    if candidates is None:
        async with deps.trace.step("retrieve"):
            skip("no_documents")
    if candidates is None:
        why = "no_documents"
    else:
        why = "found_but_weak" if candidates else "nothing_found"
    sources = as_sources((candidates or ())[:NEAREST])
    refusal = Answer(
        decision="NO_ANSWER",
        text="",
        sources=sources,
        model=deps.progress.judged_by,
        reason=reason or Reason(why),
    )
    web = phrase(deps.progress.web, deps.language) if deps.progress.web else ""
    lead = "\n\n".join(filter(None, (_why(deps, question, why), web)))
    if not sources:
        return await append_text(deps, refusal, lead)
    await deps.trace.choose_sources(sources)
    shown = await show_passages(deps, question, sources, among=sources, chars=NEAREST_CHARS)
    return await with_passages(
        deps, refusal, f"{lead}\n\n{phrase('closest', deps.language)}\n\n", shown
    )


def _why(deps: Deps, question: Question, why: str) -> str:
    """Why there is no answer; of documents that are still being read, that they could not be searched yet."""
    left = question.scope.being_read
    if not left:
        return phrase(why, deps.language)
    being_read = phrase("being_read", deps.language, count=left)
    return being_read if why == "no_documents" else f"{phrase(why, deps.language)}\n\n{being_read}"
