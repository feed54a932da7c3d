"""An answer from passages, checked: compress, generate, verify; and what is said where it does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import with_passages
from retrieval.engine.steps.answer.generate import (
    answer_prompt,
    generate,
    select_passages,
)
from retrieval.engine.steps.answer.quote import (
    NEAREST,
    NEAREST_CHARS,
    SHOWN_CHARS,
    best_sources,
    show_passages,
)
from retrieval.engine.steps.answer.sources import as_sources
from retrieval.engine.steps.answer.streaming import AnswerWriter, author_of
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.context.compress import compress
from retrieval.engine.steps.grounding.verify import NOTHING_SUPPORTED, verify
from retrieval.engine.steps.step import step
from retrieval.engine.text.phrases import phrase
from retrieval.engine.trace import degrade
from retrieval.engine.values import Answer, Question, ScoredChunk


async def write_answer(
    deps: Deps,
    question: Question,
    candidates: Sequence[ScoredChunk],
    *,
    way_out: WayOut = "refuse",
) -> Answer:
    """An answer from the best of the candidates. One of which no passage supports a sentence quotes what is nearest.
    Never raises a ModelError. See `write_from`."""
    answer = await write_from(
        deps,
        question,
        await select_passages(deps, question, candidates),
        way_out=way_out,
    )
    return await with_nearest(deps, question, answer) if is_unsupported(answer) else answer


def is_unsupported(answer: Answer) -> bool:
    """A model has written, and nothing of it stands in the passages: also a refusal in words of its own."""
    return answer.decision == "NO_ANSWER" and bool(answer.model and answer.text)


async def write_from(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    way_out: WayOut = "refuse",
) -> Answer:
    """The answer, checked. NO_ANSWER and CLARIFY are the writing model's word, `text` is empty then, and nothing has
    reached the reader; an answer of which no sentence comes near the passages is NO_ANSWER, too, and has been read.
    Never raises a ModelError.

    Steps: compress (where that is switched on), generate, verify. Sources hold their whole text, whatever of it the
    model was given.
    """
    author = await author_of(deps, lambda: answer_prompt(deps, question, (), way_out))
    shown = list(passages)
    if deps.settings.compress.enabled:
        shown = await compress(deps, question.standalone, passages, room=author.room)
    selection = {passage.chunk_id for passage in shown}
    sources = as_sources([passage for passage in passages if passage.chunk_id in selection])
    writer = AnswerWriter(deps, sources=sources, question=question.standalone, may_refuse=True)
    answer = await generate(deps, question, shown, sources, author, writer, way_out=way_out)
    answer = await verify(deps, answer, question=question.standalone)
    if not answer.model or not answer.text or (answer.partial and answer.decision == "ANSWER"):
        return answer
    supported = any(source.cited for source in answer.sources) or any(
        one.supported for one in answer.grounding
    )
    if answer.decision == "ANSWER" and supported:
        return answer
    return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)


async def with_nearest(deps: Deps, question: Question, answer: Answer) -> Answer:
    """The answer, and behind it what is nearest among its sources."""
    nearest = answer.sources[:NEAREST]
    shown = await show_passages(deps, question, nearest, among=answer.sources, chars=NEAREST_CHARS)
    return await with_passages(deps, answer, f"\n\n{phrase('closest', deps.language)}\n\n", shown)


@step("generate")
async def show_judged(
    deps: Deps, question: Question, answer: Answer, named: Sequence[ScoredChunk]
) -> Answer:
    """The passages that the judge says to answer, as they stand, where the writing model would not put them into words.
    answer: what it wrote, or its refusal, which states nothing that could be checked."""
    chosen = {passage.chunk_id for passage in named}
    judged = [source for source in answer.sources if source.chunk.chunk_id in chosen][:NEAREST]
    shown = await show_passages(
        deps,
        question,
        judged or best_sources(answer.sources),
        among=answer.sources,
        chars=SHOWN_CHARS,
    )
    if not answer.text:
        await deps.trace.choose_sources(answer.sources)
    begun = replace(
        answer,
        decision="ANSWER",
        reason=Reason("judged_not_written"),
        grounding=(),
    )
    degrade("judged_not_written")
    return await with_passages(deps, begun, f"\n\n{phrase('judged', deps.language)}\n\n", shown)
