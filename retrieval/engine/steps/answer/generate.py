"""Generate: the answer by the writing model, from numbered passages.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came. Where no model writes, the passages that fit best are shown as they stand, under a line that says so
(`retrieval.engine.steps.answer.quote`): nobody has judged whether they answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import GenerateDetails
from retrieval.engine.ports import Prompt
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import with_passages
from retrieval.engine.steps.answer.quote import (
    SHOWN_CHARS,
    best_sources,
    show_passages,
)
from retrieval.engine.steps.answer.sources import marked_cited
from retrieval.engine.steps.answer.streaming import (
    AnswerWriter,
    Author,
    StreamOutcome,
    author_of,
    write_by_model,
)
from retrieval.engine.steps.answer.verdict_token import WayOut
from retrieval.engine.steps.context.order import order, position_strategy, positions
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.steps.step import step
from retrieval.engine.text.phrases import phrase
from retrieval.engine.text.quoting import one_line, quote_history, quote_source
from retrieval.engine.trace import degrade, note
from retrieval.engine.values import Answer, AnswerSource, Question, ScoredChunk

PROMPTS: Mapping[WayOut, str] = {
    "ask_back": "generate",
    "refuse": "generate_or_refuse",
    "none": "generate_in_any_case",
}


async def select_passages(
    deps: Deps,
    question: Question,
    candidates: Sequence[ScoredChunk],
    *,
    most: int | None = None,
) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: what fits half of its window, at most `most` (by default
    `context_passages`), or as many as the request says."""
    most = question.options.top_k or most or deps.settings.corrective.context_passages
    author = await author_of(deps, lambda: answer_prompt(deps, question, (), "ask_back"))
    strategy = position_strategy(deps, question)
    return await order(
        deps,
        candidates,
        most=most,
        scope=question.scope,
        room=author.room,
        strategy=strategy,
    )


@step("generate")
async def generate(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    sources: tuple[AnswerSource, ...],
    author: Author,
    writer: AnswerWriter,
    *,
    way_out: WayOut = "refuse",
) -> Answer:
    """By the model; where it is away or fails before its first word, the best passages as they stand. `sources`: the
    passages in their order, with their whole text."""
    ended = await write_by_model(
        deps,
        author,
        lambda: answer_prompt(deps, question, passages, way_out),
        writer,
    )
    if ended.model and not ended.failure:
        deps.progress.judged_by = ended.model
    if writer.verdict:
        asks_back = writer.verdict == "unclear" and way_out == "ask_back"
        refusal = Reason("passages_differ" if asks_back else "passages_do_not_answer")
        details = GenerateDetails(
            model=ended.model, cited=(), partial=False, verdict=writer.verdict
        )
        note("model_refuses", details, reason=refusal)
        return Answer(
            decision="CLARIFY" if asks_back else "NO_ANSWER",
            text="",
            sources=sources,
            model=ended.model,
            reason=refusal,
        )
    reason = ended.failure or writer.aligner.failure
    if reason:
        degrade(reason)
    if not writer.text:
        return await _passages(deps, question, sources, reason=reason if ended.model else None)
    return written_answer(writer.text, sources, ended)


def written_answer(
    text: str,
    sources: Sequence[AnswerSource],
    ended: StreamOutcome,
    *,
    reason: Reason | None = None,
) -> Answer:
    """What a model wrote, with the sources that it cites marked; the running step's entry says so."""
    cited = brackets_of(sources).cited(text)
    broken = bool(ended.failure)
    details = GenerateDetails(
        characters=len(text),
        of=len(sources),
        model=ended.model,
        cited=tuple(sorted(cited)),
        partial=broken,
    )
    note("written", details)
    return Answer(
        decision="ANSWER",
        text=text,
        sources=marked_cited(sources, cited),
        model=ended.model,
        reason=reason,
        partial=broken,
        cut=broken and ended.cut,
    )


async def _passages(
    deps: Deps,
    question: Question,
    sources: tuple[AnswerSource, ...],
    *,
    reason: Reason | None,
) -> Answer:
    """The best passages, under a line that says that no model wrote. reason: why a model that is connected gave no
    answer; None: none is connected."""
    line = phrase("no_model", deps.language)
    if reason:
        line = phrase(
            "model_failed",
            deps.language,
            reason=deps.say(reason.text, deps.language),
        )
    shown = await show_passages(
        deps, question, best_sources(sources), among=sources, chars=SHOWN_CHARS
    )
    await deps.trace.choose_sources(sources)
    begun = Answer(
        decision="ANSWER",
        text="",
        sources=sources,
        reason=Reason("passages_shown_alone"),
    )
    answer = await with_passages(deps, begun, line + "\n\n", shown)
    note_shown(sorted(shown.markers), of=len(sources))
    return answer


def note_shown(cited: Sequence[int], *, of: int) -> None:
    """Passages are shown as they stand. cited: their markers. of: how many there were."""
    note(
        "passages_shown",
        GenerateDetails(shown=len(cited), cited=tuple(cited), of=of, model="", partial=False),
    )


def answer_prompt(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], way_out: WayOut
) -> Prompt:
    places = positions(len(passages), position_strategy(deps, question))
    return deps.writing_prompt(
        PROMPTS[way_out],
        history=quote_history(question.history),
        passages="\n\n".join(quote_source(number, passages[number - 1].chunk) for number in places),
        question=one_line(question.standalone),
    )
