"""What is said behind, or before, an answer that its reader has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.steps.answer.quote import Shown
from retrieval.engine.steps.answer.sources import marked_cited
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.text.phrases import in_script
from retrieval.engine.values import Answer, GroundedSentence


def behind(text: str, answer: Answer) -> Answer:
    """The answer of somebody who has read this text before it."""
    moved = _moved(answer.grounding, len(text))
    return replace(answer, text=text + answer.text, grounding=moved)


async def append_text(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer with more said behind it, whose markers are of its sources."""
    text = in_script(text if answer.text else text.lstrip(), deps.language)
    if text:
        await deps.trace.emit_chunk(text)
    text = answer.text + text
    cited = brackets_of(answer.sources).cited(text)
    return replace(answer, text=text, sources=marked_cited(answer.sources, cited))


async def with_passages(deps: Deps, answer: Answer, lead: str, shown: Shown) -> Answer:
    """The answer with passages behind it, which it cites."""
    lead = lead if answer.text else lead.lstrip()
    moved = _moved(shown.grounding, len(answer.text) + len(lead))
    cited = brackets_of(answer.sources).cited(answer.text) | shown.markers
    longer = await append_text(deps, answer, lead + shown.text)
    return replace(
        longer,
        sources=marked_cited(answer.sources, cited),
        grounding=(*answer.grounding, *moved),
    )


def _moved(grounding: Sequence[GroundedSentence], by: int) -> tuple[GroundedSentence, ...]:
    """The sentences behind so many characters more."""
    moved: list[GroundedSentence] = []
    for sentence in grounding:
        moved.append(replace(sentence, start=sentence.start + by, end=sentence.end + by))
    return tuple(moved)
