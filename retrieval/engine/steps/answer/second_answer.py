"""Another answer beside one that has been read, and is not confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.steps.answer.appending import append_text, behind
from retrieval.engine.steps.answer.generate import answer_prompt, select_passages
from retrieval.engine.steps.answer.streaming import author_of
from retrieval.engine.steps.answer.write import write_from
from retrieval.engine.steps.context.order import fit
from retrieval.engine.text.phrases import phrase
from retrieval.engine.trace import HeldBackTrace
from retrieval.engine.values import Answer, Question, ScoredChunk


async def write_from_more(
    deps: Deps, question: Question, read: Answer, candidates: Sequence[ScoredChunk]
) -> Answer | None:
    """Another answer beside one that has been read, which reaches nobody yet: from the same sources, in their places,
    so that the markers of both hold, and from those of the candidates that are new. None: nothing is new, or the model
    writes nothing from it.
    """
    known = {source.chunk.chunk_id for source in read.sources}
    fresh = [candidate for candidate in candidates if candidate.chunk_id not in known]
    before = [ScoredChunk(chunk=source.chunk, scores=source.scores) for source in read.sources]
    author = await author_of(deps, lambda: answer_prompt(deps, question, (), "refuse"))
    if not fresh or author.room is None:
        return None
    passages = fit([*before, *await select_passages(deps, question, fresh)], tokens=author.room)
    if len(passages) <= len(before):
        return None
    held_back = replace(deps, trace=HeldBackTrace(deps.trace))
    answer = await write_from(held_back, question, passages)
    is_written = answer.decision == "ANSWER" and bool(answer.model and answer.text)
    return answer if is_written and not answer.partial else None


async def with_another(deps: Deps, read: Answer, another: Answer) -> Answer:
    """The answer that has been read, and behind it another one of `write_from_more`, which is sent now."""
    await deps.trace.choose_sources(another.sources)
    lead = f"\n\n{phrase('looked_again', deps.language)}\n\n"
    both = await append_text(deps, replace(read, sources=another.sources), lead + another.text)
    moved = behind(both.text[: len(both.text) - len(another.text)], another).grounding
    return replace(both, grounding=(*read.grounding, *moved), reason=another.reason)
